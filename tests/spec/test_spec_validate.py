"""Faults of a spec: their messages and places."""

from __future__ import annotations

from pathlib import Path

import pytest
from spec_demo import HEAD, Bias, DemoSpec, Tile, at, faults, parse

from tlxgen.spec import paths


def test_good_spec(tmp_path: Path) -> None:
    text = (
        HEAD + "ops: [bias, relu]\nguards: {EPI: keep, X: true}\ncheck: {shapes: [[1, 2]], rtol: 1}\nbias: {scale: 2}\n"
    )
    spec = parse(tmp_path, text + "variants:\n  axes: {tile.m: [64, 128]}\n")
    assert (spec.ops, spec.guards, spec.check.shapes) == (("bias", "relu"), {"EPI": "keep", "X": True}, ((1, 2),))
    assert (spec.check.rtol, spec.bias, spec.variants.axes) == (1.0, Bias(scale=2.0), {"tile.m": (64, 128)})
    assert spec.check.repeats == 20


ONE = {
    "unknown key": ("tile: {mm: 1}", 5, 8, "unknown key 'mm' in tile; did you mean 'm'?"),
    "unknown key, no near one": ("tile: {qqq: 1}", 5, 8, "unknown key 'qqq' in tile; valid keys: m, n"),
    "unknown nested key": (
        "rings:\n  ab:\n    stagse: 1",
        7,
        5,
        "unknown key 'stagse' in rings.ab; did you mean 'stages'?",
    ),
    "unknown top key": ("tiel: {}", 5, 1, "unknown key 'tiel'; did you mean 'tile'?"),
    "unknown key of a free mapping's item": (
        "tasks: {x: {stage: 1}}",
        5,
        13,
        "unknown key 'stage' in tasks.x; did you mean",
    ),
    "text for integer": ("tile: {m: '3'}", 5, 11, "expected an integer, got the text '3'"),
    "bool for integer": ("tile: {m: true}", 5, 11, "expected an integer, got true"),
    "float for integer": ("tile: {m: 1.5}", 5, 11, "expected an integer, got the number 1.5"),
    "null for mapping": ("tile:", 5, 1, "expected a mapping, got null"),
    "list for mapping": ("tile: [1]", 5, 7, "expected a mapping, got a list"),
    "text for list": ("ops: relu", 5, 6, "expected a list, got the text 'relu'"),
    "infinite": ("check: {rtol: .inf}", 5, 15, "expected a finite number or 'auto', got the number inf"),
    "bound": ("tile: {m: 3}", 5, 11, "expected a number of at least 16, got the integer 3"),
    "literal in list": (
        "ops: [bias, rleu]",
        5,
        13,
        "expected 'bias', 'relu' or 'gelu', got the text 'rleu'; did you mean 'relu'?",
    ),
    "discriminator": ("schedule: {kind: persistant}", 5, 18, "did you mean 'persistent'?"),
    "no discriminator": ("schedule: {group_m: 3}", 5, 1, "missing key 'kind' in schedule"),
    "key of another member": ("schedule: {kind: grid, group_m: 3}", 5, 24, "unknown key 'group_m' in schedule"),
    "union of scalars": (
        "guards: {A: kep}",
        5,
        13,
        "expected true or false or 'keep', got the text 'kep'; did you mean 'keep'?",
    ),
    "union with a model, inside": ("bias: {axis: k}", 5, 14, "expected 'm' or 'n', got the text 'k'"),
    "union with a model, beside": ("bias: 3", 5, 7, "expected 'none' or 'full' or a mapping, got the integer 3"),
    "guard name": ("guards: {a-b: true}", 5, 10, "the key 'a-b' must match ^[A-Z]"),
    "empty axis": ("variants: {axes: {tile.m: []}}", 5, 27, "expected at least 1 item, got a list"),
    "repeated axis value": ("variants: {axes: {tile.m: [1, 2, 1.0]}}", 5, 34, "in the list already"),
    "shape": ("check: {shapes: [[1, 0]]}", 5, 22, "at least 1, got the integer 0"),
    "cross fault in a model": ("tile: {n: 16, m: 128}", 5, 15, "tile.m 128 is over 4 x tile.n 16"),
}


@pytest.mark.parametrize("case", ONE)
def test_one_fault(case: str, tmp_path: Path) -> None:
    text, line, column, words = ONE[case]
    found = faults(tmp_path, HEAD + text + "\n")
    assert len(found) == 1, [error.message for error in found]
    assert words in found[0].message and "Value error" not in found[0].message
    assert at(found[0]) == (line, column)


@pytest.mark.parametrize(
    ("head", "line", "column", "words"),
    [
        ("kernel: demo\nname: k\narch: sm90\nproblem:\n  a: {layout: row}\n", 5, 3, "missing key 'dtype' in problem.a"),
        ("# c\nkernel: demo\nname: k\narch: sm90\n", 2, 1, "missing key 'problem'"),
        (HEAD.replace("sm90", "sm9O"), 3, 7, "expected 'sm90' or 'sm100', got the text 'sm9O'; did you mean 'sm90'?"),
        (HEAD.replace("name: k", "name: class"), 2, 7, "'class' is a Python keyword"),
        (HEAD.replace("name: k", "name: match"), 2, 7, "'match' is a Python keyword"),
        (HEAD.replace("name: k", "name: Gemm"), 2, 7, "expected text that matches ^[a-z]"),
        (HEAD.replace("name: k", "name: " + "k" * 61), 2, 7, "at most 60 characters"),
        (HEAD.replace("name: k", "name: 3"), 2, 7, "expected text, got the integer 3"),
    ],
)
def test_heads(head: str, line: int, column: int, words: str, tmp_path: Path) -> None:
    found = faults(tmp_path, head)
    assert [at(error) for error in found] == [(line, column)]
    assert words in found[0].message


def test_all_faults_in_one_run_in_line_order(tmp_path: Path) -> None:
    text = HEAD.replace("name: k", "name: K") + "rings: {ab: {stages: x}, z: 1}\nops: [1]\ntile: {m: 64, n: 1}\n"
    assert [at(error) for error in faults(tmp_path, text)] == [(2, 7), (5, 22), (5, 26), (6, 7), (7, 8)]


def test_spec_fault_of_the_whole_points_at_both_keys(tmp_path: Path) -> None:
    found = faults(tmp_path, HEAD + "tile:\n  m: 512\n  n: 512\n")
    assert [(at(error), error.message) for error in found] == [
        ((6, 3), "tile.m 512 is too large"),
        ((7, 3), "tile.n 512 is too large"),
    ]


def test_faults_of_an_absent_key_fall_back_to_its_parent(tmp_path: Path) -> None:
    found = faults(tmp_path, HEAD + "tile: {n: 16}\n")
    assert [at(error) for error in found] == [(5, 1)]


def test_models_take_lists_and_tuples_alike() -> None:
    common = {"kernel": "demo", "name": "k", "arch": "sm90", "problem": {"a": {"dtype": "bf16"}}}
    assert DemoSpec.model_validate(common | {"ops": ["bias"]}) == DemoSpec.model_validate(common | {"ops": ("bias",)})
    assert Tile(m=64).m == 64


def test_paths() -> None:
    found = paths(DemoSpec)
    assert found["tile.m"] is int and found["tasks.*.stages"] is int
    assert {"rings.c.stages", "schedule.kind", "schedule.group_m", "bias.scale", "guards.*", "problem.a.dtype"} <= set(
        found
    )
    assert "ops.*" not in found
