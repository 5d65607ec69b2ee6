"""What the template of backward attention reads beside the plan: the family's own decisions about one variant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tlxgen.arch import DTYPES, DType
from tlxgen.families.attention.common import columns_of, slices_of
from tlxgen.families.attention.weights import Weights
from tlxgen.plan import HostArgument, Order
from tlxgen.plan.pieces import shares

from .mx import LIFT
from .steps import Round

ROWS = 64
SLICE = 64  # columns of a buffer of a tile, where there are several: two-byte rows that TMA and wgmma swizzle
ADDED = 24  # bytes a clock that an SM adds to sums in L2 while all do: estimated, dQ's parts alone take 13
SWEPT = 16  # bytes a clock and SM of kernels that write zeros and read sums: estimated


def sliced(head_dim: int) -> tuple[int, ...]:
    """Columns of the buffers of a tile that has as many columns as a head."""
    return (SLICE,) * -(-head_dim // SLICE)


def pieces(name: str, count: int) -> tuple[str, ...]:
    """What a value in so many parts is called."""
    return (name,) if count == 1 else tuple(f"{name}_{i}" for i in range(count))


@dataclass(frozen=True, kw_only=True)
class GradientFacts(Weights):
    """What all kernels of the backward decide."""

    transposed: ClassVar[bool] = True
    derived: ClassVar[bool] = True
    peeled: ClassVar[bool] = False

    dtype: DType
    head_dim: int
    head_dim_v: int
    queries: int  # of a step, or a CTA
    gradients: tuple[str, ...]
    scores: tuple[int, int]  # keys and queries of the scores that are worked on at a time
    block: int = 0  # sm90: keys a consumer, queries of a part of a step, rows and columns of a part of dQ
    replicas: int = 1
    ctas: int = 1  # a cluster: they walk the same queries, and multiply together
    ordered: bool = False  # CTAs add their parts of dQ in the order of their keys
    dbias: str = "none"  # how the gradient by the bias is made
    apart: bool = False  # each head of Q has CTAs of its own, which add dK and dV up

    @property
    def scaled(self) -> bool:
        """Whether operands have MX scales."""
        return False

    @property
    def out(self) -> DType:
        """Of O and of the gradients."""
        return self.dtype

    @property
    def lift(self) -> int:
        """P is multiplied by two to this power, so that small probabilities keep bits in a type of few."""
        return LIFT if self.scaled else 0

    @property
    def rows(self) -> int:
        """Of O and dO, and of the numbers that they come to, of a program of the kernels before and after."""
        return ROWS

    @property
    def slices(self) -> tuple[int, ...]:
        """Columns of the buffers of a tile of Q or K."""
        return (columns_of(self.head_dim),)

    @property
    def columns(self) -> int:
        """Of a tile of Q or K."""
        return sum(self.slices)

    @property
    def row_block(self) -> int:
        """Columns of a block of rows of dQ or dK in registers: a power of two, where a tile may have fewer."""
        return columns_of(self.head_dim)

    @property
    def row_block_v(self) -> int:
        """The same of O or dO."""
        return columns_of(self.head_dim_v)

    @property
    def slices_v(self) -> tuple[int, ...]:
        """The same of V or dO."""
        return (columns_of(self.head_dim_v),)

    @property
    def columns_v(self) -> int:
        """Of a tile of V or dO."""
        return sum(self.slices_v)

    @property
    def pair(self) -> bool:
        """Whether two CTAs multiply together."""
        return self.ctas > 1

    @property
    def zeros(self) -> bool:
        """Whether some of a bias's gradient that is stored is zeros that no CTA of keys stores."""
        return self.dbias == "stored" and (self.mask != "none" or self.lengths != "dense")

    @property
    def by_tile(self) -> bool:
        """Whether all heads are worked on at one tile before the next: the longest walks first, or few that wait."""
        return self.causal or self.ordered

    def lists(self, side: str) -> tuple[str, ...]:
        """The lists of blocks that a walk takes over the queries of keys (q), or over the keys of queries (kv)."""
        kinds = ("", "full_")[: 1 + self.blocks.full] if self.blocks else ()
        return tuple(f"{kind}{side}_{x}" for kind in kinds for x in ("num_blocks", "indices"))

    def listed(self, side: str) -> tuple[HostArgument, ...]:
        """These, as arguments of an operator."""
        return tuple(map(HostArgument, self.lists(side)))

    @property
    def softmax(self) -> bool:
        """Whether rows have numbers of their own: else a weight is a function of its score."""
        return self.row == "online_softmax"


