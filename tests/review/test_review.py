"""`tlxgen review`: what came, went and changed; equal changes once; plans, figures, proofs and speed of both sides."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tlxgen import lock
from tlxgen.build import make
from tlxgen.errors import ReviewError, TlxgenError
from tlxgen.review.report import figures, hunks, planned, trees
from tlxgen.review.report.markdown import text as markdown
from tlxgen.review.report.page import page
from tlxgen.review.report.review import Review, made
from tlxgen.verbs.review import run

BODY = '''"""{name}: a kernel.

spec   specs/{folder}.yaml
template gemm/module.py.j2
"""

import triton


@triton.jit
def {name}_kernel(a_ptr, b_ptr):
    first = 1
    {line}
    last = 3


def {name}(a, b):
    {host}
    return {name}_kernel[(1,)](a, b)
'''
KERNEL: dict[str, Any] = {
    "registers": 168,
    "spill_store_bytes": 0,
    "spill_load_bytes": 0,
    "smem_bytes": 1000,
    "sass": {"HGMMA": 8, "BAR": 4, "total": 100},
}
RECORD: dict[str, Any] = {
    "subject": "s",
    "simulator": "d",
    "libraries": {"torch": "2"},
    "schedules": [["random", 0]],
    "cases": [[0, [1, 1, 64]]],
    "sms": [1],
    "runs": 7,
    "steps": 1,
    "coverage": {"counts": {"lines": [2, 2]}, "missing": [], "excepted": 0},
    "findings": [],
}


def module(name: str, folder: str = "k", line: str = "middle = 2", host: str = "pass") -> str:
    return BODY.format(name=name, folder=folder, line=line, host=host)


def entry(
    text: str = "", *, device: str = "d", plan: str = "p", compiled: Any = None, record: Any = None, **values: str
) -> Any:
    """A structure's entry of a lock, with compile results of one kernel and a record, if given."""
    found: dict[str, Any] = {
        "source": "x",
        "device": device,
        "subject": "s",
        "plan": plan,
        "variants": 1,
        "values": values,
    }
    if compiled is not None:
        found["compiled"] = lock.sealed(found, {"kernels": {"kernel BLOCK_M=128": {**KERNEL, **compiled}}})
    if record is not None:
        found["verified"] = lock.sealed(found, {**RECORD, **record}, "verified")
    return found


def write(root: Path, folder: str, modules: dict[str, tuple[str, Any]], spec: str = "") -> None:
    """A generated folder with its lock. `modules`: text and entry by name."""
    place = root / "generated" / folder
    place.mkdir(parents=True, exist_ok=True)
    for name, (text, _) in modules.items():
        (place / f"{name}.py").write_text(text)
    found = {"spec": {spec: "x"} if spec else {}, "name": folder, "rejected": {"count": 0}}
    lock.write(place, {**found, "structures": {name: e for name, (_, e) in modules.items()}})


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    return tmp_path / "a", tmp_path / "b"


Made = Callable[[], Review]


@pytest.fixture
def review(sides: tuple[Path, Path]) -> Made:
    return lambda: made([str(side) for side in sides])


def told(review: Review) -> dict[str, str]:
    """The alerts, with their weights."""
    return {alert.text: alert.weight for alert in review.alerts}


def git(folder: Path, *words: str) -> None:
    names = ["-c", "user.name=n", "-c", "user.email=e@e", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *names, *words], check=True, capture_output=True)


def test_two_hundred_modules_with_one_change_are_one_group_with_one_hunk(
    sides: tuple[Path, Path], review: Made
) -> None:
    for side, line in zip(sides, ("middle = 2", "middle = 2 + 0"), strict=True):
        for i in range(20):
            names = [f"kern{i}_v{j}" for j in range(10)]
            write(side, f"kern{i}", {n: (module(n, f"kern{i}", line), entry(device=line)) for n in names})
    found = review()
    (group,) = found.sources
    assert len(group.modules) == 200 and len(group.hunks) == 1
    assert (group.where(0), group.is_device(0)) == ("kern0_v0_kernel", True)
    html = page(found)
    assert html.partition("<main>")[2].count("middle") == 2 and len(html) < 500_000
    assert html.count("<h3>1. 200 modules in 20 folders") == 1 and "<td>generated/kern19</td><td>v0, v1," in html
    assert "200 modules like `generated/kern0/kern0_v0.py`" in markdown(found) and len(markdown(found)) < 2000


