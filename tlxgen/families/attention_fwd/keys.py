"""The keys of an attention_fwd spec: the parameter model, with every default that a good engineer would choose."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from tlxgen.arch import DTYPES
from tlxgen.families.attention import expressions, weights
from tlxgen.families.attention.common import SLICE, slices_of
from tlxgen.families.kit import meanings
from tlxgen.spec import CommonSpec, SpecModel, choices

HeadDim = Annotated[int, Field(ge=8, le=256, multiple_of=8)]
Expression = Annotated[str, AfterValidator(expressions.checked)]
EXPRESSION = (
    "What a scaled score becomes before the mask, such as score - 2**-head * abs(q - k); the backward has its "
    f"derivative. {expressions.LANGUAGE}"
)
Eviction = Literal["none", "evict_first", "evict_last"]


class Problem(SpecModel):
    """O (B, H, Nq, Dv) = softmax(scale Q (B, H, Nq, D) K^T (B, Hkv, Nk, D)) V (B, Hkv, Nk, Dv); Hkv divides H.

    Multi-head, grouped-query and multi-query attention are one kernel: Hkv is an argument.
    """

    dtype: Literal["fp16", "bf16", "e4m3"] = Field(
        "bf16",
        description="Element type of Q, K and V, to which probabilities are rounded, and of O; O is bf16 for e4m3. "
        "On sm100 e4m3 has MX scales.",
        json_schema_extra=meanings.of(meanings.DTYPE, "fp16", "bf16", "e4m3"),
    )
    head_dim: HeadDim = Field(
        128,
        description="D: elements of a row of Q and K, a multiple of 8. A tile "
        "has 64 columns, or the next multiple of 32, in buffers of 64 and 32 columns if that is no power of two. sm100 "
        "and e4m3: 64, 128 or 256.",
    )
    head_dim_v: HeadDim | None = Field(None, description="Dv: elements of a row of V and O. Default: head_dim.")
    lengths: Literal["dense", "keys", "packed"] = Field(
        "dense",
        description="How long the sequences are.",
        json_schema_extra=choices(
            dense="All sequences are as long as the tensor: training on whole batches.",
            keys="An argument says how many keys of each batch entry are there: a padded batch, or a cache that fills.",
            packed="(T, H, D) tensors of sequences end to end, with cu_seqlens: batches without padding.",
        ),
    )
    accumulate: Literal["fp32"] = Field("fp32", description="Type of scores, softmax and accumulator.")


class ScaledProblem(Problem):
    scaling: Literal["none", "mx"] = Field(
        "none",
        description="What Q, K and V are multiplied by.",
        json_schema_extra=choices(
            none="Nothing: fp8 as it is.",
            mx="sm100: a power of two for each 32 elements along the dimension that a product contracts, the head "
            "dimension of Q and K, the keys of V. The tensor core multiplies it in: MXFP8.",
        ),
    )


class Mask(SpecModel):
    """Which keys a query sees, besides those past the end of the sequence, which none does."""

    kind: Literal["none", "causal", "window"] = Field(
        "none",
        description="Which keys a query sees.",
        json_schema_extra=choices(
            none="All keys: encoders and cross-attention.",
            causal="Keys up to the query's own; tiles of keys that no query sees are skipped.",
            window="So many keys to the query's left and right, as arguments: sliding-window attention.",
        ),
    )
    align: Literal["top_left", "bottom_right"] = Field(
        "top_left",
        description="Position of query i among the keys where Nq and Nk differ.",
        json_schema_extra=meanings.ALIGN,
    )


class Blocks(SpecModel):
    """sm90: arguments list, for each row of blocks, those in which scores count, as torch's BlockMask has them."""

    m: int = Field(128, ge=64, description="Queries of a block: a multiple of tile.m. BLOCK_SIZE[0] of a BlockMask.")
    n: int = Field(128, ge=32, description="Keys of a block: a multiple of tile.n. BLOCK_SIZE[1] of a BlockMask.")
    full: bool = Field(
        True,
        description="Which lists there are.",
        json_schema_extra=choices(
            {
                True: "kv_num_blocks and kv_indices, whose blocks the mask cuts, and full_kv_num_blocks and "
                "full_kv_indices, in whose blocks every query sees every key.",
                False: "kv_num_blocks and kv_indices alone.",
            }
        ),
    )


class SparseMask(Mask):
    blocks: Blocks | None = Field(
        None, description="sm90: blocks of queries by keys in which the mask is asked; in others no key is seen."
    )


