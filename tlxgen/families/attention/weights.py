"""Which scores count, and what their weights are: what the templates of masks and rows ask, forward and backward."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import ClassVar, Literal

from tlxgen.arch import DType

from .activations import Activation
from .expressions import Modified


@dataclass(frozen=True)
class History:
    """Which keys count in HSTU, beside those before and after a query: each is an argument of the kernel."""

    causal: bool = False
    targets: bool = False  # the last keys see the history and themselves
    context: bool = False  # the first keys stand at one place, and see the history
    near: bool = False  # keys are seen from so many places away
    full: bool = False  # but by the last queries, which see all


@dataclass(frozen=True)
class Blocks:
    """Lists name the blocks of queries by keys in which scores count: extents of a block, and which lists there are."""

    m: int
    n: int
    full: bool  # those of blocks in which all scores count, too


@dataclass(frozen=True, kw_only=True)
class Weights:
    """The decisions that a forward and its backward share."""

    transposed: ClassVar[bool] = False  # a row of scores is a key, not a query
    derived: ClassVar[bool] = False  # derivatives follow: a mask says which scores count, and parts give slopes

    lengths: str = "dense"
    mask: str
    bottom_right: bool = False
    blocks: Blocks | None = None  # where the mask is asked at all
    history: History = History()  # what else of the mask of that name
    softcap: bool = False
    modified: Modified | None = field(default=None, repr=False)  # what a spec's expression makes of scaled scores
    bias: DType | None = None  # of what is added to scaled scores
    sink: bool = False
    row: Literal["online_softmax", "activation"] = "online_softmax"  # what becomes of a row of scores
    activation: Activation = Activation("", (), ())
    activation_name: str = ""
    factor: str = ""  # what the host calls the factor of O
    alpha: bool = False  # scores have a factor, which the activation is told half of
    row_factors: bool = False  # each row of O has a factor of its own; else all have one
    tensor_memory: bool = False  # tcgen05 accumulates in TMEM; otherwise wgmma does in registers

    @property
    def told(self) -> bool:
        """Whether the host computes what follows from sizes and launch: all heads, those of a head of K, items, CTAs.

        What many tasks would compute alike, the compiler computes before they begin, keeps for all, and spills.
        """
        return self.tensor_memory

    @property
    def bent(self) -> bool:
        """Whether something makes exponents of two of scores before their row is taken, and not their scale alone."""
        return self.softcap or self.modified is not None

    @property
    def sloped(self) -> bool:
        """Whether that has a derivative that is not one."""
        return self.softcap or (self.modified is not None and self.modified.steep)

    @property
    def mask_name(self) -> str:
        """The mask, and what else of it counts."""
        return " ".join([self.mask, *(f.name for f in fields(self.history) if getattr(self.history, f.name))])

    @property
    def causal(self) -> bool:
        return self.mask == "causal" or self.history.causal

    @property
    def window(self) -> bool:
        return self.mask == "window"

    @property
    def weighed(self) -> bool:
        """Whether a score that does not count needs hiding: beside queries and keys there are zeros, with weight 0."""
        return self.mask != "none" or self.row == "online_softmax" or self.lengths == "keys"

    @property
    def packed(self) -> bool:
        return self.lengths == "packed"