@dataclass(frozen=True, kw_only=True)
class BackwardFacts(GradientFacts):
    """The decisions of the attention_bwd family that its template reads beside the plan."""

    keys: int  # a CTA
    part: tuple[int, int]  # rows and columns of a part of dQ on its way out
    grad: tuple[int, int]  # likewise of dK and dV
    tensor_memory: bool = False  # tcgen05 accumulates in TMEM; otherwise wgmma does in registers
    order: Order = Order(())  # sm100: of the products of a step
    ds_in_tmem: bool = False  # the product for dK reads dS out of tensor memory, where it lies over dP
    dq_place: str = "none"  # dQ lies where dP and dS lay, or beside P where S lay
    exchange: str = ""  # how they send each other dS
    cuts: int = 1  # parts of the columns of scores that a thread has at a time
    parts: int = 1  # of the queries of a step
    dq_slots: int = 0  # buffers a consumer for its parts of dQ
    grads: int = 0  # that the tiles of dK and dV leave through at the end
    by_columns: bool = False  # consumers share out columns of dK, dV and dQ, not keys
    sliced: bool = False  # tiles of Q and K have as many columns as a head, in several buffers
    tight: bool = False  # dK and dV fill the registers of a consumer: few scores at a time
    meet: str = "none"
    ahead: bool = False
    keep: str = "none"
    warps: int = 4  # of the default task
    scaled: bool = False  # sm100: operands have MX scales

    @property
    def out(self) -> DType:
        return DTYPES["bf16"] if self.scaled else self.dtype

    @property
    def by_sequence(self) -> bool:
        """Whether products that add up over a sequence read tiles of their own: of two CTAs other columns, or numbers
        that are quantised along it."""
        return self.pair or self.scaled

    @property
    def slices(self) -> tuple[int, ...]:
        if self.uneven:
            return slices_of(self.head_dim)
        return sliced(self.head_dim) if self.sliced else super().slices

    @property
    def slices_v(self) -> tuple[int, ...]:
        if self.uneven:
            return slices_of(self.head_dim_v)
        return sliced(self.head_dim_v) if self.sliced else super().slices_v

    @property
    def uneven(self) -> bool:
        """Whether buffers differ in columns: dQ is not cut alike for consumers, each of which has a buffer's."""
        return self.sliced and not self.tight

    @property
    def wide_slopes(self) -> bool:
        """Whether what dP is multiplied by waits for it in fp32, as registers allow.

        Rounded, it takes half of them, and three instructions for two elements. The derivative of fast_gelu takes the
        registers itself (docs/measurements.md, "Slopes in fp32").
        """
        if self.tensor_memory or self.tight or self.by_columns or self.modified or self.blocks:
            return False
        if self.dbias != "none" or self.activation_name == "fast_gelu":
            return False
        return self.mask == "none" or bool(self.softcap) and self.columns <= self.part[1]

    @property
    def whole_groups(self) -> bool:
        """Whether as many heads as fit into L2 are rarely a divisor of all: no power of two, as their columns are none.

        The heads of a last group that is not whole begin late, with their longest walks.
        """
        return self.sliced and self.by_tile

    @property
    def grad_widths(self) -> tuple[int, ...]:
        """Columns of each of a consumer's accumulators of dK or dV, that of fewer last."""
        return self.slices if self.uneven else (self.grad[1],) * max(len(self.dks), len(self.dvs))

    def rows_of(self, tile: str) -> tuple[str, ...]:
        """What a consumer's rows of K or V are called, buffer by buffer."""
        return pieces(f"{tile}_rows", len(self.slices if tile == "k" else self.slices_v))

    def views(self, tile: str, part: int, whole: str = "") -> tuple[str, ...]:
        """What some queries of Q or dO, the `part`-th, are called, buffer by buffer: `whole` where that is the tile."""
        if self.parts == 1 and not self.sliced:
            return (whole,)
        name = f"{tile}_{part}" if self.parts > 1 else tile
        return pieces(name, len(self.slices if tile == "q" else self.slices_v))

    @property
    def dq_tiles(self) -> dict[str, int]:
        """Columns of a consumer's parts of dQ, by tiles through which they leave; all consumers' parts of one lie side
        by side.
        """
        if not self.dq:
            return {}
        if not self.sliced:
            return {"dq": self.part[1]}
        if self.uneven:  # one for each consumer
            return dict(zip(("dq", "dq_tail"), self.slices, strict=True))
        unit = self.columns // self.replicas & -(self.columns // self.replicas)
        widths = [unit * share for share in shares(self.columns // self.replicas)]
        return dict(zip(("dq", "dq_tail"), widths, strict=False))  # one of 256 columns

    @property
    def dq_places(self) -> tuple[tuple[str, int, int], ...]:
        """Of each of them its tile, where those of all consumers begin, and its columns."""
        widths = [*self.dq_tiles.items()]
        return tuple((name, self.replicas * sum(w for _, w in widths[:i]), w) for i, (name, w) in enumerate(widths))

    @property
    def k_columns(self) -> tuple[str, ...]:
        """What the columns of K of a consumer's parts of dQ are called."""
        return pieces("k_columns", len(self.dqs))

    @property
    def rows(self) -> int:
        return max(ROWS, self.queries) if self.packed and self.softmax else ROWS  # whose numbers begin with a tile

    @property
    def dq(self) -> bool:
        return "dq" in self.gradients

    @property
    def piece(self) -> int:
        """By columns: those of an accumulator, a consumer's of dV."""
        return self.columns_v // self.replicas

    @property
    def dks(self) -> tuple[str, ...]:
        """A consumer's accumulators of dK."""
        return pieces("dk", self.columns // self.columns_v if self.by_columns else len(self.slices))

    @property
    def dvs(self) -> tuple[str, ...]:
        """A consumer's accumulators of dV."""
        return pieces("dv", 1 if self.by_columns else len(self.slices_v))

    @property
    def dqs(self) -> tuple[str, ...]:
        """A consumer's parts of dQ."""
        by_columns = self.columns // self.replicas // self.part[1] if self.by_columns else 0
        return pieces("dq", by_columns or (1 if self.uneven else len(self.dq_tiles))) if self.dq else ()

    @property
    def dq_reuse(self) -> bool:
        return self.dq_place == "dp"

    @property
    def round(self) -> Round:
        """sm100: what a step's products wait for, publish and release."""
        return Round(self)

    @property
    def adders(self) -> int:
        """Parts of a tile of dQ that are added up apart: of replicas, or of the CTAs of a cluster."""
        return self.ctas if self.tensor_memory else self.replicas

    @property
    def own(self) -> int:
        """Queries of a step of which a CTA multiplies S and dP, and has dQ."""
        return self.queries // self.ctas

    @property
    def by_thread(self) -> bool:
        """Whether sums have their columns in the order in which a thread of wgmma has them."""
        return (self.dq or self.apart) and not self.tensor_memory

    @property
    def sums(self) -> tuple[str, ...]:
        """The gradients that are added up in fp32, and rounded by the kernel after."""
        return tuple(name for name in self.gradients if name == "dq" or self.apart)

    @property
    def adding(self) -> int:
        """Heads apart: clocks in which a CTA adds its dK and dV to the sums of all heads."""
        return self.apart * 2 * self.keys * self.columns * DTYPES["fp32"].bytes // ADDED

    @property
    def sweeping(self) -> int:
        """Likewise, of a key: clocks of an SM in which its sums are made zero, and read again."""
        return self.apart * 4 * self.columns * DTYPES["fp32"].bytes // SWEPT
