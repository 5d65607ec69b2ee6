"""extends: merging, the places of merged values, and its faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from spec_demo import HEAD, DemoSpec, at, write

from tlxgen.errors import SpecError, SpecErrors
from tlxgen.spec import load, validate


def test_merge_and_places(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    write(tmp_path / "base", "a: 1\nm: {x: 1, y: {z: 2}}\nl: [1, 2, 3]\ngone: 5\n", "grand.yaml")
    write(tmp_path / "base", "extends: grand.yaml\nm: {y: {w: 7}}\nn: 4\n", "parent.yaml")
    child = write(tmp_path, "extends: base/parent.yaml\nm:\n  x: 9\nl: [4]\ngone:\n", "child.yaml")
    document = load(child, root=tmp_path)
    assert document.data == {"a": 1, "m": {"x": 9, "y": {"z": 2, "w": 7}}, "l": [4], "n": 4}
    assert document.path == "child.yaml" and len(document.sources) == 3
    places = {
        ("a",): "base/grand.yaml:1:4",
        ("m", "x"): "child.yaml:3:6",
        ("m", "y", "w"): "base/parent.yaml:2:12",
        ("m", "y", "z"): "base/grand.yaml:2:18",
        ("l", 0): "child.yaml:4:5",
        ("l", 2): "child.yaml:4:1",  # absent since the child's list replaces: the list's key
        ("m", "nothing"): "child.yaml:2:1",
        ("n",): "base/parent.yaml:3:4",
    }
    assert {path: str(document.where(path)) for path in places} == places
    assert str(document.where(("m", "y", "z"), key=True)) == "base/grand.yaml:2:15"


def test_null_without_parent_stays(tmp_path: Path) -> None:
    write(tmp_path, "a: 1\n", "p.yaml")
    assert load(write(tmp_path, "extends: p.yaml\nb: ~\na:\n")).data == {"b": None}


def test_variants_are_replaced_whole(tmp_path: Path) -> None:
    write(tmp_path, "variants: {axes: {a: [1]}, require: [x]}\nl: 1\n", "p.yaml")
    document = load(write(tmp_path, "extends: p.yaml\nvariants: {axes: {b: [2]}}\n"), root=tmp_path)
    assert document.data == {"variants": {"axes": {"b": [2]}}, "l": 1}
    assert str(document.where(("variants", "axes", "b", 0))) == "s.yaml:2:23"


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("extends: none.yaml\n", 10, "cannot extend .*none.yaml: no such file"),
        ("extends: [a.yaml]\n", 10, "path of one file"),
        ("extends: ''\n", 10, "path of one file"),
        ("extends: s.yaml\n", 10, "goes in a circle"),
        ("extends: .\n", 10, "is a folder"),
        ('extends: "a\\0b"\n', 10, "null byte|no such file"),
    ],
)
def test_bad_extends(text: str, column: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=words) as caught:
        load(write(tmp_path, text))
    assert at(caught.value) == (1, column)


def test_circle_of_two(tmp_path: Path) -> None:
    write(tmp_path, "extends: s.yaml\n", "p.yaml")
    with pytest.raises(SpecError, match="circle") as caught:
        load(write(tmp_path, "a: 1\nextends: p.yaml\n"), root=tmp_path)
    assert str(caught.value.location) == "p.yaml:1:10"


def test_fault_in_a_parent_is_placed_there(tmp_path: Path) -> None:
    write(tmp_path, HEAD + "tile: {m: big}\n", "p.yaml")
    with pytest.raises(SpecErrors) as caught:
        validate(load(write(tmp_path, "extends: p.yaml\ntile: {q: 1}\n"), root=tmp_path), DemoSpec)
    assert [str(error.location) for error in caught.value.errors] == ["p.yaml:5:11", "s.yaml:2:8"]
