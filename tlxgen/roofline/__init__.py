"""What bounds a kernel: the work that its source does, counted while the simulator runs it, over what an SM can do.

`counts` holds the quantities, `meter` takes them and `trace` their order (both import torch), `replay` plays a trace in
time, `model` makes clocks and times of all that. No constant belongs to a kernel or a family.
"""

from .counts import Counts
from .model import GPC, GPUS, Bound, Gpu, Launch, Pace, Sharing, Unit, Work, bound_of, units

__all__ = ["GPC", "GPUS", "Bound", "Counts", "Gpu", "Launch", "Pace", "Sharing", "Unit", "Work", "bound_of", "units"]
