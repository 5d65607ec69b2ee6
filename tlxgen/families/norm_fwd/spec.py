"""The parameter model of norm_fwd, and the axes that only change constants and launches."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from tlxgen.arch import DTYPES, Arch, DType
from tlxgen.families.kit import Axis, faults, meanings
from tlxgen.spec import CommonSpec, Fault, SpecModel, choices

AXES = (
    Axis("tile.m", "BLOCK_M", "rows of a tile"),
    Axis("tile.n", "BLOCK_N", "columns that a CTA has", blame=("registers", "smem")),
    Axis("cluster.n", "CLUSTER", "CTAs of a cluster, which share rows", default=1),
    Axis("tasks.reduce.warps", option="num_warps", blame=("threads",)),
    Axis("tasks.reduce.registers", option="maxnreg"),
)


WORKING = 16  # a thread's registers for each of: addresses and statistics, the exchange of a cluster, a residual
FROM_SMEM = 24  # and for what comes from SMEM


class Problem(SpecModel):
    norm: Literal["layer", "rms"] = Field(
        "layer",
        description="What a row is normalised by.",
        json_schema_extra=choices(
            layer="Layer norm: (x - mean) * rstd, with rstd of x - mean.", rms="RMSNorm: x * rstd, with rstd of x."
        ),
    )
    dtype: Literal["bf16", "fp16", "fp32"] = Field(
        "bf16",
        description="Element type of x and y; sums are in fp32.",
        json_schema_extra=meanings.of(meanings.DTYPE, "bf16", "fp16", fp32="No rounding, at twice the bytes."),
    )
    weight: Literal["same", "fp32", "none"] = Field(
        "same",
        description="Type of weight and bias.",
        json_schema_extra=choices(
            same="That of x.",
            fp32="fp32, as models that are trained in mixed precision keep them.",
            none="There are none.",
        ),
    )
    bias: bool = Field(False, description="Whether there is a bias: in a layer norm, beside a weight.")
    stats: bool = Field(False, description="Whether rstd, and mean in a layer norm, are results, in fp32.")
    residual: bool = Field(
        False, description="Whether the rows are x + residual; the sum, rounded to the type of x, is a result, too."
    )


class Norm(CommonSpec):
    """The common part of the specs of a norm and of its backward."""

    axes: ClassVar[tuple[Axis, ...]]
    problem: Problem = Field(Problem(), description="What is computed.")
    tile: Any
    tasks: Any

    @property
    def dtype(self) -> DType:
        return DTYPES[self.problem.dtype]

    @property
    def layer(self) -> bool:
        return self.problem.norm == "layer"

    @property
    def vectors(self) -> dict[str, DType]:
        """Weight and bias, if there are any."""
        names = ("weight",) * (self.problem.weight != "none") + ("bias",) * self.problem.bias
        return dict.fromkeys(names, DTYPES["fp32"] if self.problem.weight == "fp32" else self.dtype)

    @property
    def stats(self) -> tuple[str, ...]:
        return ("mean",) * self.layer + ("rstd",)

    @property
    def about(self) -> dict[str, object]:
        """Facts about a host function for the one of the backward (or forward) that is used with it."""
        return self.problem.model_dump()

    def wrong(self) -> tuple[faults.Rule, ...]:
        """The family's own rules."""
        return ()

    def faults(self) -> list[Fault]:
        p = self.problem
        return [
            *faults.name(self),
            *faults.guards(self, self.axes),
            *faults.registers({"tasks.reduce.registers": self.tasks.reduce.registers}),
            *faults.powers_of_two(self, ("tile.m", "tile.n"), "a tile extent"),
            *faults.where(
                ("problem.bias", p.bias and p.norm == "rms", "RMSNorm has no bias"),
                ("problem.bias", p.bias and p.weight == "none", "a bias has the type of a weight: there is none"),
                *self.wrong(),
            ),
        ]


class TileShape(SpecModel):
    m: int = Field(1, ge=1, le=256, description="Rows of a tile.")
    n: int = Field(8192, ge=16, le=65536, description="Columns that a CTA has: with those of its cluster all of x.")


