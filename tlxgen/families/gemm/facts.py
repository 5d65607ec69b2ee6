"""What the template of a GEMM reads beside the plan: the family's own decisions about one variant."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from tlxgen.arch import DTYPES, DType, Sm90, Sm100
from tlxgen.plan import Sharing, Size, Tile
from tlxgen.plan.pieces import BOX, BOXES, UNIT, Piece, narrow, units
from tlxgen.plan.size import Count

from .groups import Groups
from .model import MOST_HELD, MOST_PARTS, MOST_ROUNDS
from .ops import OPS, OpTensor
from .sizes import LEAST_PART, SCALE_BLOCK

REDUCE_TILE = (16, 256)  # rows and columns of C that a program of the split-K reduction sums
LINE_BYTES = 128  # of L2
PAIRED_COLUMNS, PAIRED_BYTES = 128, 128  # of a tile, and of K in a slot, at most, where two slots are under way
COUNTER = 4  # words that a counter of tiles takes: what follows begins at a multiple of 16 bytes
SHARE_ELEMENTS = 512  # that a task adds up at a time: in the same registers as they come, 16 bytes a thread, and go


@dataclass(frozen=True)
class Operand:
    """A or B as the template needs it: how it lies in memory and in its ring."""

    name: str
    tile: Tile
    row_major: bool
    ring: str
    eviction: str
    multicast: int  # CTAs of a cluster that it is loaded for at once; 0 for none
    pieces: tuple[Tile, ...] = field(default=(), repr=False)  # of the tile, where each is for a product of its own
    edge: int = 0  # rows of the boxes that load a tile which the operand ends in; 0 where a whole box is filled up

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """What a slot of its ring has of it."""
        return self.pieces or (self.tile,)

    @property
    def along_k(self) -> Size:
        """How far a slot's tile reaches along K, in stored elements."""
        return self.tile.shape[1 if self.k_major else 0]

    @property
    def end(self) -> tuple[str, str, str]:
        """Of what is not K: where a tile begins and how far it reaches, and where the operand ends."""
        return ("row", "BLOCK_M", "M") if self.name == "a" else ("column", "BLOCK_N", "N")

    @property
    def packed(self) -> bool:
        """Whether a stored element has several values, neighbours along K."""
        return self.tile.dtype.values > 1

    @property
    def k_major(self) -> bool:
        """Whether neighbours in memory are neighbours along K."""
        return self.row_major == (self.name == "a")

    @property
    def line(self) -> int:
        """Stored elements of a line of L2."""
        return LINE_BYTES // self.tile.dtype.bytes

    @property
    def k_bytes(self) -> float:
        """Bytes of memory that a value takes."""
        return self.tile.dtype.value_bits / 8


def paired(spec: Any) -> bool:
    """Whether products that are promoted are added up while those of the next slot are under way.

    A consumer holds both, and both slots: tiles are to be narrow, and slots are to be short, and two at least.
    """
    narrow, short = spec.tile.n <= PAIRED_COLUMNS, spec.tile.k * DTYPES[spec.problem.a.dtype].bytes <= PAIRED_BYTES
    return bool(spec.tasks.mma.promote) and narrow and short and spec.rings.ab.stages > 1


