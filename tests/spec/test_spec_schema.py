"""The JSON Schema accepts good specs, marks bad ones, and is the same every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
from jsonschema import Draft202012Validator
from spec_demo import HEAD, DemoSpec, write

from tlxgen.spec import CommonSpec, SpecModel, axis_paths, json_schema, load, read


class Tile(SpecModel):
    rows: int = 1


class OtherSpec(CommonSpec):
    kernel: Literal["other"]
    tile: Tile = Tile()


SCHEMA = json_schema({"other": OtherSpec, "demo": DemoSpec})
VALIDATOR = Draft202012Validator(SCHEMA)
PARENT = "kernel: demo\nname: k\n"


def valid(folder: Path, text: str) -> bool:
    return bool(VALIDATOR.is_valid(read(write(folder, text)).data))


def test_is_a_schema_in_a_fixed_order() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert json.dumps(SCHEMA) == json.dumps(json_schema({"demo": DemoSpec, "other": OtherSpec}))
    tile = SCHEMA["$defs"]["DemoSpec"]["properties"]["tile"]
    assert tile["description"] == "Tile of one CTA."


@pytest.mark.parametrize(
    "text",
    [
        HEAD,
        HEAD + "schedule: {kind: persistent, group_m: 3}\nops: [bias]\nguards: {A: keep, B: true}\nbias: {axis: m}\n",
        HEAD + "variants:\n  axes: {tile.n: [1, 2], rings.c.stages: [1], ops: [[bias]], guards.X: [keep, false]}\n",
        HEAD + "variants:\n  axes: {tasks.load.stages: [1], schedule.group_m: [1], bias: [~, full]}\n  require: [a]\n",
        "kernel: other\nname: k\narch: sm100\ntile: {rows: 3}\nvariants: {axes: {tile.rows: [3]}}\n",
        "extends: x.yaml\ntile: {m: 32}\n",
        "extends: x.yaml\nkernel: demo\nproblem: {a: {layout: col}}\nops:\ntile: {m: ~}\n",
    ],
)
def test_accepts(text: str, tmp_path: Path) -> None:
    assert valid(tmp_path, text), [error.message for error in VALIDATOR.iter_errors(read(tmp_path / "s.yaml").data)]


@pytest.mark.parametrize(
    "text",
    [
        PARENT,
        "name: k\n",
        HEAD.replace("demo", "dema"),
        HEAD + "tiel: {}\n",
        HEAD + "tile: {mm: 3}\n",
        HEAD + "tile: {m: ~}\n",
        HEAD + "schedule: {kind: grid, group_m: 3}\n",
        HEAD + "guards: {a: true}\n",
        HEAD + "variants: {axes: {tile.n: [x]}}\n",
        HEAD + "variants: {axes: {tile.n: 3}}\n",
        HEAD + "variants: {axes: {tile.q: [3]}}\n",
        HEAD + "variants: {axes: {name: [a]}}\n",
        HEAD + "variants: {axes: {tile.n: [3, 3]}}\n",
        "kernel: other\nname: k\narch: sm100\nvariants: {axes: {tile.m: [3]}}\n",
        "extends: x.yaml\ntile: {m: x}\n",
        "extends: x.yaml\ntilee: {}\n",
        "extends: 3\nkernel: demo\n",
    ],
)
def test_refuses(text: str, tmp_path: Path) -> None:
    assert not valid(tmp_path, text)


def test_every_axis_has_a_schema() -> None:
    axes = SCHEMA["$defs"]["DemoSpec_variants"]["properties"]["axes"]
    patterns = {pattern.strip("^$").replace("\\.", ".").replace("[^.]+", "*") for pattern in axes["patternProperties"]}
    assert set(axes["properties"]) | patterns == set(axis_paths(DemoSpec))


def test_merged_spec_is_held_against_the_model_not_the_schema(tmp_path: Path) -> None:
    write(tmp_path, HEAD, "p.yaml")
    assert load(write(tmp_path, "extends: p.yaml\n")).data["kernel"] == "demo"