class Softmax(SpecModel):
    softcap: bool = Field(False, description="Scores x become cap * tanh(x / cap); cap is an argument.")
    expression: Expression | None = Field(None, description=EXPRESSION)
    bias: Literal["none", "like_q", "fp32"] = Field(
        "none",
        description="sm90: whether a matrix is added to scaled scores before the mask, and its element type: the "
        "argument attn_mask (B or 1, H or 1, Nq, Nk).",
        json_schema_extra=choices(
            none="Nothing is added.",
            like_q="That of Q, as in torch's scaled_dot_product_attention: relative positions, masks of 0 and -inf.",
            fp32="fp32, which takes twice the memory and its traffic: for a bias that two bytes round too much.",
        ),
    )
    sink: bool = Field(False, description="A logit for each head that takes part in the sum and has no value.")
    lse: bool = Field(True, description="Whether the log-sum-exp of each row is an output, in fp32.")
    rescale: Literal["always", "lazy"] = Field(
        "always",
        description="sm100: when O is multiplied by what its maximum has risen by.",
        json_schema_extra=choices(
            always="At every tile of keys: exact in the usual sense, one pass over O a tile.",
            lazy="Only at tiles where one of its rows has risen by more than a factor of 2**8, which probabilities may "
            "then exceed 1 by: fewer passes over O. Choose it for long sequences.",
        ),
    )
    polynomial: Literal[0, 16, 32, 48] = Field(
        0,
        description="sm100: how many of each 64 columns of scores have their exponentials computed as polynomials on "
        "the FMA units.",
        json_schema_extra=choices(
            {
                0: "None: the exponential unit computes all, to 2**-22.",
                16: "A quarter, to a relative error of 7.5e-5, far less than bf16 rounds by. Choose it first where "
                "exponentials take longer than products: MXFP8, and a head_dim of 64.",
                32: "A half: the exponential unit then has as much time to spare as the FMA units lack.",
                48: "Three quarters, which the FMA units take longer for than the exponential unit for all of them.",
            }
        ),
    )


class TileShape(SpecModel):
    m: int = Field(
        128,
        ge=64,
        le=384,
        description="Queries a CTA, divided among the consumers or groups; sm100: 256 by default. Rows.",
    )
    n: int = Field(128, ge=32, le=256, description="Keys of a tile. Rows.")


class LoadTask(SpecModel):
    default: bool = Field(
        True, description="Whether the TMA producer is the default task: on sm90 it is, on sm100 the correction is."
    )


class MmaTask(SpecModel):
    replicate: int = Field(
        2,
        ge=1,
        le=3,
        description="Groups of queries. sm90: consumers, each multiplies and keeps the softmax of its rows. sm100: "
        "softmax tasks of 128 rows each, for which one warp multiplies.",
    )
    warps: Literal[1, 4] = Field(
        4, description="Warps. sm90: of a consumer (a warpgroup). sm100: 1, one thread issues tcgen05."
    )
    registers: int | None = Field(
        240,
        description="Registers a thread, requested by setmaxnreg; null leaves the even split. sm100: of each one-warp "
        "task, 40 by default, 24 in a grid.",
    )
    overlap: bool = Field(
        True,
        description="Scores of the next tile and the product with V run on the tensor cores under the softmax; sm100: "
        "by interleaving the groups, Q0 K, P1 V of the tile before, Q1 K, P0 V.",
        json_schema_extra=choices(
            {
                True: "products run under the softmax; scores of two tiles take registers.",
                False: "one tile after the other, with fewer registers: for a head_dim of 256.",
            }
        ),
    )
    turns: Literal["none", "named", "mbarrier"] = Field(
        "named",
        description="Pingpong on sm90: consumers issue wgmma in turns, one's softmax under the others' products. None "
        "by default under a window, in fp8 and in packed sequences at a head_dim of 64.",
        json_schema_extra=choices(
            none="No turns: consumers issue as they come. For one consumer, and for few tiles of short products.",
            named="Turns by named barriers of the SM, without memory. Choose it unless the 16 of a CTA run out.",
            mbarrier="Turns by barriers in SMEM. Choose it where a variant is rejected for named-barriers.",
        ),
    )
    keep: Literal["none", "q"] = Field(
        "q",
        description="Whose rows a consumer keeps in registers. sm100, and a head_dim of 256, whose registers are full: "
        "none by default.",
        json_schema_extra=choices(
            none="None: wgmma reads Q out of SMEM for every tile of keys. Choose it where registers spill.",
            q="Q stays in registers, so that wgmma takes only K and V out of SMEM. Choose it where registers are left.",
        ),
    )


