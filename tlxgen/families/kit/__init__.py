"""Parts that every family is made from: the table of axes, reserved names, common faults, and the plan of a kernel."""

from tlxgen.spec import Renamed

from . import faults, one_kernel
from .axes import Axis, config_axes, parameters, sizes
from .calls import call_text
from .extents import Extent

__all__ = ["Axis", "Extent", "Renamed", "call_text", "config_axes", "faults", "one_kernel", "parameters", "sizes"]
