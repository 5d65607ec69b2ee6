"""What every family is made with: its table of axes, the names that it may not take, faults that all have, and
the plan of one kernel."""

from tlxgen.spec import Renamed

from . import faults, one_kernel
from .axes import Axis, config_axes, parameters, sizes
from .calls import call_text
from .extents import Extent

__all__ = ["Axis", "Extent", "Renamed", "call_text", "config_axes", "faults", "one_kernel", "parameters", "sizes"]
