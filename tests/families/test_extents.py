"""Shapes: what their extents are called and how large they may be is declared once a family, and said everywhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tlxgen import families
from tlxgen.arguments import shapes_of
from tlxgen.errors import SpecErrors, TlxgenError
from tlxgen.families import Family
from tlxgen.families.kit.extents import INT32, form, meaning
from tlxgen.spec import load

ROOT = Path(__file__).parents[2]
GOOD = {name: families.load(name).shapes[0] for name in families.BUILT_IN}


def family(name: str) -> Family:
    return families.load(name)


@pytest.fixture(params=sorted(families.BUILT_IN))
def spec(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "k.yaml"
    path.write_text(f"kernel: {request.param}\nname: k\narch: sm90\n")
    return path


def kernel(spec: Path) -> str:
    return str(load(spec).data["kernel"])


@pytest.mark.parametrize("name", sorted(families.BUILT_IN))
def test_every_family_names_its_extents(name: str) -> None:
    assert len(family(name).extents) == len(GOOD[name])
    assert all(extent.name and extent.means for extent in family(name).extents)
    assert not any(family(name).wrong_shape(shape) for shape in family(name).shapes)


@pytest.mark.parametrize("name", sorted(families.BUILT_IN))
def test_they_are_in_the_docs_and_in_help(name: str) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "tlxgen", "tune", "--help"], capture_output=True, text=True, cwd=ROOT, check=True
    ).stdout
    assert form(family(name).extents) in (ROOT / "docs" / "specs.md").read_text()
    assert " ".join(meaning(family(name).extents).split()) in " ".join(told.split())


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda shape: shape[:-1], "a shape has {count} extents, {form}, and this has {less}"),
        (lambda shape: (*shape, 7), "a shape has {count} extents, {form}, and this has {more}"),
        (lambda shape: (INT32 + 1, *shape[1:]), "{first} is 1 to 2,147,483,647, not 2147483648"),
        (lambda shape: (0, *shape[1:]), "{first} is 1 to 2,147,483,647, not 0"),
    ],
)
def test_a_wrong_shape_is_told_by_the_names_of_its_extents(broken, words: str, spec: Path) -> None:  # type: ignore[no-untyped-def]
    extents = family(kernel(spec)).extents
    count = len(extents)
    expected = words.format(
        count=count, form=form(extents), less=count - 1, more=count + 1, first=f"{extents[0].name} ({extents[0].means})"
    )
    with pytest.raises(TlxgenError) as caught:
        shapes_of(["x".join(map(str, broken(GOOD[kernel(spec)])))], spec)
    assert expected in caught.value.message and meaning(extents) in caught.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ",",
        "1x",
        "x",
        "axb",
        "-1x2x3",
        "1.5x2x3",
        "1e3x2x3",
        "+4x4x4",
        "0x10x10x",
        "4*4*4",
        "²x2x2",
        "1x2x3;",
        "９x9x9",
    ],
)
def test_junk_is_no_shape(text: str, spec: Path) -> None:
    with pytest.raises(TlxgenError, match="is not a shape|no shape is given") as caught:
        shapes_of([text], spec)
    assert form(family(kernel(spec)).extents) in caught.value.remedy


@pytest.mark.parametrize("number", ["99999999999", "9" * 30, "9" * 5000])
def test_a_huge_number_is_refused_with_the_limit(number: str, spec: Path) -> None:
    with pytest.raises(TlxgenError, match=re.escape("2,147,483,647")) as caught:
        shapes_of(["x".join([number, *map(str, GOOD[kernel(spec)][1:])])], spec)
    assert len(caught.value.message) < 300


def test_leading_zeros_are_no_size(tmp_path: Path) -> None:
    spec = tmp_path / "k.yaml"
    spec.write_text("kernel: gemm\nname: k\narch: sm90\n")
    assert shapes_of(["000000000000064x64X64, 1x2x3"], spec) == [(64, 64, 64), (1, 2, 3)]


def test_columns_of_a_norm_have_a_limit_of_their_own() -> None:
    assert family("norm_fwd").wrong_shape((1, 262144)) == ""
    assert family("norm_fwd").wrong_shape((1, 262145)) == "N (columns) is 1 to 262,144, not 262145"


@pytest.mark.parametrize("name", [n for n in families.BUILT_IN if n.startswith("attention")])
def test_heads_of_q_are_a_multiple_of_those_of_k(name: str) -> None:
    assert family(name).wrong_shape((1, 8, 3, 128, 128)) == "8 heads of Q are not a multiple of 3 of K and V"


def test_check_shapes_are_held_against_the_family_at_their_place(spec: Path) -> None:
    good = list(GOOD[kernel(spec)])
    spec.write_text(
        f"{spec.read_text()}check:\n  shapes:\n    - {good}\n    - {[*good, 5]}\n    - {[INT32 + 1, *good[1:]]}\n"
    )
    with pytest.raises(SpecErrors) as caught:
        families.kernels_of(spec)
    told = [(e.location.line, e.message) for e in caught.value.errors if e.location]
    extents = family(kernel(spec)).extents
    assert [line for line, _ in sorted(told)] == [7, 8]
    assert f"a shape has {len(extents)} extents, {form(extents)}" in dict(told)[7]
    assert "2147483647" in dict(told)[8].replace(",", "")


def test_a_family_that_names_none_has_as_many_as_its_shapes() -> None:
    class Plain(Family):
        name = "plain"
        shapes = ((3, 4), (5, 6))

    assert Plain().wrong_shape((1, 2)) == ""
    assert Plain().wrong_shape((1, 2, 3)) == "a shape has 2 extents, x0 x x1, and this has 3"


def test_the_schema_says_where_they_are_named() -> None:
    schema = json.loads((ROOT / "docs" / "spec.schema.json").read_text())
    assert "tlxgen tune --help" in schema["$defs"]["Check"]["properties"]["shapes"]["description"]
