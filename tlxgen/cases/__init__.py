"""Cases: what a hand-written kernel, or host function, is run on in the simulator, and what must come out.

Declared in a YAML file beside the kernel's (`scale.verify.yaml` beside `scale.py`). `load` gives the cases of such a
file; `verify_case` in `cases.execute` runs one, in this process. docs/verify.md is for those who write them.
"""

from .case import Case
from .declaration import Argument, Declaration, Tolerance
from .load import SUFFIX, cases_of, load, sidecar

__all__ = ["SUFFIX", "Argument", "Case", "Declaration", "Tolerance", "cases_of", "load", "sidecar"]
