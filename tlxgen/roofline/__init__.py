"""What bounds a kernel: the work that its source does, counted while the simulator runs it, over what an SM can do.

`counts` holds the quantities, `meter` takes them (it imports torch), `model` makes clocks and times of them. No
constant belongs to a kernel or a family.
"""

from .counts import Counts
from .model import GPUS, Bound, Gpu, Launch, Unit, Work, bound_of, units

__all__ = ["GPUS", "Bound", "Counts", "Gpu", "Launch", "Unit", "Work", "bound_of", "units"]
