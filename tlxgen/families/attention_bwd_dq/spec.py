"""What an attention_bwd_dq spec may say: the parameter model, with every default that a good engineer would choose."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from tlxgen.families.attention_bwd.spec import BackwardSpec, StepRing, Tasks, faults_of
from tlxgen.spec import SpecFault, SpecModel


class TileShape(SpecModel):
    m: int = Field(128, ge=64, le=256, description="Queries a CTA, 64 a consumer. Rows.")
    n: int = Field(128, ge=32, le=256, description="Keys of a step. Rows.")


class Rings(SpecModel):
    kv: StepRing = Field(StepRing(), description="Tiles of K and of V.")
    empty: Literal["warp", "leader"] = Field(
        "warp", description="How a slot is released: one arrival a thread, or one a task after a task-wide sync."
    )


class AttentionBwdDqSpec(BackwardSpec):
    """dQ of O = softmax(scale Q K^T) V, each sum over keys in order."""

    kernel: Literal["attention_bwd_dq"] = Field(description="The kernel family.")
    tile: TileShape = Field(TileShape(), description="Extents of a tile.")
    tasks: Tasks = Field(Tasks(), description="Who does what.")
    rings: Rings = Field(Rings(), description="Multi-buffered tiles between tasks.")

    @property
    def gradients(self) -> tuple[str, ...]:
        return ("dq",)

    @model_validator(mode="after")
    def _combinations(self) -> AttentionBwdDqSpec:
        faults = faults_of(self, self.tasks.mma.registers)
        if self.tile.n & (self.tile.n - 1):
            faults.append((("tile", "n"), f"a tile of keys is a power of two, not {self.tile.n}"))
        if faults:
            raise SpecFault(*faults)
        return self
