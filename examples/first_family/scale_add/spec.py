"""What a scale_add spec may say."""

from typing import Literal

from pydantic import Field

from tlxgen.families import kit
from tlxgen.spec import CommonSpec, Fault, SpecModel


class Problem(SpecModel):
    dtype: Literal["bf16", "fp16", "fp32"] = Field("bf16", description="Element type of A, B and C.")


class Tile(SpecModel):
    m: int = Field(64, ge=8, le=256, description="Rows of a tile.")
    n: int = Field(128, ge=16, le=256, description="Columns of a tile.")


class Rings(SpecModel):
    ab: int = Field(3, ge=1, le=16, description="Slots, each for a tile of A and one of B.")
    c: int = Field(2, ge=1, le=16, description="Buffers for tiles of C on their way out.")


class ScaleAddSpec(CommonSpec):
    """C = alpha A + B."""

    kernel: Literal["scale_add"] = Field(description="The kernel family.")
    problem: Problem = Field(Problem(), description="What is computed.")
    tile: Tile = Field(Tile(), description="Extents of a tile.")
    rings: Rings = Field(Rings(), description="Multi-buffered tiles between tasks.")

    def faults(self) -> list[Fault]:
        extents = kit.faults.powers_of_two(self, ("tile.m", "tile.n"), "an extent of a tile")
        return [*kit.faults.name(self), *kit.faults.guards(self), *extents]
