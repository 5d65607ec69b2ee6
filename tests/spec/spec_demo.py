"""A small family for the tests: nested models, tuples, literals, unions and faults that span keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field, model_validator

from tlxgen.errors import SpecError, SpecErrors
from tlxgen.spec import CommonSpec, SpecFault, SpecModel, load, validate


class Tile(SpecModel):
    m: int = Field(default=128, ge=16, description="Rows, in elements.")
    n: int = Field(default=128, description="Columns, in elements.")

    @model_validator(mode="after")
    def _square(self) -> Tile:
        if self.m > 4 * self.n:
            raise SpecFault((("m",), f"tile.m {self.m} is over 4 x tile.n {self.n}"))
        return self


class Tensor(SpecModel):
    dtype: Literal["bf16", "fp16", "fp32"] = Field(description="Element type.")
    layout: Literal["row", "col"] = "row"


class Problem(SpecModel):
    a: Tensor
    b: Tensor = Tensor(dtype="bf16")


class Ring(SpecModel):
    stages: int = 4


class Rings(SpecModel):
    ab: Ring = Ring()
    c: Ring | None = None


class Plain(SpecModel):
    kind: Literal["grid"]


class Persistent(SpecModel):
    kind: Literal["persistent"]
    group_m: int = 8


class Bias(SpecModel):
    axis: Literal["m", "n"] = "n"
    scale: float = 1.0


class DemoSpec(CommonSpec):
    kernel: Literal["demo"]
    problem: Problem
    tile: Tile = Field(default=Tile(), description="Tile of one CTA.")
    rings: Rings = Rings()
    schedule: Annotated[Plain | Persistent, Field(discriminator="kind")] = Plain(kind="grid")
    ops: tuple[Literal["bias", "relu", "gelu"], ...] = ()
    bias: Literal["none", "full"] | Bias | None = None
    tasks: dict[str, Ring] = Field(default={})

    @model_validator(mode="after")
    def _fits(self) -> DemoSpec:
        if self.tile.m * self.tile.n > 256 * 256:
            raise SpecFault(
                (("tile", "m"), f"tile.m {self.tile.m} is too large"),
                (("tile", "n"), f"tile.n {self.tile.n} is too large"),
            )
        return self


HEAD = "kernel: demo\nname: k\narch: sm90\nproblem: {a: {dtype: bf16}}\n"  # lines 1 to 4


def write(folder: Path, text: str | bytes, name: str = "s.yaml") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def parse(folder: Path, text: str) -> DemoSpec:
    return validate(load(write(folder, text)), DemoSpec)


def faults(folder: Path, text: str) -> list[SpecError]:
    with pytest.raises(SpecErrors) as caught:
        parse(folder, text)
    return caught.value.errors


def at(error: SpecError) -> tuple[int, int]:
    assert error.location is not None
    return error.location.line, error.location.column
