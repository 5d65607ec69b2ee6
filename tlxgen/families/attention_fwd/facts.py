"""What the template of forward attention reads beside the plan: the family's own decisions about one variant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tlxgen.arch import DType, Sm90
from tlxgen.families.attention.weights import Weights
from tlxgen.plan import Size, Work


@dataclass(frozen=True)
class Operand:
    """Q, K, V or O as the template needs it: the columns of each buffer of a tile, ring and cache hint."""

    name: str
    slices: tuple[int, ...]
    ring: str
    eviction: str

    @property
    def columns(self) -> int:
        """Columns of a tile."""
        return sum(self.slices)


@dataclass(frozen=True, kw_only=True)
class AttentionFacts(Weights):
    """The decisions of the attention_fwd family that its template reads beside the plan."""

    dtype: DType  # of Q, K, V and probabilities
    out: DType  # of O
    head_dim: int
    head_dim_v: int
    rows: Size  # queries of a replica: a consumer on sm90, a task of the softmax on sm100
    replicas: int
    overlap: bool
    in_parts: bool  # O leaves part by part through one buffer
    keep_q: bool  # Q is in registers, not read from SMEM by each wgmma
    source: Literal["grid", "persistent", "clc", "dynamic"]  # where the items of a CTA come from
    operands: tuple[Operand, ...]
    lse: bool = False
    slices: int = 1  # parts in which a tile of probabilities is handed to the MMA
    parts: int = 1  # of the columns of O, of which the correction holds one at a time
    lazy: bool = False  # O is rescaled only for a maximum that has risen a lot
    polynomial: int = 0  # of each 64 columns of scores, so many exponentials are polynomials
    store_task: bool = False
    scaled: bool = False  # Q, K and V have MX scales

    @property
    def persistent(self) -> bool:
        return self.source in ("persistent", "dynamic")

    @property
    def drawn(self) -> bool:
        """Whether CTAs draw items from a counter: those of one sequence after those of another."""
        return self.source == "dynamic"

    @property
    def work(self) -> Work:
        """Of packed sequences, items that are drawn are those of all that there are, sequence after sequence."""
        if not self.drawn:
            return Work(self.source)
        told = ("cu_seqlens_q_ptr", "B", "T_Q", "across", "BLOCK_M")
        return Work("grouped", groups=told, numbers="dynamic", state=("batch", "first", "q_start", "q_end"))

    @property
    def strided(self) -> bool:
        """Whether CTAs take the items of jagged sequences by their numbers alone, each every so manieth.

        Where the number of CTAs is a multiple of a head's tiles, a CTA has the same tile of each head. All sequences
        have the first tile, few have the last.
        """
        return self.packed and self.source == "persistent" and not self.causal

    @property
    def many_heads(self) -> bool:
        """Whether as many heads as fit into L2 may be worked on at a time, and not those alone that share K and V."""
        return self.causal or self.strided

    @property
    def evened(self) -> bool:
        """Whether the host looks for an order of items in which CTAs that stride over them have as much to do each.

        Of packed sequences it does not know the lengths, of lists of blocks not how long they are.
        """
        return self.causal and self.persistent and not (self.packed or self.blocks or self.told)

    @property
    def clc(self) -> bool:
        """Whether work items are handed out while the kernel runs."""
        return self.source == "clc"

    @property
    def stays(self) -> bool:
        """Whether a CTA works on one item after the other."""
        return self.source != "grid"

    @property
    def rescaled(self) -> bool:
        """Whether O so far is multiplied by something at each tile of keys."""
        return self.row == "online_softmax"

    @property
    def lse_apart(self) -> bool:
        """Whether the task that has O stores the log-sum-exp: in the softmax, ptxas spills the store's descriptor."""
        return self.scaled and self.lse

    @property
    def row_task(self) -> str:
        """sm100: the task that makes weights of scores."""
        return "softmax" if self.rescaled else "activation"

    @property
    def out_task(self) -> str:
        """sm100: the task that has O."""
        return "correction" if self.rescaled else "output"

    @property
    def keys_last(self) -> bool:
        """Whether V is read transposed, with contiguous keys: wgmma takes operands of 8 bits in one order only."""
        return not self.tensor_memory and not Sm90.transposable(self.dtype)

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
    def sums(self) -> tuple[str, ...]:
        """The accumulators of O: one for each buffer that holds columns of V."""
        return _numbered("acc", self.operand("v").slices)

    @property
    def halved(self) -> bool:
        """Whether an accumulator of O leaves in two halves."""
        return len(self.operand("o").slices) == 2 * len(self.sums)

    @property
    def outs(self) -> tuple[str, ...]:
        """What leaves of O, buffer by buffer."""
        return ("left", "right") if self.halved else self.sums

    @property
    def kept(self) -> tuple[str, ...]:
        """The rows of Q in registers, likewise."""
        return _numbered("q_rows", self.operand("q").slices)

    @property
    def sliced(self) -> bool:
        """Whether columns of an operand lie in several buffers."""
        return any(len(o.slices) > 1 for o in self.operands)

    @property
    def products(self) -> int:
        """Multiply-adds that the tensor cores of an SM do in a clock, at most."""
        return (8192 if self.scaled else 4096) if self.tensor_memory else 2048

    def operand(self, name: str) -> Operand:
        return next(o for o in self.operands if o.name == name)


def _numbered(name: str, slices: tuple[int, ...]) -> tuple[str, ...]:
    """The names of a variable for each slice."""
    return tuple(f"{name}_{i}" for i in range(len(slices))) if len(slices) > 1 else (name,)
