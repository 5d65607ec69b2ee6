"""Axes -> points: order, rejections, and the faults of axes and conditions at their places."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from spec_demo import HEAD, DemoSpec, at, write

from tlxgen.errors import SpecError, SpecErrors
from tlxgen.spec import Expansion, expand, load, variants


def points(folder: Path, text: str, head: str = HEAD) -> Expansion:
    return expand(load(write(folder, head + text)), DemoSpec)


def faults(folder: Path, text: str, head: str = HEAD) -> list[SpecError]:
    with pytest.raises(SpecErrors) as caught:
        points(folder, text, head)
    return caught.value.errors


def test_no_axes_is_one_point(tmp_path: Path) -> None:
    expansion = points(tmp_path, "tile: {m: 64}\n")
    assert [point.values for point in expansion.points] == [{}]
    assert isinstance(expansion.accepted[0].spec, DemoSpec)


def test_order_values_and_reasons(tmp_path: Path) -> None:
    text = (
        "tile: {m: 512, n: 512}\n"  # illegal, but the axes cover it
        "variants:\n  axes: {tile.m: [128, 256], rings.c.stages: [2], tile.n: [256, 512, 16]}\n"
        "  require: ['tile.m * tile.n <= 128 * 256']\n  exclude: ['tile.n == 256 and rings.c.stages == 2']\n"
    )
    expansion = points(tmp_path, text)
    names = ("tile.m", "rings.c.stages", "tile.n")
    assert [tuple(point.values) for point in expansion.points] == [names] * 6
    product = list(itertools.product((128, 256), (2,), (256, 512, 16)))
    assert [tuple(point.values.values()) for point in expansion.points] == product
    assert [point.rejected for point in expansion.points] == [
        ("exclude: tile.n == 256 and rings.c.stages == 2 is true (tile.n = 256, rings.c.stages = 2)",),
        ("require: tile.m * tile.n <= 128 * 256 is false (tile.m = 128, tile.n = 512)",),
        ("tile.m 128 is over 4 x tile.n 16",),
        (
            "require: tile.m * tile.n <= 128 * 256 is false (tile.m = 256, tile.n = 256)",
            "exclude: tile.n == 256 and rings.c.stages == 2 is true (tile.n = 256, rings.c.stages = 2)",
        ),
        # A condition on the axes alone comes before the model: both 256 and 512 are known to be legal by themselves.
        ("require: tile.m * tile.n <= 128 * 256 is false (tile.m = 256, tile.n = 512)",),
        ("tile.m 256 is over 4 x tile.n 16",),
    ]
    assert all((point.spec is None) == bool(point.rejected) for point in expansion.points)
    assert not expansion.accepted


def test_axes_supply_required_keys_and_structures(tmp_path: Path) -> None:
    head = "kernel: demo\nname: k\narch: sm90\n"
    text = (
        "variants:\n  axes:\n    problem.a.dtype: [bf16, fp16]\n    ops: [[], [bias, relu]]\n"
        "    schedule: [{kind: grid}, {kind: persistent, group_m: 4}]\n    tasks.load.stages: [1]\n"
        "    guards.EPI: [keep, true]\n    bias: [~, full, {axis: m}]\n"
    )
    expansion = points(tmp_path, text, head)
    assert len(expansion.accepted) == 2 * 2 * 2 * 2 * 3
    assert len({repr(point.spec) for point in expansion.points}) == 48
    last = expansion.points[-1].spec
    assert isinstance(last, DemoSpec) and last.ops == ("bias", "relu") and last.tasks["load"].stages == 1


def test_illegal_base_is_an_error_without_axes(tmp_path: Path) -> None:
    assert [at(error) for error in faults(tmp_path, "tile: {m: 512, n: 512}\n")] == [(5, 8), (5, 16)]


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("axes: {tile.mm: [1]}", 10, "unknown axis 'tile.mm'; did you mean 'tile.m'?"),
        ("axes: {name: [a]}", 10, "unknown axis 'name'"),
        ("axes: {variants.axes: [a]}", 10, "unknown axis"),
        ("axes: {tile.m: [64, big]}", 23, "expected an integer, got the text 'big' (tile.m)"),
        ("axes: {tile.m: [64, true]}", 23, "expected an integer, got true"),
        ("axes: {tile: [{m: 64}, {mm: 1}]}", 27, "unknown key 'mm' in tile"),
        ("axes: {problem.a: [{layout: row}]}", 22, "missing key 'dtype' in problem.a"),
        ("axes: {tile: [{m: 64}], tile.m: [64]}", 27, "overlap"),
        ("axes: {tile.m: []}", 18, "at least 1 item"),
        ("axes: {tile.m: [64, 64]}", 23, "in the list already"),
        ("axes: {tile.m: 3}", 18, "expected a list"),
        ("axes: [1]", 9, "expected a mapping"),
        ("axis: {}", 3, "unknown key 'axis' in variants; did you mean 'axes'?"),
        ("require: [tile.m < tile.k]", 22, "unknown name 'tile.k'; did you mean"),
        ('require: ["tile.m < tile.k"]', 23, "unknown name 'tile.k'"),
        ("require: ['''a''']", 13, "gives 'a', which is neither"),
        ("exclude: ['1 +']", 17, "not an expression"),
        ("exclude: [open(3)]", 13, "the only calls"),
        ("require: [tile.m % 64]", 13, "gives 0, which is neither true nor false"),
        ("require: ['tile.m // 0 > 1']", 13, "by zero"),
        ("require: tile.m > 3", 12, "expected a list"),
        ("require: [3]", 13, "expected text"),
        ("axes: {bias.scale: [1.0]}", 10, "needs 'bias' to be a mapping"),
    ],
)
def test_faults_of_variants(text: str, column: int, words: str, tmp_path: Path) -> None:
    found = faults(tmp_path, f"bias: full\nvariants:\n  {text}\n")
    assert len(found) == 1, [error.message for error in found]
    assert words in found[0].message, found[0].message
    assert at(found[0]) == (7, column)


def test_wrong_axis_values_are_all_reported_once(tmp_path: Path) -> None:
    found = faults(tmp_path, "variants:\n  axes: {tile.m: [64, a, b], tile.n: [128, x, y]}\n")
    assert [at(error) for error in found] == [(6, 23), (6, 26), (6, 44), (6, 47)]


def test_faults_of_fields_axes_and_conditions_in_one_run(tmp_path: Path) -> None:
    found = faults(tmp_path, "tile: {m: x}\nvariants:\n  axes: {tile.q: [1]}\n  require: [tile.z > 1]\n")
    assert [at(error) for error in found] == [(5, 11), (7, 10), (8, 13)]


def test_wrong_values_of_axes_are_told_beside_wrong_fields(tmp_path: Path) -> None:
    text = "tile: {m: x}\nvariants:\n  axes: {tile.n: [64, a], tile.m: [64, b, -1], ops: [[], [bia]]}\n"
    found = faults(tmp_path, text)
    assert [at(error) for error in found] == [(5, 11), (7, 23), (7, 40), (7, 43), (7, 59)]
    assert "(tile.n)" in found[1].message and "did you mean 'bias'" in found[4].message


def test_a_combination_that_is_wrong_at_every_point_is_an_error_of_the_spec(tmp_path: Path) -> None:
    text = "tile: {m: 512, n: 512}\nvariants: {axes: {rings.ab.stages: [1, 2, 3, 4], ops: [[], [relu]]}}\n"
    found = faults(tmp_path, text)
    assert [(at(error), error.message) for error in found] == [
        ((5, 8), "tile.m 512 is too large"),
        ((5, 16), "tile.n 512 is too large"),
    ]


def test_a_combination_that_an_axis_brings_at_every_point_stands_at_its_value(tmp_path: Path) -> None:
    (error,) = faults(tmp_path, "variants: {axes: {tile.m: [600], rings.ab.stages: [1, 2]}}\n")
    assert (at(error), error.message) == ((5, 28), "tile.m 600 is over 4 x tile.n 128")


def test_a_combination_that_some_points_do_not_have_is_a_reason(tmp_path: Path) -> None:
    expansion = points(tmp_path, "variants: {axes: {tile.m: [512, 128], tile.n: [128, 64]}}\n")
    assert [point.rejected for point in expansion.points[1:]] == [("tile.m 512 is over 4 x tile.n 64",), (), ()]
    rejected = expansion.points[1]
    assert rejected.blamed == (("variants", "axes", "tile.m", 0),)


def test_a_wrong_value_is_told_of_although_a_condition_rejects_all_its_points(tmp_path: Path) -> None:
    text = "variants:\n  axes: {tile.m: [64, -1, 128], tile.n: [64, 128]}\n  require: ['tile.m > 0']\n"
    assert ["(tile.m)" in str(fault) for fault in faults(tmp_path, text)] == [True]


def test_too_many_points_are_counted_and_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "_Expander", None)
    values, more = ("[" + ", ".join(str(i) for i in range(16, end)) + "]" for end in (516, 5016))
    text = f"variants:\n  axes:\n    tile.m: {values}\n    tile.n: {values}\n    rings.ab.stages: {more}\n"
    found = faults(tmp_path, text)
    assert [at(error) for error in found] == [(6, 3)]
    assert "500 * 500 * 5000 = 1,250,000,000 points, more than 1,000,000,000" in found[0].message


def test_points_share_no_state(tmp_path: Path) -> None:
    document = load(write(tmp_path, HEAD + "rings: {ab: {stages: 9}}\nvariants: {axes: {rings.ab.stages: [1, 2]}}\n"))
    before = repr(document.data)
    first, second = (expand(document, DemoSpec).points for _ in range(2))
    assert first == second and repr(document.data) == before


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_points_are_the_product(tmp_path: Path, data: st.DataObject) -> None:
    names = data.draw(st.permutations(["tile.m", "tile.n", "rings.ab.stages", "rings.c.stages"]))
    values = st.lists(st.integers(16, 300), min_size=1, max_size=3, unique=True)
    axes = {name: data.draw(values) for name in names[: data.draw(st.integers(1, 4))]}
    limit = data.draw(st.integers(0, 300 * 300))
    text = f"variants:\n  axes: {axes}\n  require: [tile.m * tile.n <= {limit}]\n"
    try:
        expansion = points(tmp_path, text)
    except SpecErrors as told:  # what is wrong at every point is wrong with the spec
        chosen = [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]
        sizes = {(point.get("tile.m", 128), point.get("tile.n", 128)) for point in chosen}
        assert all(m > 4 * n or m * n > 256 * 256 for m, n in sizes) and told.errors
        return
    assert [tuple(point.values.values()) for point in expansion.points] == list(itertools.product(*axes.values()))
    for point in expansion.points:
        m, n = point.values.get("tile.m", 128), point.values.get("tile.n", 128)
        assert bool(point.rejected) == (m > 4 * n or m * n > 256 * 256 or m * n > limit)


def test_a_walk_stops_where_the_first_axes_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition that is broken by its first name leaves the values of its other axes unread."""
    axes = "tile.m: [16, 32, 48, 64], tile.n: [64, 80, 96, 112], rings.ab.stages: [1, 2, 3, 4], rings.c.stages: [1, 2]"
    require = "'[tile.m, tile.n, rings.ab.stages, rings.c.stages] in [[64, 96, 2, 1]]'"
    judged: list[object] = []
    verdict = variants._Early._verdict
    monkeypatch.setattr(variants._Early, "_verdict", lambda s, fixed: judged.append(fixed) or verdict(s, fixed))
    expansion = points(tmp_path, f"variants:\n  axes: {{{axes}}}\n  require: [{require}]\n")
    assert len(expansion.accepted) == 1 and sum(expansion.rules.values()) == len(expansion) - 1 == 4 * 4 * 4 * 2 - 1
    assert len(judged) < 60


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_rejections_are_counted_as_if_each_point_were_asked(tmp_path: Path, data: st.DataObject) -> None:
    """Also where a condition reads a default, and where a model refuses a point that a condition rejects."""
    stages = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True))
    sizes = st.lists(st.sampled_from([16, 64, 128, 256, 512]), min_size=1, max_size=4, unique=True)
    axes = {"tile.m": data.draw(sizes), "rings.ab.stages": stages, "tile.n": data.draw(sizes)}
    limit, most = data.draw(st.integers(1, 10)), data.draw(st.integers(0, 512 * 512))
    conditions = f"require: [tile.m * tile.n <= {most}, rings.ab.stages < {limit}, rings.ab.stages != tile.m // 64]"
    text = f"variants:\n  axes: {axes}\n  {conditions}\n  exclude: [name == 'k' and tile.n == 64]\n"
    try:
        expansion = points(tmp_path, text)
    except SpecErrors:  # what is wrong at every point is wrong with the spec
        reject()
    counted = dict(expansion.rules)
    told = Counter(
        reason.split(" is ")[0] if ": " in reason else reason for p in expansion.points for reason in p.rejected
    )
    assert counted == told
    assert (
        len(expansion)
        == len(expansion.points)
        == len(expansion.accepted) + sum(bool(p.rejected) for p in expansion.points)
    )


