"""A tutorial kernel of the fbtriton wheel as the simulator runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Literal

import torch

from tlxgen.sim import Session

Pairs = list[tuple[torch.Tensor, torch.Tensor]]  # results and their references in float32


@dataclass(frozen=True)
class Tutorial:
    """One kernel in one configuration, through its own host function, source unmodified.

    `module` is the stem of its file in the wheel's tutorials; `run` makes inputs, calls the host function inside the
    session and returns results with references; `tolerance` is a relative error by the Frobenius norm; `warnings` says
    for every warning that is expected why it is benign.
    """

    name: str
    arch: Literal["sm90", "sm100"]
    module: str
    run: Callable[[ModuleType, Session], Pairs]
    tolerance: float
    warnings: Mapping[str, str] = field(default_factory=dict)
