"""C = alpha A + B, a family from outside of tlxgen. docs/first-family.md of tlxgen builds it step by step."""

from tlxgen.families import Family

from .plan import AXES
from .spec import ScaleAddSpec


class ScaleAdd(Family):
    """The scale_add family."""

    name = "scale_add"
    model = ScaleAddSpec
    axes = AXES
    shapes = ((4096, 4096), (16384, 8192), (1000, 65536))