class ReduceTask(SpecModel):
    warps: Literal[1, 2, 4, 8, 16, 32, None] = Field(
        None, description="Default: 64 bytes of x a thread; 128 where SMEM has it."
    )
    registers: int | None = Field(
        None,
        description="A thread's at most, which decides how many CTAs share an SM. Default: what x and weights need, "
        "and what is then left of an SM.",
    )


class Tasks(SpecModel):
    reduce: ReduceTask = Field(ReduceTask(), description="Loads, reduces, exchanges sums and stores.")


class Cluster(SpecModel):
    n: Literal[1, 2, 4, 8] = Field(1, description="CTAs that share rows, each with its own columns.")


class Schedule(SpecModel):
    kind: Literal["grid", "staged"] = Field(
        "grid",
        description="Where x lies between its sums and y. A CTA has one tile, and several CTAs share an SM.",
        json_schema_extra=choices(
            grid="In registers. Choose it for rows of up to 16 KB, or that begin anywhere.",
            staged="In SMEM, by asynchronous copies; rows begin at multiples of 16 bytes. Choose it for clusters, "
            "which share long rows; for a CTA alone the compiler reads SMEM once, and keeps x in registers.",
        ),
    )
    pdl: bool = Field(
        False,
        description="Programmatic dependent launch: CTAs start while the kernel before in the stream still runs, and "
        "wait for its end before they touch memory.",
    )


class NormSpec(Norm):
    """y (M, N) = (x - mean) * rstd * weight + bias for each row of x; RMSNorm has no mean and no bias."""

    axes = AXES
    kernel: Literal["norm_fwd"] = Field(description="The kernel family.")
    tile: TileShape = Field(TileShape(), description="Extents of a tile.")
    tasks: Tasks = Field(Tasks(), description="Who does what.")
    cluster: Cluster = Field(Cluster(), description="CTAs that work together.")
    schedule: Schedule = Field(Schedule(), description="Where x is kept.")

    @property
    def staged(self) -> bool:
        return self.schedule.kind == "staged"

    @property
    def most(self) -> int:
        """The largest number of columns of x."""
        return self.tile.n * self.cluster.n

    @property
    def chunk(self) -> int:
        """Elements of 16 bytes, which a thread loads at a time."""
        return 16 // self.dtype.bytes

    @property
    def step(self) -> int:
        """The number that divides the columns of x, as asynchronous copies have whole chunks."""
        return self.chunk if self.staged else 1

    @property
    def stats(self) -> tuple[str, ...]:
        return super().stats * self.problem.stats

    @property
    def read(self) -> tuple[str, ...]:
        """The tensors whose sum is normalised."""
        return ("x",) + ("residual",) * self.problem.residual

    @property
    def written(self) -> dict[str, str]:
        """Kernel's name -> host's name of the tensors to which rows are written: y, and the sum."""
        return {"y": "out"} | ({"residual_out": "residual_out"} if self.problem.residual else {})

    @property
    def warps(self) -> int:
        held = self.tile.m * self.tile.n * self.dtype.bytes
        return self.tasks.reduce.warps or min(32, max(1, held // (4096 if self.staged else 2048)))

    @property
    def x_registers(self) -> int:
        """A thread's registers for x in fp32, unless SMEM has it."""
        return 0 if self.staged else self.tile.m * self.tile.n // (32 * self.warps)

    @property
    def held(self) -> int:
        """A thread's registers for x and for weights as they are, which it has at a time."""
        return self.x_registers + sum(of.bytes for of in self.vectors.values()) * self.tile.n // (128 * self.warps)

    @property
    def registers(self) -> int:
        """Registers a thread: what it needs without spills, or more if as many CTAs share an SM."""
        beside = FROM_SMEM + WORKING if self.staged else WORKING * (1 + (self.cluster.n > 1))
        needed = max(self.held, WORKING + self.x_registers) + beside + WORKING * self.problem.residual
        ctas = max(1, Arch.registers // (32 * self.warps * (-(-needed // 8) * 8)))
        return self.tasks.reduce.registers or min(248, Arch.registers // (32 * self.warps * ctas) // 8 * 8)
