"""What an attention_bwd spec may say: the parameter model, with every default that a good engineer would choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from tlxgen.arch import DTYPES
from tlxgen.families import kit
from tlxgen.families.attention import expressions, weights
from tlxgen.families.attention.common import columns_of, slices_of
from tlxgen.families.attention_fwd.faults import expression as expression_faults
from tlxgen.families.attention_fwd.keys import EXPRESSION, Expression
from tlxgen.families.kit import meanings
from tlxgen.spec import CommonSpec, Fault, SpecModel, choices, filled

from . import bias, cluster, heads, lists, mx, widths
from .cluster import Cluster
from .heads import Schedule
from .lists import Blocks
from .tasks import AnyTasks as AnyTasks
from .tasks import Tasks as Tasks


class Operands(SpecModel):
    """dQ (B, H, Nq, D), dK and dV (B, Hkv, Nk, D) from Q, K, V, O, dO and the log-sum-exp of the scores; Hkv divides H.

    Multi-head, grouped-query and multi-query attention are one kernel: Hkv is an argument.
    """

    dtype: Literal["fp16", "bf16"] = Field(
        "bf16",
        description="Element type of Q, K, V, O and of all gradients.",
        json_schema_extra=meanings.of(meanings.DTYPE, "fp16", "bf16"),
    )
    head_dim: int = Field(
        128,
        ge=8,
        le=256,
        multiple_of=8,
        description="D: elements of a row of Q and K, a multiple of 8. A tile has 64, 128 or 256 columns; with dense "
        "sequences and all gradients, 96 are 64 and 32. Above 128 consumers share out columns, not keys; but where D "
        "is 192 at most and V has 128 at most, a tile of Q has 192 columns, and each consumer has keys of its own. "
        "sm100: 64 or 128.",
    )
    accumulate: Literal["fp32"] = Field("fp32", description="Type of scores, probabilities and accumulators.")


class Sequences(Operands):
    """What the gradients of a softmax also ask."""

    head_dim_v: int | None = Field(
        None,
        ge=8,
        le=256,
        multiple_of=8,
        description="Dv: elements of a row of V and O. Default: head_dim. sm90, where head_dim is above 128: more than "
        "64, and no more than head_dim.",
    )
    lengths: Literal["dense", "keys", "packed"] = Field(
        "dense",
        description="How long the sequences are.",
        json_schema_extra=choices(
            dense="All sequences are as long as the tensor.",
            keys="key_lengths (B,) says how many keys of each batch entry are there: a padded batch.",
            packed="(T, H, D) tensors of sequences end to end, with cu_seqlens for queries and keys: batches without "
            "padding.",
        ),
    )


class Problem(Sequences):
    dtype: Literal["fp16", "bf16", "e4m3"] = Field(  # type: ignore[assignment]
        "bf16",
        description="Element type of Q, K, V, O and of all gradients; for e4m3, O and gradients are bf16.",
        json_schema_extra=meanings.of(meanings.DTYPE, "fp16", "bf16", "e4m3"),
    )
    scaling: Literal["none", "mx"] = Field(
        "none", description="What Q, K, V and dO are multiplied by.", json_schema_extra=mx.SCALING
    )
    gradients: Literal["qkv", "kv"] = Field(
        "qkv",
        description="Which gradients the kernel makes.",
        json_schema_extra=choices(
            qkv="All three, in 5 products; TMA adds the parts of dQ up, in the order that rings.dq.adds says.",
            kv="dK and dV, the same bits every time; the family attention_bwd_dq makes dQ, at 7 products in all. "
            "Choose it where dK and dV are needed alone.",
        ),
    )


class Mask(SpecModel):
    """Which keys a query sees, besides those past the end of the sequence, which none does."""

    kind: Literal["none", "causal", "window"] = Field(
        "none",
        description="Which keys a query sees.",
        json_schema_extra=choices(
            none="All keys: encoders and cross-attention.",
            causal="Keys up to the query's own; tiles of which no query sees a key are skipped.",
            window="So many keys to the query's left and right, as arguments: sliding-window attention.",
        ),
    )
    align: Literal["top_left", "bottom_right"] = Field(
        "top_left",
        description="Position of query i among the keys where Nq and Nk differ.",
        json_schema_extra=meanings.ALIGN,
    )


class SparseMask(Mask):
    blocks: Blocks | None = Field(
        None, description="sm90: blocks of queries by keys in which the mask is asked; in others no key is seen."
    )


class Softmax(SpecModel):
    softcap: bool = Field(
        False, description="Scores x have become cap * tanh(x / cap) in the forward; cap is an argument."
    )
    expression: Expression | None = Field(None, description=f"The forward's. {EXPRESSION}")


class SinkSoftmax(Softmax):
    sink: bool = Field(
        False,
        description="A logit for each head has taken part in the forward's sum; its gradient is one more result, of "
        "the kernel that makes dK and dV.",
    )
    bias: Literal["none", "like_q"] = Field(
        "none",
        description="sm90, head_dim 128: whether the forward has added a matrix to scaled scores, the argument "
        "attn_mask (B or 1, H or 1, Nq, Nk), of the type of Q.",
        json_schema_extra=choices(
            none="Nothing was added.",
            like_q="A matrix of Q's type: relative positions, masks of 0 and -inf.",
        ),
    )
    dbias: Literal["none", "stored", "added"] = Field(
        "none",
        description="The gradient by the bias: the result dbias.",
        json_schema_extra=choices(
            none="None: the bias is a constant, as a mask of 0 and -inf.",
            stored="Each tile is stored once, rounded: of a bias with a matrix for each batch entry and head of Q.",
            added="TMA adds tiles up in fp32, in no fixed order, and the kernel after rounds: of a bias that is one "
            "for all batch entries or heads, or not.",
        ),
    )


class TileShape(SpecModel):
    m: int | None = Field(
        None,
        ge=64,
        le=128,
        description="Queries of a step. Default: 8192 / head_dim, a part of dQ for each consumer; sm100: 128.",
    )
    n: int = Field(128, ge=64, le=256, description="Keys a CTA, 64 a consumer; sm100: 128. Rows.")


class StepRing(SpecModel):
    stages: int = Field(2, ge=1, le=16, description="Slots of the ring.")


class PartRing(SpecModel):
    stages: int | None = Field(
        None,
        ge=1,
        le=2,
        description="Buffers a consumer. Default: 2 where consumers run ahead and Q and dO have 2 slots. sm100: of 32 "
        "columns of dQ, 2 by default.",
    )
    columns: Literal[8, 16, 32] | None = Field(
        None,
        description="sm100: columns of a part of dQ. Default: 32, as wide as the widest swizzle of TMA; of two CTAs "
        "16, or 8 where shared memory is full, for head_dim 128 with dS exchanged by copies.",
    )
    reuse: Literal["dp", "s", "none"] | None = Field(
        None,
        description="sm100: whose columns of tensor memory dQ takes. Default: for head_dim 128 dp, of two CTAs s; for "
        "64 none.",
        json_schema_extra=choices(
            dp="dQ lies where dP and dS lay, and the next dP waits until it has been read. For head_dim 128.",
            s="Two CTAs: dQ lies where S lay, beside P, and the next S waits until it has been read.",
            none="dQ has columns of its own. Choose it where the sums of dK and dV leave room.",
        ),
    )

    adds: Literal["any", "ordered"] = Field(
        "any",
        description="In which order CTAs add their parts of dQ up in global memory.",
        json_schema_extra=choices(
            any="As they come. The fastest; the last bits of dQ differ from run to run.",
            ordered="In the order of their keys, by a count for each tile of queries: the same bits every time, at 5 "
            "products. Choose it where runs must be reproducible.",
        ),
    )


class GradientRing(SpecModel):
    """sm100: dS, which two products read."""

    operand: Literal["tmem", "smem"] = Field(
        "tmem",
        description="Where the product for dK reads dS; that for dQ reads it from shared memory.",
        json_schema_extra=choices(
            tmem="From tensor memory, in the place of dP: it is stored twice, and SMEM is read once a step less.",
            smem="From shared memory: stored once. Choose it where the exponentials' task is the slower.",
        ),
    )


class Rings(SpecModel):
    q: StepRing = Field(StepRing(), description="Tiles of Q, and the log-sum-exp of their rows.")
    do: StepRing = Field(StepRing(), description="Tiles of dO, and rowsum(O * dO) of their rows.")
    dq: PartRing = Field(PartRing(), description="Parts of dQ on their way out, and dK and dV at the end.")
    ds: GradientRing = Field(GradientRing(), description="sm100: dS, which the products for dK and dQ read.")
    empty: Literal["warp", "leader"] = Field(
        "warp",
        description="How a slot is released: one arrival a thread, or one a task after a task-wide sync.",
        json_schema_extra=meanings.EMPTY,
    )


class BackwardSpec(CommonSpec):
    """What the families of the backward have in common."""

    problem: Operands = Field(Operands(), description="Operands and results.")
    mask: Mask = Field(Mask(), description="Which keys a query sees.")

    @property
    def head_dim_v(self) -> int:
        """Elements of a row of V and O."""
        return self.problem.head_dim

    @property
    def columns(self) -> int:
        """Of a tile of Q or K."""
        return columns_of(self.problem.head_dim)

    @property
    def wide(self) -> bool:
        """Whether registers of a consumer do not hold dK and dV of its keys beside its scores of many queries."""
        return self.columns > 128

    @property
    def gradients(self) -> tuple[str, ...]:
        """The outputs, in order."""
        raise NotImplementedError

    @property
    def lengths(self) -> str:
        """How long sequences are."""
        raise NotImplementedError

    @property
    def weights(self) -> dict[str, Any]:
        """Which scores count, and what their weights are, as facts."""
        raise NotImplementedError

    @property
    def ordered(self) -> bool:
        """Whether CTAs add their parts of dQ in a fixed order. Who adds none has none."""
        return False

    @property
    def apart(self) -> bool:
        """Whether each head of Q has CTAs of its own, which add dK and dV up."""
        return False

    @property
    def scaled(self) -> bool:
        """Whether operands have MX scales."""
        return False

    @property
    def out_dtype(self) -> str:
        """Element type of O and of the gradients."""
        return "bf16" if self.scaled else self.problem.dtype

    @property
    def dbias(self) -> str:
        """How the gradient by what is added to scores is made."""
        return "none"


class SoftmaxBackwardSpec(BackwardSpec):
    """What the gradients of a softmax have that those of a function of each score have not."""

    problem: Sequences = Field(Sequences(), description="Operands and results.")
    softmax: Softmax = Field(Softmax(), description="From scores to probabilities, as the forward has them.")

    @property
    def head_dim_v(self) -> int:
        return self.problem.head_dim_v or self.problem.head_dim

    @property
    def lengths(self) -> str:
        return self.problem.lengths

    @property
    def weights(self) -> dict[str, Any]:
        mask = self.mask
        made = {"mask": mask.kind, "bottom_right": mask.align == "bottom_right" and mask.kind != "none"}
        return made | {"softcap": self.softmax.softcap} | expressions.facts(self.softmax.expression)


class KeysSpec(BackwardSpec):
    """dQ, dK and dV by a kernel that walks the queries of a tile of keys."""

    archs: ClassVar[tuple[str, ...]] = ("sm90",)

    tile: TileShape = Field(TileShape(), description="Extents of a tile.")
    tasks: AnyTasks = Field(AnyTasks(), description="Who does what.")
    rings: Rings = Field(Rings(), description="Multi-buffered tiles between tasks.")

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, data: Any) -> Any:
        """Fills in what an architecture has other defaults for."""
        if not isinstance(data, Mapping):
            return data
        problem = data.get("problem")
        if data.get("arch") != "sm100":
            given = problem if isinstance(problem, Mapping) else {}
            d, dv = given.get("head_dim"), given.get("head_dim_v")
            narrow = isinstance(dv, int) and dv <= 128
            wide = isinstance(d, int) and d > (192 if narrow else 128)
            return filled(data, SM90_NARROW_V if narrow else SM90_WIDE) if wide else data
        small = isinstance(problem, Mapping) and problem.get("head_dim") == 64
        cluster = data.get("cluster")
        pair = isinstance(cluster, Mapping) and cluster.get("n") == 2
        data = filled(data, mx.DEFAULTS) if mx.asked(problem) else data
        data = filled(data, SM100_D64) if small else filled(data, SM100_D128_PAIR) if pair else data
        return filled(filled(data, SM100_PAIR) if pair else data, SM100)

    @property
    def gradients(self) -> tuple[str, ...]:
        return ("dq", "dk", "dv")

    @property
    def by_columns(self) -> bool:
        """Whether consumers have the same keys, and share out columns of dK and dV."""
        return self.wide and self.tile.n == 64

    @property
    def tight(self) -> bool:
        """Whether each has its own keys, all the same: few scores at a time, and no columns past a head's."""
        return self.wide and not self.by_columns

    @property
    def cut(self) -> bool:
        """Whether tiles of a narrow head have no columns past it: buffers of 64 and of 32."""
        return False

    @property
    def ctas(self) -> int:
        """CTAs of a cluster."""
        return 1

    @property
    def pair(self) -> bool:
        """Whether two CTAs multiply together."""
        return self.ctas > 1

    @property
    def exchange(self) -> str:
        """How two CTAs send each other dS."""
        return ""

    @property
    def ordered(self) -> bool:
        """Whether CTAs add their parts of dQ in the order of their keys."""
        return self.rings.dq.adds == "ordered"

    @property
    def queries(self) -> int:
        """Queries of a step."""
        return self.tile.m or (128 if self.arch == "sm100" else max(64, 8192 // self.columns))

    @property
    def ahead(self) -> bool:
        """Whether the next step's scores are issued in this one."""
        mma = self.tasks.mma
        fits = self.columns >= 128 and mma.meet == "mbarrier" and not self.tight
        return fits if mma.ahead is None else mma.ahead

    @property
    def kept_rows(self) -> str:
        """Whose rows stay in registers."""
        mma = self.tasks.mma
        return mma.keep or ("v" if self.columns == 64 and mma.meet == "mbarrier" and not self.ahead else "none")

    @property
    def dq_stages(self) -> int:
        """Buffers a consumer for parts of dQ."""
        rings = self.rings
        if self.arch == "sm100":
            return rings.dq.stages or 2
        fits = self.ahead and "dq" in self.gradients and rings.q.stages == rings.do.stages == 2
        return rings.dq.stages or (2 if fits and self.columns == 128 else 1)

    @property
    def dq_columns(self) -> int:
        """sm100: columns of a part of dQ."""
        full = self.problem.head_dim == 128 and self.exchange == "copy"
        return self.rings.dq.columns or ((8 if full else 16) if self.pair else 32)

    @property
    def dq_place(self) -> str:
        """sm100: whose columns of tensor memory dQ takes."""
        over = "s" if self.pair else "dp"
        return self.rings.dq.reuse or (over if self.problem.head_dim == 128 else "none")

    def faults(self) -> list[Fault]:
        tasks = self.tasks
        reduce = kit.faults.registers({"tasks.reduce.registers": tasks.reduce.registers})
        own = _hopper(self) if self.arch == "sm90" else _blackwell(self)
        return [*faults_of(self, tasks.mma.registers, *self.archs), *reduce, *own, *self._no_order()]

    def _no_order(self) -> list[Fault]:
        """Where parts of dQ have no order."""
        history = "sequences end to end without a softmax: no kernel before this one knows their tiles"
        softmax = isinstance(self, SoftmaxBackwardSpec)
        return kit.faults.where(
            ("rings.dq.adds", self.ordered and not softmax, history),
            ("rings.dq.adds", self.ordered and "dq" not in self.gradients, "without dQ, nothing is added up"),
            ("rings.dq.adds", self.ordered and self.wide, "above a head_dim of 128 no turn is handed on"),
        )


class AttentionBwdSpec(SoftmaxBackwardSpec, KeysSpec):
    """dQ, dK and dV of O = softmax(scale Q K^T) V."""

    archs = ("sm90", "sm100")
    # with e4m3, and with it alone, there are scales
    in_source = frozenset(
        {"schedule", "problem.scaling", "mask.blocks", "softmax.bias", "softmax.dbias", "softmax.expression"}
    )

    kernel: Literal["attention_bwd"] = Field(description="The kernel family.")
    problem: Problem = Field(Problem(), description="Operands and results.")
    mask: SparseMask = Field(SparseMask(), description="Which keys a query sees.")
    softmax: SinkSoftmax = Field(SinkSoftmax(), description="From scores to probabilities, as the forward has them.")
    cluster: Cluster = Field(Cluster(), description="sm100: two CTAs that multiply together.")
    schedule: Schedule = Field(Schedule(), description="Which CTA does what.")

    @property
    def scaled(self) -> bool:
        return self.problem.scaling == "mx"

    @property
    def apart(self) -> bool:
        return self.schedule.heads == "apart"

    @property
    def cut(self) -> bool:
        buffers = slices_of(self.problem.head_dim)
        plain = self.lengths == "dense" and not (self.bias or self.is_listed or self.ordered)
        steps = self.tasks.mma.meet == "mbarrier" and self.queries == buffers[0] and len(self.gradients) == 3
        fits = self.arch == "sm90" and not self.wide and slices_of(self.head_dim_v) == buffers
        return fits and plain and steps and len(buffers) > 1

    @property
    def blocks(self) -> Blocks | None:
        """Extents of the blocks that lists name."""
        return self.mask.blocks

    @property
    def modified(self) -> bool:
        """Whether an expression takes the place of scores."""
        return bool(self.softmax.expression)

    @property
    def is_listed(self) -> bool:
        """Whether lists name blocks."""
        return self.blocks is not None

    @property
    def bias(self) -> str:
        """Element type of what is added to scores; empty if nothing is."""
        return self.problem.dtype if self.softmax.bias == "like_q" else ""

    @property
    def dbias(self) -> str:
        """How the gradient by that is made."""
        return self.softmax.dbias

    @property
    def softcap(self) -> bool:
        """Whether scores were capped."""
        return self.softmax.softcap

    @property
    def meets_early(self) -> bool:
        """Whether a consumer issues the next scores before it waits for the others' dS."""
        return self.tasks.mma.meet == "mbarrier" and self.ahead

    @property
    def keys(self) -> int:
        """Keys a CTA."""
        return self.tile.n

    @property
    def ctas(self) -> int:
        return self.cluster.n

    @property
    def exchange(self) -> str:
        return self.cluster.exchange

    @property
    def weights(self) -> dict[str, Any]:
        blocks = self.blocks and weights.Blocks(**self.blocks.model_dump())
        bias = DTYPES[self.bias] if self.bias else None
        return super().weights | {"sink": self.softmax.sink, "blocks": blocks, "bias": bias}

    @property
    def dq_stages(self) -> int:
        return self.rings.dq.stages or 1 if self.bias else super().dq_stages

    @property
    def gradients(self) -> tuple[str, ...]:
        return ("dq", "dk", "dv") if self.problem.gradients == "qkv" else ("dk", "dv")

    def faults(self) -> list[Fault]:
        own, rings = self.cluster, self.rings
        of_pair = cluster.pair(own, self.tasks.compute.parts, rings.dq.reuse, rings.ds.operand)
        ctas = of_pair if self.arch == "sm100" else cluster.alone(own)
        found = [*super().faults(), *ctas, *heads.faults_of(self), *mx.faults_of(self)]
        return [*found, *lists.faults_of(self), *bias.faults_of(self)]


# What sm90 has other defaults for where consumers share out columns: all have the same 64 keys, and SMEM is full.
SM90_NARROW_V: Mapping[str, Any] = {"tile": {"n": 64}}
SM90_WIDE: Mapping[str, Any] = {"tile": {"n": 64}, "rings": {"do": {"stages": 1}}}

# What sm100 has other defaults for: one warp issues tcgen05, and the tensor core releases slots of Q and dO.
SM100: Mapping[str, Any] = {
    "tasks": {"load": {"default": False}, "mma": {"warps": 1, "replicate": 1, "registers": 40}},
    "rings": {"do": {"stages": 1}},
}
SM100_D64: Mapping[str, Any] = {"rings": {"do": {"stages": 2}}}
SM100_PAIR: Mapping[str, Any] = {"tasks": {"mma": {"order": "dk_dp_dq", "registers": 56}}}
SM100_D128_PAIR: Mapping[str, Any] = {"rings": {"q": {"stages": 1}}}


def faults_of(spec: BackwardSpec, registers: int | None, *archs: str) -> list[Fault]:
    """What is wrong with target, names, registers and scores, for a family of the backward."""
    return [
        *(expression_faults(spec.softmax) if isinstance(spec, SoftmaxBackwardSpec) else ()),
        *kit.faults.target(spec, *(archs or ("sm90",))),
        *kit.faults.name(spec),
        *kit.faults.guards(spec),
        *kit.faults.registers({"tasks.mma.registers": registers}),
    ]


def _hopper(spec: KeysSpec) -> list[Fault]:
    """What sm90 cannot do, and what of its tasks does not go together."""
    mma, rings = spec.tasks.mma, spec.rings
    tensor_memory = "this is of sm100: on sm90 a consumer keeps scores and their gradients in its registers"
    faults = kit.faults.foreign(
        ("tasks.compute", "compute" in spec.tasks.model_fields_set, tensor_memory),
        ("tasks.reduce", "reduce" in spec.tasks.model_fields_set, tensor_memory),
        ("tasks.mma.order", "order" in mma.model_fields_set, "this is of sm100: on sm90 each consumer has an order"),
        ("rings.ds", "ds" in rings.model_fields_set, tensor_memory),
        ("rings.dq.reuse", rings.dq.reuse is not None, tensor_memory),
        ("rings.dq.columns", rings.dq.columns is not None, "this is of sm100: on sm90 a consumer has a part of dQ"),
        ("tasks.load.default", not spec.tasks.load.default, "on sm90 the TMA producer is the default task"),
        ("tasks.mma.replicate", mma.replicate != 2, "on sm90 two consumers share the keys of a CTA"),
        ("tasks.mma.warps", mma.warps != 4, f"wgmma is issued by a warpgroup: 4 warps, not {mma.warps}"),
    )
    if spec.tasks.mma.ahead and spec.tasks.mma.meet == "named":
        text = "a consumer that runs ahead does not stop at a named barrier: meet must be mbarrier"
        faults.append((("tasks", "mma", "ahead"), text))
    if "dq" not in spec.gradients and spec.dq_stages != 1:
        faults.append((("rings", "dq", "stages"), "without dQ, rings.dq.stages must be 1"))
    softmax = spec.problem if isinstance(spec.problem, Sequences) else None
    given = softmax is not None and softmax.head_dim_v is not None
    return [*faults, *widths.faults_of(spec, mma, spec.problem.head_dim, softmax=softmax is not None, given=given)]


def _blackwell(spec: KeysSpec) -> list[Fault]:
    """What sm100 does otherwise than sm90."""
    mma, consumers = spec.tasks.mma, "this is of sm90: on sm100 no consumer has sums in its registers"
    narrow = ("problem.head_dim", spec.problem.head_dim not in (64, 128), "on sm100 it is 64 or 128")
    own = kit.faults.foreign(
        ("tasks.load.default", spec.tasks.load.default, "on sm100 the task of P and dS is the default one"),
        ("tasks.mma.replicate", mma.replicate != 1, "on sm100 one thread issues all products: 1"),
        ("tasks.mma.warps", mma.warps != 1, f"on sm100 one thread issues tcgen05: 1 warp, not {mma.warps}"),
        *((f"tasks.mma.{name}", name in mma.model_fields_set, consumers) for name in ("meet", "ahead", "keep")),
    )
    alone = "dK and dV alone are for sm90: on sm100 all three gradients are made"
    return [*own, *kit.faults.where(narrow, ("problem.gradients", "dq" not in spec.gradients, alone))]