class SoftmaxTask(SpecModel):
    """sm100: scores to probabilities, a task for each group, a row for each thread."""

    registers: int | None = Field(
        184, description="Registers a thread; what all tasks leave goes to the correction. null, for all tasks: even."
    )


class StoreTask(SpecModel):
    """sm100: a task of its own that issues the TMA stores of O; without it the correction does."""

    warps: Literal[1] = Field(1, description="Warps of the store task.")


class Tasks(SpecModel):
    load: LoadTask = Field(LoadTask(), description="TMA producer.")
    mma: MmaTask = Field(MmaTask(), description="Who multiplies.")
    softmax: SoftmaxTask = Field(SoftmaxTask(), description="sm100: from scores to probabilities.")
    store: StoreTask | None = Field(None, description="sm100: dedicated TMA-store task; absent: the correction stores.")


class QueryRing(SpecModel):
    stages: int = Field(1, ge=1, le=2, description="Buffers of Q a consumer; two let a persistent CTA load ahead.")


class KeyValueRing(SpecModel):
    stages: int = Field(2, ge=1, le=16, description="Slots of K and of V, or of both together where they share a ring.")
    storage: Literal["separate", "shared"] = Field(
        "separate",
        description="Where tiles of K and V lie.",
        json_schema_extra=choices(
            separate="K and V have a ring each, of as many slots: the simplest.",
            shared="Tiles of both take turns in one ring, so that an odd number of slots fits. Choose it where two "
            "rings of the next depth do not fit into SMEM.",
        ),
    )
    empty: Literal["leader", "warp"] = Field(
        "warp",
        description="How a slot is released: one arrival a task, or one a thread without a task-wide sync; sm100: "
        "leader, by the tensor core.",
        json_schema_extra=meanings.EMPTY,
    )


class ScoreRing(SpecModel):
    """sm100: scores in tensor memory and, in their place, probabilities."""

    slices: Literal[1, 2, 4] = Field(
        1, description="Parts in which a tile of probabilities is passed to the MMA, which starts after the first part."
    )
    arrive: Literal["leader", "warp"] = Field(
        "leader",
        description="How softmax and correction hand a tile on: one arrival a task, or one a thread without a "
        "task-wide sync.",
        json_schema_extra=meanings.EMPTY,
    )


class BiasRing(SpecModel):
    stages: int = Field(1, ge=1, le=4, description="Slots of the bias a consumer, each for its rows of a tile of keys.")


class OutputRing(SpecModel):
    reuse: Literal["q", "none"] = Field(
        "none",
        description="Whose buffers O leaves through.",
        json_schema_extra=choices(
            none="O has its own buffers. Choose it where they fit: it is 2 to 4 % faster.",
            q="O leaves through the buffer of its Q, which saves memory and costs a fence before every wgmma that "
            "reads Q. Choose it where SMEM does not suffice for one more slot of K and V.",
        ),
    )
    parts: Literal[1, 2] = Field(
        1,
        description="sm90: parts in which a consumer's O leaves.",
        json_schema_extra=choices(
            {
                1: "All of its columns at once.",
                2: "The left half and then, by the same buffer, the right one, which waits for the left to leave. "
                "Choose it where a buffer of all columns does not fit, and sequences are too short for reuse: q.",
            }
        ),
    )


class Rings(SpecModel):
    q: QueryRing = Field(QueryRing(), description="Tiles of Q, a bank for each consumer.")
    kv: KeyValueRing = Field(KeyValueRing(), description="Tiles of K and V; sm100: shared, 3 slots, by default.")
    s: ScoreRing = Field(ScoreRing(), description="sm100: scores and probabilities.")
    o: OutputRing = Field(OutputRing(), description="Tiles of O on their way to TMA stores.")


class AttentionRings(Rings):
    bias: BiasRing = Field(BiasRing(), description="sm90: tiles of the bias, a bank for each consumer.")


class Schedule(SpecModel):
    kind: Literal["grid", "persistent", "clc", "dynamic"] = Field(
        "persistent",
        description="Where a CTA's tiles of queries come from: the work list. Default: persistent; sm90, for packed "
        "sequences, but under a window of GDPA or HSTU: dynamic.",
        json_schema_extra=meanings.of(
            meanings.KIND,
            *("grid", "persistent", "clc"),
            dynamic="sm90, packed sequences: a counter in global memory hands tiles out, sequence after sequence, to "
            "whichever CTA is done first. Choose it where lengths differ: no CTA walks tiles that are not there, and "
            "all have as much to do.",
        ),
    )