@dataclass(frozen=True)
class GemmFacts:
    """The decisions of the gemm family that its template reads beside the plan."""

    a: Operand
    b: Operand
    c_dtype: DType
    staged: Tile  # a subtile of C on its way to a TMA store
    c_eviction: str
    pingpong: bool
    in_flight: int
    replicas: int
    row_groups: int  # slices of a tile's rows or, if exchanged, columns, one a cooperating replica
    rows: Size  # rows of C a replica holds
    columns: Size  # columns of C a subtile holds
    subtiles: int  # slices in which a tile of C is stored: of its columns, or of its rows if these come in pieces
    pieces: tuple[Piece, ...] = field(repr=False)  # of an instruction's columns: a product and an accumulator each
    tma_store: bool
    store_guard: str | None
    source: Literal["grid", "persistent", "clc", "dynamic"]  # where the tiles of a CTA come from
    split: bool  # whether a variant of this structure cuts K
    cluster_m: int
    cluster_n: int
    cluster_k: int
    promote: bool  # a slot's products are added to the accumulator outside of the tensor core
    pdl: bool  # the kernel starts before the one before it in the stream has ended
    prefetch: int  # ring slots of the first tiles that L2 is asked for until then
    ops: tuple[str, ...]
    num_warps: int
    adder_registers: int  # a thread of the role that adds up the parts of tiles
    paired: bool = False  # promoted products of a slot are added while the next slot is multiplied
    tensor_memory: bool = False  # tcgen05 accumulates in TMEM; otherwise wgmma does in registers
    scales: tuple[Operand, ...] = ()  # MX scales of A and of B, which share their rings
    scale_columns: bool = False  # the kernel itself copies them to tensor memory
    stochastic: bool = False  # C is rounded up or down by chance
    interleave: bool = False  # the epilogue takes the row groups' subtiles in turns
    scheduler_guard: str | None = None
    protocol: Literal["leader", "rendezvous"] | None = None  # of two CTAs that multiply together
    sums: Tile | None = None  # where tiles that are left over are cut along K: a slice of the sums over a part of K
    rest: Tile | None = None  # where CTAs without such a tile help: a subtile of their sums, in the place of A's tile
    fix_up: Literal["after", "last", "each"] = "after"  # which CTAs add up the parts of a tile
    whole: bool = False  # one wgmma has all columns of an instruction: `pieces` is the block that has sums of 8 of them
    width: Size = field(default=Size.literal(0), repr=False)  # how many these are
    exchange: bool = False  # the accumulator is C's tile, turned: its rows are C's columns
    groups: Groups | None = None  # of a grouped GEMM
    block_scales: bool = False  # of 1 x 128 of A and 128 x 128 of B, in fp32
    pointers: tuple[str, ...] = ()  # of A and B, what is loaded by the producer's own copies

    @property
    def scale_names(self) -> tuple[str, ...]:
        """What the host function calls the scales of blocks of A and of B."""
        return ("a_scale", "b_scale") if self.scales or self.block_scales else ()

    @property
    def scales_apart(self) -> str:
        """Of which of a and b the caller has scales of blocks for each group."""
        return "".join(x for x in "ab" if self.groups and self.block_scales and x in self.groups.apart)

    @property
    def counter_words(self) -> int:
        return COUNTER if self.drawn else 0

    @property
    def least_part(self) -> int:
        return LEAST_PART

    @property
    def scale_block(self) -> int:
        return SCALE_BLOCK

    @property
    def most_held(self) -> int:
        return MOST_HELD

    @property
    def lag(self) -> str:
        """How many uses later the producer publishes a slot that it copied into itself: half of the ring is on its way.

        What it loads into registers is stored, and published, a use later. Of a ring that TMA fills, scales alone are
        copied: less than half, as consumers hold two slots.
        """
        if not self.copied:
            return "STAGES // 2 - 1" if self.paired else "max(STAGES // 2 - 1, 0)"
        narrowest = f"min({', '.join(self.vectors)})" if len(self.copied) > 1 else self.vectors[0]
        return f"STAGES // 2 if {narrowest} > 1 else 1"

    @property
    def pairs_in_turn(self) -> bool:
        """Whether consumers of a tile take it in turns to issue the products of two slots.

        Where they scale products, one would else wait for products while the other adds up its own.
        """
        return self.paired and self.block_scales and self.row_groups == 2

    @property
    def copied(self) -> tuple[Operand, ...]:
        """What the producer copies itself."""
        return tuple(o for o in self.operands if o.name in self.pointers)

    @property
    def by_tma(self) -> tuple[Operand, ...]:
        """What TMA brings of A and B."""
        return tuple(o for o in self.operands if o.name not in self.pointers)

    @property
    def vectors(self) -> tuple[str, ...]:
        """The constants of a launch that say how many elements a copy of each operand takes."""
        return tuple(f"VEC_{o.name.upper()}" for o in self.copied)

    @property
    def persistent(self) -> bool:
        """Whether a CTA stays and takes one tile after another."""
        return self.source in ("persistent", "dynamic")

    @property
    def drawn(self) -> bool:
        """Whether CTAs draw their tiles from a counter."""
        return self.source == "dynamic"

    @property
    def exact(self) -> bool:
        """Whether sums are added up in fp32; wgmma alone keeps fewer bits of a sum of fp8 products."""
        return self.promote or self.tensor_memory or not self.a.tile.dtype.is_fp8

    @property
    def products(self) -> int:
        """Multiply-adds that the tensor cores of an SM do in a clock, at most."""
        widest = max(o.tile.dtype.value_bits for o in self.operands)
        return (Sm100 if self.tensor_memory else Sm90).products * 16 // widest

    @property
    def k_multiple(self) -> int:
        """What the host function asks K to be a multiple of."""
        if any(o.tile.padded for o in self.operands):
            return Sm100.padded_k
        return Sm100.mx_block if self.scales else 1

    @property
    def clc(self) -> bool:
        return self.source == "clc"

    @property
    def pair(self) -> bool:
        """Whether two CTAs multiply together."""
        return self.protocol is not None

    @property
    def cluster(self) -> int:
        return self.cluster_m * self.cluster_n * self.cluster_k

    @property
    def two_axes(self) -> bool:
        """Whether a cluster has CTAs along M and along N: those along M have the ranks that follow one another."""
        return self.cluster_m > 1 and self.cluster_n > 1

    def sharing(self, operand: Operand) -> Sharing | None:
        """The CTAs of a cluster that a multicast load of A or B is for; None where each loads its own."""
        if not operand.multicast:
            return None
        if not self.two_axes:
            return Sharing(operand.multicast)
        along_n = operand.name == "a"
        return (
            Sharing(operand.multicast, self.cluster_m, "cta_n") if along_n else Sharing(operand.multicast, 1, "cta_m")
        )

    @property
    def cut(self) -> str:
        """In how many parts K is cut, in the source's terms; empty when it is whole."""
        return str(self.cluster_k) if self.cluster_k > 1 else "SPLIT_K" if self.split else ""

    @property
    def cut_tail(self) -> bool:
        """Whether tiles that are left over are cut along K."""
        return self.sums is not None

    @property
    def helped(self) -> bool:
        """Whether CTAs without a tile of the last round multiply the end of K for those that have one."""
        return self.rest is not None

    @property
    def tail(self) -> bool:
        """Whether tiles that are left over are cut into parts, one for each CTA that there is."""
        return self.cut_tail and not self.helped

    @property
    def last_adds(self) -> bool:
        """Whether the CTA that is the last to end its part of a tile adds up the parts."""
        return self.tail and self.fix_up == "last"

    @property
    def each_adds(self) -> bool:
        """Whether all CTAs that have a part of a tile add up a share of its rows, when they have stored their parts."""
        return self.tail and self.fix_up == "each"

    @property
    def mma_adds(self) -> bool:
        """Whether consumers add up the parts of tiles, of which the host then cuts any."""
        return self.last_adds or self.each_adds

    @property
    def most_parts(self) -> int:
        """Into how many parts a tile is cut at most that a consumer adds up: it has them all on their way."""
        return min(MOST_PARTS, self.ahead)

    @property
    def parts_at_once(self) -> tuple[int, ...]:
        """Of how many parts at most a consumer adds up several stripes at a time, `ahead` blocks in all."""
        return tuple(parts for parts in (4, 8) if parts < self.most_parts) + (self.most_parts,)

    @property
    def most_rounds(self) -> int:
        """How many waves of parts there are at most, and so how many sums the workspace holds."""
        return MOST_ROUNDS

    @property
    def part_of_k(self) -> bool:
        """Whether a work item may be a part of K only, and begin at `first_k`."""
        return bool(self.cut) or self.cut_tail

    @property
    def narrow(self) -> bool:
        """Whether A's rows are the columns of an instruction, and so few that `tlx.async_dot` does not take them."""
        return self.exchange and not self.whole and bool(narrow(self.pieces[-1].extent.value))

    @property
    def stored_rows(self) -> Size:
        """Rows of C a subtile holds: those of a replica, or a slice of its accumulators' columns, if these are rows."""
        if self.whole and self.exchange:
            return Size.literal(BOX)
        return self.pieces[-1].extent // self.pieces[-1].slices if self.exchange else self.rows

    @property
    def boxes(self) -> tuple[int, ...]:
        """Rows of the boxes by which `wide` is loaded where one wgmma has all of them, and by which C leaves."""
        return BOXES

    @property
    def staged_rest(self) -> tuple[Tile, ...]:
        """Where columns of one wgmma leave that fill no whole box: narrower boxes, each in the place of a whole one."""
        if not self.whole or self.exchange:
            return ()
        c = self.staged
        return tuple(
            Tile(f"c_{n}", c.shape, c.dtype, groups=self.boxes[0] // n, axis=1, of="c") for n in self.boxes[1:]
        )

    @property
    def wide(self) -> Operand:
        """The operand whose rows, or columns, are the columns of an instruction."""
        return self.a if self.exchange else self.b

    @property
    def unit(self) -> int:
        """Columns of a block of sums where one wgmma has several blocks."""
        return UNIT

    @property
    def blocks(self) -> Count:
        """How many blocks of sums it has then."""
        return units(self.width)

    @property
    def accumulators(self) -> tuple[str, ...]:
        """What a consumer calls its sums: those of each piece."""
        return tuple(f"acc{piece.suffix}" for piece in self.pieces)

    @property
    def sum_slices(self) -> int:
        """Slices of the accumulators' columns in which the sums over a part of K are stored."""
        if not self.sums or self.whole:
            return 1
        if self.exchange:
            return self.rows.value // self.sums.shape[0].value
        return self.subtiles * self.columns.value // self.sums.shape[1].value

    @property
    def marks(self) -> int:
        """How many words say that the sums of a tile are there: one of each replica that has rows of it."""
        return self.row_groups

    @property
    def slices(self) -> int:
        """Column slices that an accumulator in registers is cut into: to store it, or to send it to the CTAs."""
        widest = max(piece.slices for piece in self.pieces) * self.sums_a_subtile
        return 1 if self.tensor_memory else max(widest, self.cluster_k)

    @property
    def sums_a_subtile(self) -> int:
        """Slices of sums that have the columns of a subtile of C."""
        return max(self.sum_slices // self.subtiles, 1)

    @property
    def operands(self) -> tuple[Operand, Operand]:
        return self.a, self.b

    @property
    def loads(self) -> tuple[Operand, ...]:
        """All that the loads bring."""
        return (*self.operands, *self.scales)

    @property
    def operand_rings(self) -> tuple[str, ...]:
        """The rings of what the loads bring, which are used in step."""
        return tuple(dict.fromkeys(o.ring for o in self.loads))

    @property
    def scaled_ring(self) -> str:
        """The ring that scales of blocks come through, beside what the producer copies, or else beside A."""
        return (*self.copied, self.a)[0].ring

    @property
    def op_tensors(self) -> tuple[OpTensor, ...]:
        found = (t for op in self.ops for t in OPS[op].tensors)
        if not self.groups:
            return tuple(found)
        return tuple(t.of_groups() if t.name in self.groups.vectors else t for t in found)

    @property
    def op_values(self) -> tuple[str, ...]:
        """What a task hands over as `op_arguments`: of what each group has of its own, the group's."""
        grouped = [t for t in self.op_tensors if t.shape[:1] == ("G",)]
        own = {f"{t.name}_ptr": " * ".join((f"{t.name}_ptr + group", *t.shape[1:])) for t in grouped}
        return tuple(own.get(name, name) for name in self.op_arguments)

    @property
    def tile_extents(self) -> str:
        """What `tile_at` is told of the product that an item is of."""
        return ", ".join(self.groups.extents) if self.groups else "M, N, group_reciprocal, last_reciprocal"

    @property
    def limits(self) -> tuple[str, str]:
        """Where the rows and the columns of C end that an item may write."""
        rows, columns = self.groups.limits if self.groups else ("M", "N")
        return rows, f"{columns} // 2" if self.halved else columns

    @property
    def own_k(self) -> bool:
        """Whether each group has a K of its own, and a work item as many K tiles as its group's."""
        return self.groups is not None and self.groups.vary == "k"

    @property
    def op_arguments(self) -> tuple[str, ...]:
        """The kernel's arguments that the operations take."""
        return tuple(argument for t in self.op_tensors for argument in t.arguments)

    @property
    def halved(self) -> bool:
        """Whether C has a column for two of the product."""
        return any(OPS[op].halves for op in self.ops)

    @property
    def c_columns(self) -> Size:
        """Columns of C that a subtile is stored as."""
        return self.columns // 2 if self.halved else self.columns

    @property
    def place(self) -> tuple[str, ...]:
        """What the operations must be told of where their block of C lies."""
        code = " ".join(line for op in self.ops for line in OPS[op].code)
        told = {"row": "rows", "column": "columns", "M": "M", "N": "N"}
        return tuple(name for name, word in told.items() if re.search(rf"\b{word}\b", code))

    @property
    def op_code(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((OPS[op].meaning, OPS[op].code) for op in self.ops)

    @property
    def share_elements(self) -> int:
        return SHARE_ELEMENTS

    @property
    def ahead(self) -> int:
        """Blocks of sums on their way to who adds them up at a time: as many as go without a spill."""
        return 8 if self.adder_registers < 128 else 16

    @property
    def reduce_rows(self) -> int:
        return REDUCE_TILE[0]

    @property
    def reduce_columns(self) -> int:
        return REDUCE_TILE[1]