def test_a_hunk_that_is_in_several_groups_is_shown_once(sides: tuple[Path, Path], review: Made) -> None:
    for side, line, host in zip(sides, ("middle = 2", "middle = 5"), ("pass", "check(a)"), strict=True):
        write(
            side,
            "k",
            {"k_x": (module("k_x", line=line), entry()), "k_y": (module("k_y", line=line, host=host), entry())},
        )
    found = review()
    assert [len(group.hunks) for group in found.sources] == [1, 2] and found.distinct == 2
    html = page(found)
    assert html.count('<div class="hunk"') == 2 and html.count("the same as <a href=") == 1


def test_names_of_modules_are_masked_and_no_other_words(sides: tuple[Path, Path], review: Made) -> None:
    """The same change but for the module's name is one; another constant is another."""
    for side, of in zip(sides, ("{}_config()", "{}_config(1)"), strict=True):
        names = ["k_m1", "k_m2"]
        write(side, "k", {n: (module(n, host=f"c = {of.format(n)}"), entry()) for n in names})
    assert [len(group.modules) for group in review().sources] == [2]
    write(sides[1], "k", {n: (module(n, host=f"c = {n}_config({i})"), entry()) for i, n in enumerate(["k_m1", "k_m2"])})
    assert [len(group.modules) for group in review().sources] == [1, 1]


def test_what_came_went_and_was_renamed(sides: tuple[Path, Path], review: Made) -> None:
    same = entry(split="x")
    unlike = '"""Nothing of the others."""\nimport os\nprint(os.getcwd())\n'
    write(
        sides[0],
        "k",
        {"k_old": (module("k_old"), same), "k_gone": (unlike, entry()), "k_stays": (module("k_stays"), entry())},
    )
    write(
        sides[1],
        "k",
        {
            "k_new": (module("k_new"), same),
            "k_stays": (module("k_stays"), entry()),
            "k_came": (module("k_came"), entry(split="y")),
        },
    )
    found = {m.name: (m.state, m.a, m.b, m.like) for m in review().change.structures()}
    place = "generated/k/"
    assert found == {
        "k_new": ("renamed", f"{place}k_old.py", f"{place}k_new.py", None),
        "k_gone": ("removed", f"{place}k_gone.py", None, None),
        "k_came": ("added", None, f"{place}k_came.py", f"{place}k_stays.py"),
    }


def test_an_added_module_without_a_like_is_shown_whole_and_folded(sides: tuple[Path, Path], review: Made) -> None:
    (sides[0] / "specs").mkdir()
    write(sides[1], "k", {"k": (module("k"), entry())})
    html = page(review())
    assert "<summary>the new file</summary>" in html and "last" in html


def test_records_alone_are_a_change(sides: tuple[Path, Path], review: Made) -> None:
    text = module("k")
    write(sides[0], "k", {"k": (text, entry(compiled={}))})
    write(sides[1], "k", {"k": (text, entry(compiled={"registers": 200}))})
    found = review()
    assert [m.state for m in found.change.structures()] == ["records"] and not found.sources
    assert "168 → 200" in page(found) and told(found)["a thread has more registers in 1 module"] == "note"


def test_figures_of_the_same_modules_stand_together(sides: tuple[Path, Path], review: Made) -> None:
    names = ["k_x", "k_y", "k_z"]
    for side, some in zip(sides, ({}, {"registers": 170, "sass": {"BAR": 5, "total": 101}}), strict=True):
        write(side, "k", {n: (module(n), entry(compiled=some if n != "k_z" else {})) for n in names})
    (group,) = review().compiled
    assert [m.name for m in group.modules] == ["k_x", "k_y"]
    assert {row[0]: row[1:] for row in group.rows} == {
        "registers": ("168", "170", "+2"),
        "sass BAR": ("4", "5", "+1"),
        "sass total": ("100", "101", "+1"),
        "sass HGMMA": ("8", "", "removed"),
    }


