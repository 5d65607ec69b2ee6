"""`tlxgen package`: kernels compiled, with the host functions of generated/ and a launcher that needs no Triton.

`host` makes the modules, `specialise` the cubins, `folder` what is written; `launcher.py` goes along and runs there.
`cpp` writes the same for builds in C++.
"""

from . import cpp
from .folder import CAPABILITY, Compiler, Source, manifest, write
from .specialise import Compiling, Cubin, Row, cubins_of

__all__ = ["CAPABILITY", "Compiler", "Compiling", "Cubin", "Row", "Source", "cpp", "cubins_of", "manifest", "write"]
