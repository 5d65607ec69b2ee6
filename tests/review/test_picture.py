"""`tlxgen show --svg`: what a picture has of a plan, and that nothing in it lies over something else."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tlxgen.errors import ToolchainError
from tlxgen.families import kernels_of
from tlxgen.plan import Plan
from tlxgen.review import plans
from tlxgen.review.picture import draw, lanes, maps
from tlxgen.review.picture.canvas import BOLD, MONO, SANS
from tlxgen.review.show import print_plans

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
# One of each family and of each way of handing out work, on both architectures.
SPECS = [
    "hopper_gemm",
    "hopper_gemm_cluster_k",
    "hopper_gemm_helped",
    "hopper_gemm_split_k",
    "hopper_gemm_store_task",
    "hopper_attention_fwd",
    "hopper_attention_bwd",
    "hopper_attention_bwd_dq",
    "hopper_rms_norm",
    "hopper_layer_norm_bwd",
    "hopper_grouped_gemm",
    "blackwell_gemm_2cta",
    "blackwell_gemm_clc",
    "blackwell_mx_gemm",
    "blackwell_attention_fwd",
    "blackwell_grouped_gemm",
    "blackwell_layer_norm",
]


@pytest.fixture(scope="module", params=SPECS)
def shipped(request: pytest.FixtureRequest) -> list[Plan]:
    """The plans of a shipped spec, of the first config of each structure."""
    kernels = kernels_of(ROOT / "specs" / f"{request.param}.yaml")
    return [s.variants[0].plan for s in kernels.structures if s.variants[0].plan]


def plan_of(tmp_path: Path, text: str) -> Plan:
    path = tmp_path / "k.yaml"
    path.write_text(text)
    plan = kernels_of(path).structures[0].variants[0].plan
    assert plan
    return plan


def drawn(plan: Plan) -> tuple[ElementTree.Element, str]:
    text = draw.drawing("k", plans.facts(plan))
    return ElementTree.fromstring(text), " ".join(ElementTree.fromstring(text).itertext())


def number(element: ElementTree.Element, name: str) -> float:
    return float(element.get(name, "0"))


def cards(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [g for g in root.iter(f"{SVG}g") if g.get("class", "").split()[:1] == ["card"]]


def box_of(card: ElementTree.Element) -> tuple[float, float, float, float]:
    box = next(r for r in card.iter(f"{SVG}rect") if r.get("class") == "box")
    x, y, width, height = (number(box, name) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def texts(root: ElementTree.Element) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    """Each line of text with the room that it takes in a wide font."""
    for line in root.iter(f"{SVG}text"):
        kinds = line.get("class", "").split()
        letter = BOLD if kinds[0] == "h" else SANS if kinds[0] == "s" else MONO
        wide = letter * len(line.text or "") + sum(7 + SANS * len(part.text or "") for part in line)
        x, y = number(line, "x"), number(line, "y")
        x -= wide / 2 if "mid" in kinds else 0
        yield "".join(line.itertext()), (x, y - 9, x + wide, y + 2)


def test_it_has_each_task_ring_barrier_and_size_of_the_plan(shipped: list[Plan]) -> None:
    for plan in shipped:
        _, text = drawn(plan)
        for role in plan.roles:
            assert role.name in text and f"{role.warps} warp" in text
        for ring in plan.rings:
            assert ring.name in text
            assert all(" x ".join(str(s.value) for s in tile.shape) in text for tile in ring.tiles)
            for barrier in (ring.full_barrier, ring.empty_barrier):
                if barrier:
                    assert f"count {barrier.count}" in text
                    assert not barrier.bytes or f"{barrier.bytes.value:,} B" in text
        for turn in (*plan.turns, *plan.meetings, *plan.signals):
            assert turn.name in text


def test_no_text_lies_over_another_and_none_leaves_the_picture(shipped: list[Plan]) -> None:
    for plan in shipped:
        root, _ = drawn(plan)
        width, height = number(root, "width"), number(root, "height")
        rooms = list(texts(root))
        for text, (left, top, right, bottom) in rooms:
            assert left >= 0 and top >= 0 and right <= width + 8 and bottom <= height, text
        for (one, a), (other, b) in itertools.combinations(rooms, 2):
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            assert apart, f"{plan.name}: {one!r} lies over {other!r}"


def test_cards_lie_apart_between_lanes_and_lanes_are_evenly_apart(shipped: list[Plan]) -> None:
    for plan in shipped:
        root, _ = drawn(plan)
        boxes = [box_of(card) for card in cards(root)]
        assert len({round(b[2] - b[0], 1) for b in boxes}) <= 1
        for a, b in itertools.combinations(boxes, 2):
            assert a[3] < b[1] or b[3] < a[1]
        lifelines = [r for r in root.iter(f"{SVG}rect") if r.get("class", "").split()[0] == "life"]
        for line, (left, _, right, _) in itertools.product(lifelines, boxes):
            assert number(line, "x") + number(line, "width") < left or number(line, "x") > right


def test_maps_add_up_to_the_budgets(shipped: list[Plan]) -> None:
    for plan in shipped:
        facts = plans.facts(plan)
        for name, map_ in (("SMEM", maps.smem), ("TMEM", maps.tmem)):
            budget = next((b for b in plan.budgets if b.name == name), None)
            parts, limit = map_(facts)
            assert limit == (budget.limit if budget else 0)
            assert sum(p.count for p in parts if not p.over) == (budget.used if budget else 0)
            own = sorted((p.first, p.first + p.count) for p in parts if not p.over)
            assert all(a[1] <= b[0] for a, b in itertools.pairwise(own))


def test_what_takes_the_place_of_a_tile_lies_on_that_tile(tmp_path: Path) -> None:
    plan = kernels_of(ROOT / "specs" / "hopper_gemm_helped.yaml").structures[0].variants[0].plan
    assert plan
    parts, _ = maps.smem(plans.facts(plan))
    under = {p.first: p for p in parts if not p.over}
    above = [p for p in parts if p.of == "rest"]
    assert len(above) == plan.ring("rest").slots.value
    assert all(under[p.first].what == "a" and p.count <= under[p.first].count for p in above)


def test_data_flows_to_the_right_and_memory_is_last() -> None:
    plan = kernels_of(ROOT / "specs" / "blackwell_attention_fwd.yaml").structures[0].variants[0].plan
    assert plan
    assert lanes.order(plans.facts(plan)) == ["load", "mma", "softmax", "correction", lanes.MEMORY]


def test_bytes_that_the_loads_of_two_ctas_bring_are_said_to_be_of_both() -> None:
    plan = kernels_of(ROOT / "specs" / "blackwell_gemm_2cta.yaml").structures[0].variants[0].plan
    assert plan
    ring = plan.ring("ab")
    assert (
        ring.full_barrier
        and ring.full_barrier.bytes
        and ring.full_barrier.bytes.value == 2 * ring.bank_bytes // ring.slots.value
    )
    assert f"full: count 1, {ring.full_barrier.bytes.value:,} B of 2 CTAs" in drawn(plan)[1]


def test_a_lane_goes_on_to_where_its_last_slot_comes_back() -> None:
    plan = kernels_of(ROOT / "specs" / "hopper_gemm_store_task.yaml").structures[0].variants[0].plan
    assert plan
    root, _ = drawn(plan)
    lines = [p.get("d", "") for p in root.iter(f"{SVG}path") if p.get("class") == "back-line"]
    lowest = max(float(text) for line in lines[1:] for text in re.findall(r" ([\d.]+)(?: L|$)", line))
    lifelines = [r for r in root.iter(f"{SVG}rect") if r.get("class", "").split()[0] == "life"]
    assert all(number(line, "y") + number(line, "height") > lowest for line in lifelines)


def test_many_tasks_are_laid_out_in_the_order_of_their_data() -> None:
    """More than every order of which can be tried: a chain of twelve, declared backwards."""
    names = [f"t{i}" for i in range(12)]
    rings = [{"by": a, "readers": [b]} for a, b in itertools.pairwise(names)]
    facts: dict[str, Any] = {"roles": [{"name": n} for n in reversed(names)], "rings": rings, "signals": []}
    assert lanes.order(facts) == names


def test_what_is_marked_has_a_class_of_its_own(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "kernel: gemm\nname: k\narch: sm90\n")
    text = draw.drawing("k", plans.facts(plan), {"ring:ab", "role:mma"})
    marked = [g for g in ElementTree.fromstring(text).iter(f"{SVG}g") if "changed" in g.get("class", "").split()]
    assert {"card", "lane", "part"} == {g.get("class", "").split()[0] for g in marked}
    assert "changed" not in draw.drawing("k", plans.facts(plan))


def test_a_file_is_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    spec = ROOT / "specs" / "blackwell_gemm_clc.yaml"
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for seed, file in enumerate(files):
        command = [sys.executable, "-m", "tlxgen", "show", str(spec), "--svg", str(file)]
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
    assert files[0].read_bytes() == files[1].read_bytes()
    root = ElementTree.fromstring(files[0].read_bytes())
    assert "prefers-color-scheme: dark" in next(root.iter(f"{SVG}style")).text  # type: ignore[operator]


@pytest.mark.filterwarnings("ignore::tlxgen.errors.SpecWarning")
def test_a_rejected_variant_shows_what_is_too_much(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, file = tmp_path / "k.yaml", tmp_path / "deep" / "k.svg"
    spec.write_text("kernel: gemm\nname: k\narch: sm90\nvariants: {axes: {rings.ab.stages: [4, 9]}}\n")
    print_plans(spec, None, ["rings.ab.stages=9"], svg=file)
    assert capsys.readouterr().out == f"wrote {file}: 1 picture of k\n"
    text = file.read_text()
    assert "rejected: rings.ab.stages=9" in text and re.search(r"[\d,]+ of 232,448 B, [\d,]+ too many", text)


def test_a_plan_that_a_family_calls_strangely_is_still_xml(tmp_path: Path) -> None:
    facts = plans.facts(plan_of(tmp_path, "kernel: gemm\nname: k\narch: sm90\n"))
    facts["roles"][0]["steps"] = ["a < b & c \x1b[0m"]
    assert "a < b & c \\x1b[0m" in "".join(ElementTree.fromstring(draw.page("k", [("k", "", facts)])).itertext())


def test_without_networkx_the_command_that_installs_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, file = tmp_path / "k.yaml", tmp_path / "k.svg"
    spec.write_text("kernel: gemm\nname: k\narch: sm90\n")
    monkeypatch.setattr("tlxgen.review.extra.find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match=r"networkx.*\n.*pip install 'tlxgen\[review\]'"):
        print_plans(spec, svg=file)
    assert not file.exists()