@pytest.mark.parametrize(
    ("before", "after", "text", "weight"),
    [
        ({}, {"spill_store_bytes": 16}, "spills are new, or more, in 1 module", "bad"),
        ({"spill_load_bytes": 16}, {}, "spills are gone, or fewer, in 1 module", "good"),
        ({}, {"smem_bytes": 1001}, "SMEM is more in 1 module", "note"),
        ({}, {"sass": {"BAR": 4, "total": 100}}, "HGMMA is gone from the SASS of 1 module", "bad"),
        ({}, {"sass": {"HGMMA": 8, "total": 111}}, "instructions are at least 10 % more in 1 module", "note"),
    ],
)
def test_resources_that_a_reviewer_is_told_of(
    sides: tuple[Path, Path], review: Made, before: Any, after: Any, text: str, weight: str
) -> None:
    write(sides[0], "k", {"k": (module("k"), entry(compiled=before))})
    write(sides[1], "k", {"k": (module("k"), entry(compiled=after))})
    assert told(review()).get(text) == weight


def test_proofs_that_came_went_or_found_something(sides: tuple[Path, Path], review: Made) -> None:
    finding = {"findings": [{"id": "race", "severity": "error", "message": "m", "lines": [1]}]}
    gap = {"coverage": {"counts": {"lines": [1, 2]}, "missing": ["line 3 never ran"], "excepted": 0}}
    cases: dict[str, tuple[Any, Any]] = {
        "k_lost": ({}, None),
        "k_faulty": ({}, finding),
        "k_gap": ({}, gap),
        "k_none": (None, None),
        "k_good": (None, {}),
    }
    for i, (side, host) in enumerate(zip(sides, ("pass", "check(a)"), strict=True)):
        write(side, "k", {n: (module(n, host=host), entry(record=some[i])) for n, some in cases.items()})
    found = review()
    assert told(found) == {
        "verify has findings in 1 module": "bad",
        "there was a record of verify, and is none that holds, of 1 module": "bad",
        "there is no record of verify of 1 module": "note",
        "runs leave something unseen that they did not before, in 1 module": "note",
        "the device code of all 5 kernel modules is as it was": "good",
    }
    states = {m.name: str(figures.verified(m.b_entry)) for m in found.change.structures()}
    assert states == {
        "k_lost": "no record",
        "k_none": "no record",
        "k_faulty": "findings, 7 runs",
        "k_gap": "clean, 7 runs",
        "k_good": "clean, 7 runs",
    }
    assert "line 3 never ran" in page(found)


def test_a_record_that_was_written_by_hand_is_none(sides: tuple[Path, Path]) -> None:
    good = entry(record={})
    assert figures.verified(good).state == "clean"
    assert figures.verified({**good, "verified": {**good["verified"], "runs": 8}}).state == ""
    assert figures.verified({**good, "subject": "other"}).state == ""


def test_recorded_times_of_bench_and_of_tuned_files(sides: tuple[Path, Path], review: Made) -> None:
    for side, us in zip(sides, (100.0, 110.0), strict=True):
        (side / "benchmarks" / "results").mkdir(parents=True)
        rows = [{"shape": [64, 64], "name": "k", "config": "", "latency": us / 1000}]
        record = {"command": "tlxgen bench specs/k.yaml", "rows": rows}
        (side / "benchmarks" / "results" / "k.json").write_text(json.dumps(record))
        (side / "benchmarks" / "results" / "other.json").write_text(json.dumps({"rows": [us]}))
        (side / "tuned").mkdir()
        winner = f"  winner: {{shapes: [{{shape: [8, 8], us: {200 - us}}}]}}\n"
        (side / "tuned" / "k.yaml").write_text(f"kernel: k\nclasses:\n- class: [8, 8]\n{winner}")
    found = review()
    assert [(s.what, s.shape, s.a, s.b) for s in found.speeds] == [("k", "64 x 64", 100, 110), ("k", "8 x 8", 100, 90)]
    assert told(found)["1 of 2 recorded times are longer by 2 % and more"] == "bad"
    assert "0.909" in page(found) and "| k | 64 x 64 | 100.0 | 110.0 | 0.909 |" in markdown(found)


SPEC = "kernel: gemm\nname: k\narch: sm90\ntile: {{n: 128}}\nrings: {{ab: {{stages: {}}}}}\n"


