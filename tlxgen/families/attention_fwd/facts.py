"""What the template of forward attention reads beside the plan: the family's own decisions about one variant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tlxgen.arch import DType, Sm90
from tlxgen.plan import Size


@dataclass(frozen=True)
class Operand:
    """Q, K, V or O as the template needs it: its head dimension, ring and cache hint."""

    name: str
    head_dim: int
    ring: str
    eviction: str


@dataclass(frozen=True)
class AttentionFacts:
    """The decisions of the attention_fwd family that its template reads beside the plan."""

    dtype: DType  # of Q, K, V and probabilities
    out: DType  # of O
    head_dim: int
    head_dim_v: int
    rows: Size  # queries of a replica: a consumer on sm90, a task of the softmax on sm100
    replicas: int
    overlap: bool
    keep_q: bool  # Q is in registers, not read from SMEM by each wgmma
    source: Literal["grid", "persistent", "clc"]  # where the items of a CTA come from
    mask: str
    bottom_right: bool
    lengths: str
    softcap: bool
    sink: bool
    lse: bool
    operands: tuple[Operand, ...]
    tensor_memory: bool = False  # tcgen05 accumulates in TMEM; otherwise wgmma does in registers
    slices: int = 1  # parts in which a tile of probabilities is handed to the MMA
    parts: int = 1  # of the columns of O, of which the correction holds one at a time
    lazy: bool = False  # O is rescaled only for a maximum that has risen a lot
    store_task: bool = False

    @property
    def persistent(self) -> bool:
        return self.source == "persistent"

    @property
    def told(self) -> bool:
        """Whether the host computes what follows from sizes and launch: all heads, those of a head of K, items, CTAs.

        What many tasks would compute alike, the compiler computes before they begin, keeps for all, and spills.
        """
        return self.tensor_memory

    @property
    def clc(self) -> bool:
        """Whether work items are handed out while the kernel runs."""
        return self.source == "clc"

    @property
    def stays(self) -> bool:
        """Whether a CTA works on one item after the other."""
        return self.source != "grid"

    @property
    def causal(self) -> bool:
        return self.mask == "causal"

    @property
    def window(self) -> bool:
        return self.mask == "window"

    @property
    def packed(self) -> bool:
        return self.lengths == "packed"

    @property
    def keys_last(self) -> bool:
        """Whether V is read transposed, with contiguous keys: wgmma takes operands of 8 bits in one order only."""
        return not Sm90.transposable(self.dtype)

    @property
    def lift(self) -> int:
        """Probabilities are multiplied by two to this power, so that small ones keep bits in a type of few."""
        return 8 if self.dtype.is_fp8 else 0

    @property
    def k_ahead(self) -> bool:
        """Whether K is loaded a tile ahead of V, as wgmma under the softmax takes them."""
        return self.overlap and not self.tensor_memory

    @property
    def peeled(self) -> bool:
        """Whether the softmax of an item's first tile stands before the loop."""
        return self.overlap or self.tensor_memory

    @property
    def columns(self) -> int:
        """Columns of a part of O."""
        return self.head_dim_v // self.parts

    @property
    def products(self) -> int:
        """Multiply-adds that the tensor cores of an SM do in a clock, at most."""
        return 4096 if self.tensor_memory else 2048

    def operand(self, name: str) -> Operand:
        return next(o for o in self.operands if o.name == name)
