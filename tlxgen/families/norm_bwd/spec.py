"""The parameter model of norm_bwd, and the axes that only change constants and launches."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tlxgen.arch import Arch
from tlxgen.families.kit import Axis, faults
from tlxgen.families.norm_fwd.spec import Cluster, Norm, TileShape
from tlxgen.spec import SpecModel

AXES = (
    Axis("tile.m", "BLOCK_M", "rows of a tile"),
    Axis("tile.n", "BLOCK_N", "columns of a CTA's tile", blame=("registers", "smem")),
    Axis("tile.chunks", "CHUNKS", "tiles of columns that a CTA has of a row"),
    Axis("cluster.n", "CLUSTER", "CTAs of a cluster, which share rows", default=1),
    Axis("rings.rows.stages", "STAGES", "slots for tiles of x and dy; 0: loads straight to registers", default=0),
    Axis("tasks.reduce.sums", "SUMS", "whether sums for weight and bias are added up beside dx", default=1),
    Axis("tasks.reduce.again", "AGAIN", "whether x, dy and the weight are read again, for dx", default=0),
    Axis("tasks.reduce.warps", option="num_warps", blame=("threads",)),
    Axis("tasks.reduce.registers", option="maxnreg"),
)


class Tile(TileShape):
    chunks: int = Field(1, ge=1, le=64, description="Tiles of columns that a CTA has of a row, one after the other.")


class ReduceTask(SpecModel):
    warps: Literal[1, 2, 4, 8, 16, 32, None] = Field(
        None, description="Default: so that a thread has 16 elements, or 32 where rows are read again."
    )
    registers: int | None = Field(
        None, description="A thread's at most. CTAs that share an SM follow. Default: for 512 threads an SM."
    )
    sums: bool = Field(True, description="Whether the sums for weight and bias are added up beside dx, in registers.")
    again: bool = Field(False, description="Read x, dy and the weight again for dx; wide rows do not fit registers.")


class Tasks(SpecModel):
    reduce: ReduceTask = Field(ReduceTask(), description="Loads, reduces, exchanges sums and stores.")


class Rows(SpecModel):
    stages: int = Field(
        2,
        ge=0,
        le=8,
        description="Slots, filled by cp.async. 0: no slots, for rows that are not multiples of 16 bytes.",
    )


class Rings(SpecModel):
    rows: Rows = Field(Rows(), description="Tiles of x and dy on their way to registers.")


class Schedule(SpecModel):
    kind: Literal["persistent"] = Field("persistent", description="Clusters that walk over rows.")


class NormBwdSpec(Norm):
    """dx, dweight and dbias from dy, x, weight and the statistics that a norm_fwd kernel has found."""

    axes = AXES
    kernel: Literal["norm_bwd"] = Field(description="The kernel family.")
    tile: Tile = Field(Tile(), description="Extents of a tile.")
    tasks: Tasks = Field(Tasks(), description="Who does what.")
    rings: Rings = Field(Rings(), description="Multi-buffered tiles.")
    cluster: Cluster = Field(Cluster(), description="CTAs that work together.")
    schedule: Schedule = Field(Schedule(), description="Which CTA has which tiles.")

    @property
    def read(self) -> tuple[str, ...]:
        """The tensors whose rows are read. With a residual, the gradient of the normalised sum is added to dx."""
        return ("x", "dy") + ("dresidual_out",) * self.problem.residual

    @property
    def about(self) -> dict[str, object]:
        return {**super().about, "stats": True}

    @property
    def warps(self) -> int:
        each = 32 if self.tasks.reduce.again else 16
        return self.tasks.reduce.warps or min(32, max(1, self.tile.m * self.tile.n // (32 * each)))

    @property
    def registers(self) -> int:
        return self.tasks.reduce.registers or (64 if self.warps == 32 else 128)

    @property
    def columns(self) -> int:
        """The largest number of columns of a cluster."""
        return self.tile.n * self.tile.chunks * self.cluster.n

    @property
    def step(self) -> int:
        """The number that divides the columns of x, as asynchronous copies have chunks of 16 bytes."""
        return 16 // self.dtype.bytes if self.rings.rows.stages else 1

    @property
    def apart(self) -> bool:
        """Whether another kernel adds up columns, since this one has no registers for their sums."""
        return bool(self.vectors) and not self.tasks.reduce.sums

    @property
    def ctas(self) -> int:
        """The number of CTAs that share an SM."""
        return Arch.registers // (32 * self.warps * self.registers)

    def wrong(self) -> tuple[faults.Rule, ...]:
        task, stats = self.tasks.reduce, self.problem.stats
        held = not task.again or task.sums or self.rings.rows.stages
        return (
            ("problem.stats", stats, "the statistics are the forward's results: here they are always arguments"),
            ("tile.chunks", self.tile.chunks > 1 and held, "chunks are read from memory, and again, for dx alone"),
        )