def built(root: Path, stages: int, folder: str = "specs") -> None:
    """A project of one spec, built."""
    (root / folder).mkdir(exist_ok=True)
    spec = root / folder / "k.yaml"
    spec.write_text(SPEC.format(stages))
    place = (root if folder == "specs" else root / folder) / "generated" / "k"
    place.mkdir(parents=True, exist_ok=True)
    for name, data in make(spec, place).files.items():
        (place / name).write_bytes(data)


def test_a_change_of_a_spec_is_drawn_on_both_sides_and_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    built(tmp_path, 4)
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "four")
    built(tmp_path, 5)
    monkeypatch.chdir(tmp_path)
    found = made([])
    (change,) = found.plans.changes
    rows = {(part, row[0]): row[1:] for part, row in change.rows}
    assert rows[("Rings", "ab slots")] == ("4", "5", "+1") and ("Barriers", "ab_full how many") in rows
    assert change.marks == {"ring:ab"} and not found.remarks
    html = page(found)
    assert html.count("<svg") == 2 and html.count('class="card changed"') == 2
    assert "- Plan of `generated/k/k.py`: rings: ab slots 4 → 5;" in markdown(found)
    assert [g.modules[0].path for g in found.inputs] == ["specs/k.yaml"]
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "five")
    between = made(["HEAD^..HEAD"])
    assert [c.rows for c in between.plans.changes] == [change.rows] and "four" in between.a and "five" in between.b
    assert page(between) == page(made(["HEAD^", "HEAD"]))
    monkeypatch.chdir(tmp_path / "specs")
    assert [m.path for m in made(["HEAD^"]).change.inputs] == []  # the folder of specs has no folder specs


def test_a_project_below_the_top_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "deep" / "project"
    project.mkdir(parents=True)
    git(tmp_path, "init", "-q")
    built(project, 4)
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "four")
    built(project, 5)
    monkeypatch.chdir(project)
    found = made(["HEAD"])
    assert [m.path for m in found.change.structures()] == ["generated/k/k.py"] and len(found.plans.changes) == 1


def test_specs_that_lie_elsewhere_are_planned_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    for stages in (4, 5):
        built(tmp_path, stages, "kernels")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", str(stages))
    monkeypatch.chdir(tmp_path)
    found = made(["HEAD^", "HEAD"])
    assert [c.marks for c in found.plans.changes] == [{"ring:ab"}] and not found.remarks


def test_folders_that_git_ignores_are_reviewed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("/out*/\n")
    for name, stages in (("out1", 4), ("out2", 5)):
        (tmp_path / name).mkdir()
        built(tmp_path / name, stages)
    found = made([str(tmp_path / "out1"), str(tmp_path / "out2")])
    assert [m.path for m in found.change.structures()] == ["generated/k/k.py"] and len(found.plans.changes) == 1


def test_a_generator_that_cannot_be_asked_is_told_and_the_page_is_made(
    tmp_path: Path, sides: tuple[Path, Path], review: Made
) -> None:
    for side, stages in zip(sides, (4, 5), strict=True):
        built(side, stages)
        (side / "tlxgen").mkdir()
        (side / "tlxgen" / "__init__.py").write_text("raise RuntimeError('of another age')\n")
    found = review()
    assert [m.name for m in found.plans.unplanned] == ["k"]
    assert any("its generator cannot be asked: RuntimeError: of another age" in remark for remark in found.remarks)
    assert "of another age" in page(found) and not found.plans.changes


def test_the_generator_of_a_side_plans_that_side(sides: tuple[Path, Path], review: Made) -> None:
    """A generator that has another default: its own child says so."""
    import tlxgen

    for side in sides:
        built(side, 4)
    package = Path(tlxgen.__file__).parent
    _copied(package, sides[1] / "tlxgen")
    budget = sides[1] / "tlxgen" / "review" / "registers.py"
    budget.write_text(budget.read_text() + "\n\ndef granted(plan):\n    return {r.name: 99 for r in plan.roles}\n")
    text = (sides[1] / "generated" / "k" / "lock.json").read_text()
    (sides[1] / "generated" / "k" / "lock.json").write_text(re.sub(r'"plan": "\w+"', '"plan": "other"', text))
    (change,) = review().plans.changes
    assert {row[2] for part, row in change.rows if part == "Tasks"} == {"99"}


