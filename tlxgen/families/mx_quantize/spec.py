"""The parameter model of mx_quantize, and the axes that only change constants and launches."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from tlxgen.arch import DTYPES, Arch, DType, Sm100
from tlxgen.families.kit import Axis, faults, meanings
from tlxgen.spec import CommonSpec, Fault, SpecModel, choices

BLOCK = Sm100.mx_block  # elements that share a scale
UNIT = Sm100.mx_rows  # rows, and elements along them, of 512 bytes of scales
AXES = (
    Axis("tile.m", "BLOCK_M", "rows of a tile", blame=("registers",)),
    Axis("tile.n", "BLOCK_N", "columns of a tile"),
    Axis("rings.x.stages", "STAGES", "tiles of x in SMEM", blame=("smem",), has=lambda spec: spec.persistent),
    Axis("tasks.quantize.warps", option="num_warps", blame=("threads",)),
    Axis("tasks.quantize.registers", option="maxnreg"),
)


class Problem(SpecModel):
    """Each block of 32 elements of x (M, N) becomes e4m3 numbers times one power of two."""

    dtype: Literal["bf16", "fp16", "fp32"] = Field(
        "bf16",
        description="Element type of x.",
        json_schema_extra=meanings.of(
            meanings.DTYPE, "bf16", "fp16", fp32="32 bits, of which 4 are kept beside the sign."
        ),
    )
    along: Literal["rows", "columns", "both"] = Field(
        "both",
        description="Along what blocks lie: the dimension that a product contracts.",
        json_schema_extra=choices(
            rows="32 neighbours of a row: for products that contract N.",
            columns="32 neighbours of a column: for products that contract M.",
            both="Both, from one read of x: for training, whose backward contracts the other dimension.",
        ),
    )
    columns: Literal["transposed", "same"] = Field(
        "transposed",
        description="How what is quantised along columns lies in memory. Its scales are those of x.T in either case.",
        json_schema_extra=choices(
            transposed="(N, M), blocks contiguous: an operand whose contracted dimension is the last, as of GEMMs.",
            same="(M, N), as x: V of attention, which is read by rows of keys.",
        ),
    )
    scale: Literal["floor", "rceil"] = Field(
        "floor",
        description="Which power of two a block is divided by, of its largest magnitude.",
        json_schema_extra=choices(
            floor="That of the magnitude, less 8: OCP MX v1.0, 6.3. Elements above 448 / 512 of the next one saturate.",
            rceil="The least that keeps all below 448: NVIDIA's, nothing saturates, half of the blocks lose a bit.",
        ),
    )


class TileShape(SpecModel):
    m: Literal[32, 64, 128] = Field(64, description="Rows of a tile: fewer let more CTAs share an SM.")
    n: Literal[128, 256, 512] = Field(128, description="Columns of a tile: scales come in blocks of 128.")


class QuantizeTask(SpecModel):
    warps: Literal[1, 2, 4, 8, 16] = Field(
        4, description="Few, so that several CTAs share an SM, and one loads while another stores."
    )
    registers: int | None = Field(
        None,
        description="A thread's at most: how many CTAs share an SM follows. Default: the compiler's choice, and for "
        "persistent CTAs what lets two share an SM, where its SMEM has room for their tiles.",
    )


class Tasks(SpecModel):
    quantize: QuantizeTask = Field(QuantizeTask(), description="Loads, finds scales, divides, rounds and stores.")


class X(SpecModel):
    stages: int = Field(2, ge=1, le=8, description="Tiles that a persistent CTA has room for: one less is on its way.")


class Rings(SpecModel):
    x: X = Field(X(), description="Tiles of x, which TMA brings.")


class Schedule(SpecModel):
    kind: Literal["grid", "persistent"] = Field(
        "grid",
        description="Which CTA has which tiles.",
        json_schema_extra=choices(
            grid="A CTA has one tile, in registers. Choose it for blocks along rows alone, for results of the shape of "
            "x, and where rows begin anywhere.",
            persistent="CTAs walk over tiles, which TMA brings to SMEM ahead; rows begin at multiples of 16 bytes. "
            "Choose it for large x where x.T is stored: a tile has 128 rows, so that columns leave by whole lines.",
        ),
    )


class QuantizeSpec(CommonSpec):
    """e4m3 numbers and e8m0 scales of x (M, N), scales in the blocks of 128 x 4 that tcgen05 and cuBLAS take."""

    kernel: Literal["mx_quantize"] = Field(description="The kernel family.")
    problem: Problem = Field(Problem(), description="What is computed.")
    tile: TileShape = Field(TileShape(), description="Extents of a tile.")
    tasks: Tasks = Field(Tasks(), description="Who does what.")
    rings: Rings = Field(Rings(), description="Multi-buffered tiles.")
    schedule: Schedule = Field(Schedule(), description="Which CTA has which tiles.")

    # Of persistent CTAs beside those of one tile, fitted to times of an H200 (docs/measurements.md): clocks until the
    # first tile is there, and how much faster a tile then is.
    begin: ClassVar[int] = 400
    faster: ClassVar[float] = 1.05

    @property
    def persistent(self) -> bool:
        return self.schedule.kind == "persistent"

    @property
    def registers(self) -> int | None:
        """Registers a thread, at most: of persistent CTAs, so that as many share an SM as have room in its SMEM, two at
        most; None for the compiler's choice.
        """
        tiles = self.tile.m * self.tile.n * (self.rings.x.stages * self.dtype.bytes + 1)  # and one of results
        sharing = 2 if 2 * tiles <= Arch.smem_bytes else 1
        least = min(248, Arch.registers // (sharing * 32 * self.tasks.quantize.warps) // 8 * 8)
        return self.tasks.quantize.registers or (least if self.persistent else None)

    @property
    def ctas(self) -> int:
        """The number of CTAs that share an SM, by the registers asked for."""
        return Arch.registers // (32 * self.tasks.quantize.warps * self.registers) if self.registers else 1

    @property
    def dtype(self) -> DType:
        return DTYPES[self.problem.dtype]

    @property
    def by_rows(self) -> bool:
        return self.problem.along != "columns"

    @property
    def by_columns(self) -> bool:
        return self.problem.along != "rows"

    @property
    def transposed(self) -> bool:
        """Whether the result along columns is stored as x.T."""
        return self.by_columns and self.problem.columns == "transposed"

    @property
    def results(self) -> tuple[str, ...]:
        """The names of a call's results, in order."""
        return ("rows", "row_scales") * self.by_rows + ("columns", "column_scales") * self.by_columns

    @property
    def about(self) -> dict[str, object]:
        """Facts about the host function."""
        return self.problem.model_dump()

    def faults(self) -> list[Fault]:
        asked = self.problem.columns == "same" and not self.by_columns
        lines, ring = self.persistent and not self.transposed, self.rings.x.stages != 2 and not self.persistent
        return [
            *faults.name(self),
            *faults.guards(self, AXES),
            *faults.registers({"tasks.quantize.registers": self.tasks.quantize.registers}),
            *faults.where(
                ("problem.columns", asked, "nothing is quantised along columns: problem.along is rows"),
                ("schedule.kind", lines, "a persistent CTA stores x.T: problem.along is rows, or problem.columns same"),
                ("tile.m", self.persistent and self.tile.m != UNIT, f"a tile of a persistent CTA has {UNIT} rows"),
                ("rings.x.stages", ring, "x goes to registers: schedule.kind is grid"),
            ),
        ]