class Cache(SpecModel):
    q: Eviction = Field("none", description="L2 hint of the loads of Q.", json_schema_extra=meanings.EVICTION)
    kv: Eviction = Field("none", description="L2 hint of the loads of K and V.", json_schema_extra=meanings.EVICTION)
    o: Eviction = Field("none", description="L2 hint of the stores of O.", json_schema_extra=meanings.EVICTION)


class ForwardKeys(CommonSpec):
    """The keys of all that multiplies Q by K^T, and what becomes of that by V: softmax attention, and its relatives.

    What goes together is in `faults`, what has other defaults somewhere in `spec`.
    """

    problem: Problem = Field(Problem(), description="Operands and result.")
    mask: Mask = Field(Mask(), description="Which keys a query sees.")
    tile: TileShape = Field(TileShape(), description="Extents of a tile.")
    tasks: Tasks = Field(Tasks(), description="Who does what.")
    rings: Rings = Field(Rings(), description="Multi-buffered tiles between tasks.")
    schedule: Schedule = Field(Schedule(), description="Where a CTA's tiles come from.")
    cache: Cache = Field(Cache(), description="L2 eviction hints.")

    @property
    def head_dim_v(self) -> int:
        return self.problem.head_dim_v or self.problem.head_dim

    @property
    def slices(self) -> tuple[int, ...]:
        """Columns of each of the buffers that hold a tile of Q or K."""
        return slices_of(self.problem.head_dim)

    @property
    def slices_v(self) -> tuple[int, ...]:
        """Columns of each of the buffers that hold a tile of V."""
        return slices_of(self.head_dim_v)

    @property
    def slices_o(self) -> tuple[int, ...]:
        """Columns that leave at once of a tile of O: those of V, or halves, or as those of Q, to take their place."""
        q, v = self.slices, self.slices_v
        if self.rings.o.parts > 1:
            return tuple(columns // self.rings.o.parts for columns in v for _ in range(self.rings.o.parts))
        return (SLICE,) * (v[0] // SLICE) if self.rings.o.reuse == "q" and len(q) > len(v) == 1 else v

    @property
    def out_dtype(self) -> str:
        """Element type of O."""
        return "bf16" if self.problem.dtype == "e4m3" else self.problem.dtype

    @property
    def lse(self) -> bool:
        """Whether there is a log-sum-exp."""
        return False

    @property
    def lazy(self) -> bool:
        """Whether O is rescaled for a maximum that has risen a lot only."""
        return False

    @property
    def polynomial(self) -> int:
        """Of each 64 columns of scores, how many exponentials are polynomials."""
        return 0

    @property
    def scaled(self) -> bool:
        """Whether Q, K and V have MX scales."""
        return False

    @property
    def bias(self) -> str:
        """Element type of what is added to scores; empty if nothing is."""
        return ""

    @property
    def weights(self) -> dict[str, Any]:
        """The facts of the scores that count, and of what becomes of a row of them."""
        raise NotImplementedError


class AttentionKeys(ForwardKeys):
    """All keys of softmax attention."""

    kernel: Literal["attention_fwd"] = Field(description="The kernel family.")
    problem: ScaledProblem = Field(ScaledProblem(), description="Operands and result.")
    mask: SparseMask = Field(SparseMask(), description="Which keys a query sees.")
    rings: AttentionRings = Field(AttentionRings(), description="Multi-buffered tiles between tasks.")
    softmax: Softmax = Field(Softmax(), description="From scores to probabilities.")

    @property
    def scaled(self) -> bool:
        return self.problem.scaling == "mx"

    @property
    def lse(self) -> bool:
        return self.softmax.lse

    @property
    def lazy(self) -> bool:
        return self.softmax.rescale == "lazy"

    @property
    def polynomial(self) -> int:
        return self.softmax.polynomial

    @property
    def bias(self) -> str:
        return {"none": "", "like_q": self.problem.dtype, "fp32": "fp32"}[self.softmax.bias]

    @property
    def weights(self) -> dict[str, Any]:
        blocks = self.mask.blocks and weights.Blocks(**self.mask.blocks.model_dump())
        made: dict[str, Any] = {"mask": self.mask.kind, "blocks": blocks, "lse": self.lse, "sink": self.softmax.sink}
        made |= expressions.facts(self.softmax.expression)
        made |= {"softcap": self.softmax.softcap, "bias": DTYPES[self.bias] if self.bias else None}
        return made | {"bottom_right": self.mask.align == "bottom_right" and self.mask.kind != "none"}