def test_a_large_product_is_not_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of half a million points 20 are left: specs are made of those, and of one for each value that an axis has."""
    rows, columns, stages = (list(range(first, last)) for first, last in ((16, 201), (64, 201), (1, 21)))
    axes = f"{{tile.m: {rows}, tile.n: {columns}, rings.ab.stages: {stages}}}"
    text = f"variants:\n  axes: {axes}\n  require: [tile.m == 64, tile.n == tile.m]\n"
    made: list[object] = []
    collect, reason = variants.collect, variants._Condition.reason
    monkeypatch.setattr(variants, "collect", lambda *given: made.append(given) or collect(*given))
    judged: list[object] = []
    monkeypatch.setattr(variants._Condition, "reason", lambda *given: judged.append(given) or reason(*given))
    expansion = points(tmp_path, text)
    assert (len(expansion), len(expansion.accepted)) == (185 * 137 * 20, 20)
    assert len(made) <= 185 + 137 + 20 + 20 + 1
    rules = {"require: tile.m == 64": 184 * 137 * 20, "require: tile.n == tile.m": (185 * 137 - 137) * 20}
    assert expansion.rules == rules
    assert len(judged) < 2 * 185 * 137 + 2000, "a condition is judged once for the values that it reads"


def test_speed(tmp_path: Path) -> None:
    text = (
        "variants:\n  axes:\n    tile.m: [16, 32, 64, 128, 256]\n    tile.n: [16, 32, 64, 128, 256]\n"
        f"    rings.ab.stages: {list(range(1, 11))}\n    rings.c.stages: [1, 2, 3, 4]\n"
        "  require: [tile.m * tile.n <= 128 * 256, is_pow2(tile.m)]\n  exclude: [tile.m * rings.ab.stages > 2000]\n"
    )
    document = load(write(tmp_path, HEAD + text))
    spent = []
    for _ in range(3):  # CPU time, and the best of three: what else runs on the machine is not this function's fault
        started = time.process_time()
        assert len(expand(document, DemoSpec).points) == 1000
        spent.append(time.process_time() - started)
    assert min(spent) < 0.35
