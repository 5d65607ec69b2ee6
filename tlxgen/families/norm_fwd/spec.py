"""What a norm_fwd spec may say, and which of it only changes constants and launches."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tlxgen.arch import DTYPES, Arch, DType
from tlxgen.families.kit import Axis, faults
from tlxgen.spec import CommonSpec, Fault, SpecModel

AXES = (
    Axis("tile.m", "BLOCK_M", "rows of a tile"),
    Axis("tile.n", "BLOCK_N", "columns of a CTA's tile", blame=("registers", "smem")),
    Axis("cluster.n", "CLUSTER", "CTAs of a cluster, which share rows", default=1),
    Axis("tasks.reduce.warps", option="num_warps", blame=("threads",)),
    Axis("tasks.reduce.registers", option="maxnreg"),
)


class Problem(SpecModel):
    norm: Literal["layer", "rms"] = Field("layer", description="layer: (x - mean) * rstd; rms: x * rstd.")
    dtype: Literal["bf16", "fp16", "fp32"] = Field("bf16", description="Element type of x and y.")
    weight: Literal["same", "fp32", "none"] = Field("same", description="Type of weight and bias: x's, or fp32.")
    bias: bool = Field(False, description="Whether there is a bias: in a layer norm, beside a weight.")
    stats: bool = Field(False, description="Whether rstd, and mean in a layer norm, are results, in fp32.")


class TileShape(SpecModel):
    m: int = Field(1, ge=1, le=256, description="Rows of a tile.")
    n: int = Field(8192, ge=16, le=65536, description="Columns of a CTA's tile: times cluster.n at least those of x.")


class ReduceTask(SpecModel):
    warps: Literal[1, 2, 4, 8, 16, 32, None] = Field(None, description="Default: so that a thread has 64 bytes of x.")
    registers: int | None = Field(
        None, description="A thread's at most. CTAs that share an SM follow. Default: for 1024 threads or fewer."
    )


class Tasks(SpecModel):
    reduce: ReduceTask = Field(ReduceTask(), description="Loads, reduces, exchanges sums and stores.")


class Cluster(SpecModel):
    n: Literal[1, 2, 4, 8] = Field(1, description="CTAs that share rows, each with its own columns.")


class Schedule(SpecModel):
    kind: Literal["grid", "persistent"] = Field(
        "grid", description="grid: a tile a CTA. persistent: the next tile is loaded before this one is reduced."
    )


class NormSpec(CommonSpec):
    """y (M, N) = (x - mean) * rstd * weight + bias for each row of x; RMSNorm has no mean and no bias."""

    kernel: Literal["norm_fwd"] = Field(description="The kernel family.")
    problem: Problem = Field(Problem(), description="What is computed.")
    tile: TileShape = Field(TileShape(), description="Extents of a tile.")
    tasks: Tasks = Field(Tasks(), description="Who does what.")
    cluster: Cluster = Field(Cluster(), description="CTAs that work together.")
    schedule: Schedule = Field(Schedule(), description="Which CTA has which tiles.")

    @property
    def dtype(self) -> DType:
        return DTYPES[self.problem.dtype]

    @property
    def vectors(self) -> dict[str, DType]:
        """Weight and bias, if there are any."""
        names = ("weight",) * (self.problem.weight != "none") + ("bias",) * self.problem.bias
        return dict.fromkeys(names, DTYPES["fp32"] if self.problem.weight == "fp32" else self.dtype)

    @property
    def stats(self) -> tuple[str, ...]:
        return (("mean",) * (self.problem.norm == "layer") + ("rstd",)) * self.problem.stats

    @property
    def warps(self) -> int:
        return self.tasks.reduce.warps or min(32, max(1, self.tile.m * self.tile.n * self.dtype.bytes // 2048))

    @property
    def registers(self) -> int:
        """A thread's: fewer threads an SM where the next tile, or weights in fp32, lie beside x."""
        beside = (self.schedule.kind == "persistent") + (self.problem.weight == "fp32" or self.arch == "sm100")
        ctas = max(1, (32 - 8 * beside) // self.warps)
        return self.tasks.reduce.registers or Arch.registers // (32 * self.warps * ctas) // 8 * 8

    def faults(self) -> list[Fault]:
        p = self.problem
        return [
            *faults.name(self),
            *faults.guards(self, AXES),
            *faults.registers({"tasks.reduce.registers": self.tasks.reduce.registers}),
            *faults.powers_of_two(self, ("tile.m", "tile.n"), "a tile extent"),
            *faults.where(
                ("problem.bias", p.bias and p.norm == "rms", "RMSNorm has no bias"),
                ("problem.bias", p.bias and p.weight == "none", "a bias has the type of a weight: there is none"),
            ),
        ]
