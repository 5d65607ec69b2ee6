"""How a scale_add kernel is timed: beside torch's own."""

import torch

from tlxgen.families.kit.matrices import Baselines, call

from .spec import ScaleAddSpec

__all__ = ["baselines", "call"]


def baselines(spec: ScaleAddSpec) -> Baselines:
    """What to compare with."""
    return {"torch.add": lambda t: lambda: torch.add(t["b"], t["a"], alpha=t["alpha"])}