def _copied(package: Path, to: Path) -> None:
    import shutil

    shutil.copytree(package, to, ignore=shutil.ignore_patterns("__pycache__"))


def test_plans_beyond_the_limit_are_named(
    sides: tuple[Path, Path], review: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned, "MOST", 2)
    for side, plan in zip(sides, ("p", "q"), strict=True):
        for folder in ("k", "l"):
            write(side, folder, {f"{folder}_{x}": (module(f"{folder}_{x}"), entry(plan=plan)) for x in "xy"})
    found = review().plans.unplanned
    assert [m.name for m in found] == ["k_y", "l_y", "k_x", "l_x"]  # those beyond, then those that have no spec


def test_text_of_a_file_is_no_markup(sides: tuple[Path, Path], review: Made) -> None:
    for side, host in zip(sides, ("pass", "x = '</pre><script>alert(1)</script>'"), strict=True):
        write(side, "k", {"k": (module("k", host=host), entry())})
    html = page(review())
    assert "<script" not in html and "&lt;script&gt;" in html


def test_a_page_asks_for_nothing_outside_of_it(tmp_path: Path, sides: tuple[Path, Path], review: Made) -> None:
    for side, stages in zip(sides, (4, 5), strict=True):
        built(side, stages)
    html = page(review())
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)|@import|url\(""", html)
    assert "prefers-color-scheme: dark" in html and "<details" in html


def test_a_page_has_room_for_so_many_lines_and_says_what_it_left_out(
    sides: tuple[Path, Path], review: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tlxgen.review.report.page.LINES", 1)
    for side, lines in zip(sides, ("middle = 2", "middle = 3"), strict=True):
        write(side, "k", {f"k_{x}": (module(f"k_{x}", line=f"{lines}{i}"), entry()) for i, x in enumerate("xy")})
    html = page(review())
    assert html.count('<div class="hunk"') == 1 and "1 more hunks are not shown" in html


def test_a_lock_in_conflict_is_a_remark(sides: tuple[Path, Path], review: Made) -> None:
    for side, host in zip(sides, ("pass", "check(a)"), strict=True):
        write(side, "k", {"k": (module("k", host=host), entry())})
    (sides[0] / "generated" / "k" / "lock.json").write_text("<<<<<<< mine\n")
    found = review()
    assert len(found.sources) == 1 and "generated/k/lock.json is left out" in found.remarks[0]


def test_nothing_differs(
    sides: tuple[Path, Path], review: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for side in sides:
        write(side, "k", {"k": (module("k"), entry())})
    assert "No spec, template, generator file or generated module differs" in page(review())
    assert "No spec, template, generator file or generated module differs" in markdown(review())
    run([str(side) for side in sides], tmp_path / "out.html", markdown=False)
    assert capsys.readouterr().out.startswith(f"wrote {tmp_path / 'out.html'}: 0 kernel modules, 0 hunks")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["a", "b", "c"], "3 things cannot be reviewed"),
        (["a"], "a is a folder; the other one is missing"),
        (["nothing"], "is not in a git repository|neither a folder nor a commit"),
        (["HEAD...HEAD"], "three dots"),
        (["a", "nothing"], "is not in a git repository|neither a folder nor a commit"),
    ],
)
def test_what_cannot_be_reviewed_is_one_error(
    sides: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, words: list[str], text: str
) -> None:
    monkeypatch.chdir(sides[0].parent)
    with pytest.raises(ReviewError, match=text):
        trees.sides(words)


def test_a_source_is_not_overwritten(tmp_path: Path) -> None:
    spec = tmp_path / "k.yaml"
    spec.write_text("kernel: gemm\n")
    with pytest.raises(TlxgenError, match="would overwrite"):
        run([], spec, markdown=False)
    assert spec.read_text() == "kernel: gemm\n"


def test_differences_of_two_texts() -> None:
    a, b = list("abcdefg"), list("abXdfgY")
    places = hunks.opcodes(a, b)
    made: list[str] = []
    at = 0
    for p in places:
        made += a[at : p.first_a] + b[p.first_b : p.end_b]
        at = p.end_a
    assert made + a[at:] == b and len(places) == 3
    assert hunks.opcodes(a, a) == [] and hunks.opcodes([], b) == [hunks.Place(0, 0, 0, 7)]
