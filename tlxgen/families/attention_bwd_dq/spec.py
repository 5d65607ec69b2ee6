"""What an attention_bwd_dq spec may say: the parameter model, with every default that a good engineer would choose."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tlxgen.families import kit
from tlxgen.families.attention_bwd.spec import SoftmaxBackwardSpec, StepRing, Tasks, faults_of
from tlxgen.families.kit import meanings
from tlxgen.spec import Fault, SpecModel


class TileShape(SpecModel):
    m: int = Field(128, ge=64, le=256, description="Queries a CTA, 64 a consumer. Rows.")
    n: int = Field(128, ge=32, le=256, description="Keys of a step. Rows.")


class Rings(SpecModel):
    kv: StepRing = Field(StepRing(), description="Tiles of K and of V.")
    empty: Literal["warp", "leader"] = Field(
        "warp",
        description="How a slot is released: one arrival a thread, or one a task after a task-wide sync.",
        json_schema_extra=meanings.EMPTY,
    )


class AttentionBwdDqSpec(SoftmaxBackwardSpec):
    """dQ of O = softmax(scale Q K^T) V, each sum over keys in order."""

    in_source = frozenset({"softmax.expression"})

    kernel: Literal["attention_bwd_dq"] = Field(description="The kernel family.")
    tile: TileShape = Field(TileShape(), description="Extents of a tile.")
    tasks: Tasks = Field(Tasks(), description="Who does what.")
    rings: Rings = Field(Rings(), description="Multi-buffered tiles between tasks.")

    @property
    def gradients(self) -> tuple[str, ...]:
        return ("dq",)

    def faults(self) -> list[Fault]:
        extents = kit.faults.powers_of_two(self, ("tile.n",), "a tile of keys")
        return [*faults_of(self, self.tasks.mma.registers), *extents]
