"""Whole runs of the verb with fake children, which are real processes: they hang, crash and are killed."""

from __future__ import annotations

import ast
import json
import subprocess
from typing import Any

import pytest

from tests.tune.conftest import MODULE, Project
from tests.tune.fake_child_times import us
from tlxgen import families
from tlxgen.build import build
from tlxgen.errors import DeviceError, SpecError, TlxgenError
from tlxgen.spec import load
from tlxgen.tune import tuning, worker
from tlxgen.verbs import tune as verb

A, B = (4096, 4096, 4096), (512, 512, 512)


def test_the_file_names_winner_figures_and_everything_that_was_rejected(project: Project) -> None:
    table: Any = project.tune(A, B, candidates=24)
    assert [row["class"] for row in table["classes"]] == [list(B), list(A)]
    row = table["classes"][1]
    assert set(row["winner"]) == {"structure", "values", "speedup", "shapes"}
    assert row["winner"]["shapes"][0]["torch"] == 50.0
    assert row["winner"]["speedup"] == pytest.approx(50 / row["winner"]["shapes"][0]["us"], rel=1e-3)
    assert row["winner"]["speedup"] >= row["runner_up"]["speedup"]
    assert row["tried"] == {"measured": 32}
    assert row["conditions"] == {"sm_mhz": 1500.0}
    assert table["variants"]["fit"] == len(project.space.candidates)
    assert sum(table["variants"]["rejected"].values()) > 0
    assert (table["device"], table["kernel"], table["faults"]) == ("Fake H200", "g", [])


def test_an_exhaustive_run_finds_the_fastest_of_all(project: Project) -> None:
    table: Any = project.tune(A, exhaustive=True)
    best = project.best(*A)
    winner = table["classes"][0]["winner"]
    assert (winner["structure"], winner["values"]) == (best.structure, best.values)


def test_a_second_run_measures_nothing_and_writes_the_same_bytes(project: Project) -> None:
    project.tune(A, B)
    before, count = project.table.read_bytes(), len(project.log)
    project.table.unlink()
    project.tune(A, B)
    assert project.table.read_bytes() == before
    assert len(project.log) == count > 0


def test_children_start_with_the_run_and_not_at_all_where_everything_is_known(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, start = list[Any](), worker.start_task
    monkeypatch.setattr(tuning, "_identity", lambda: "Fake H200")
    monkeypatch.setattr(tuning.readings, "versions", lambda: {"tlxgen": "0"})
    monkeypatch.setattr(worker, "start_task", lambda task: (started.append(task), start(task)))
    project.tune(A, workers=3)
    assert len(started) == 3
    project.tune(A, workers=3)
    assert len(started) == 3
    project.tune(B, workers=2)
    assert len(started) == 5


def test_the_class_with_the_most_work_comes_first(project: Project) -> None:
    table: Any = project.tune((64, 64, 64), B, A, candidates=3)
    begun = list(dict.fromkeys(line.split(" ", 1)[1].rsplit(" ", 1)[0] for line in project.log))
    assert begun[-1] == "[64, 64, 64]" and len(begun) == 3
    assert [row["class"] for row in table["classes"]] == [[64, 64, 64], list(B), list(A)]


def test_the_file_does_not_depend_on_workers_order_or_process(project: Project) -> None:
    project.tune(A, B, workers=1)
    one = project.table.read_bytes()
    subprocess.run(["rm", "-r", str(project.root / "cache")], check=True)
    project.tune(B, A, workers=3)
    assert project.table.read_bytes() == one


def test_another_seed_draws_others(project: Project) -> None:
    project.tune(A, candidates=8)
    first = set(project.log)
    project.tune(A, candidates=8, seed=1)
    assert set(project.log) - first


def test_a_run_that_a_budget_ended_goes_on_where_it_was(project: Project) -> None:
    code = verb.run(project.spec, verb.Options(shapes=(A,), module=MODULE, budget_s=1e-6, out=project.table))
    assert code == 1 and not project.log
    project.tune(A, candidates=8)
    half = list(project.log)
    project.tune(A, candidates=24)
    again = [line for line in project.log[len(half) :] if line in set(half)]
    assert len(project.log) > len(half) and not again


def test_a_damaged_result_is_measured_again(project: Project) -> None:
    project.tune(A)
    before, count = project.table.read_bytes(), len(project.log)
    some = next((project.root / "cache" / "tune" / "results").rglob("*.json"))
    some.write_text("{")
    project.tune(A)
    assert len(project.log) == count + 1
    assert project.table.read_bytes() == before


@pytest.mark.parametrize("kind", ["hang", "crash", "wrong", "memory", "compile"])
def test_a_faulty_candidate_is_recorded_and_skipped_and_the_rest_is_the_same(project: Project, kind: str) -> None:
    clean: Any = project.tune(A)
    measured = {line.split()[0] for line in project.log}
    ranked = project.space.ranked([A], 132)
    sickly = sorted(ranked[:10], key=lambda c: us(c.key, list(A)))[-2:]  # the slowest of those that are tried first
    project.faults({c.key: kind for c in sickly})
    subprocess.run(["rm", "-r", str(project.root / "cache" / "tune" / "results")], check=True)
    sick: Any = project.tune(A, timeout_s=3.0 if kind == "hang" else 60.0)
    keys = {json.dumps(c.values, sort_keys=True): c.key for c in project.space.candidates}
    for place in ("winner", "runner_up"):  # as before, or one of the two that were measured in their place
        found, before = (table["classes"][0][place] for table in (sick, clean))
        assert found == before or keys[json.dumps(found["values"], sort_keys=True)] not in measured
    assert [(f["fault"], f["values"]) for f in sick["faults"]] == [
        (kind, c.values) for c in sorted(sickly, key=lambda c: c.key)
    ]
    assert sick["classes"][0]["tried"] == {"measured": 32, kind: 2}
    assert all(fault["text"] for fault in sick["faults"])


def test_when_nothing_runs_it_says_so(project: Project) -> None:
    project.faults({c.key: "wrong" for c in project.space.candidates})
    with pytest.raises(TlxgenError, match=r"no variant runs on 4096x4096x4096: .* \(wrong\)"):
        project.tune(A)


def test_without_a_gpu_it_says_what_can_be_done(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(DeviceError, match="no GPU here"):
        verb.run(project.spec, verb.Options(shapes=(A,)))


def test_a_child_that_cannot_start_is_no_candidates_fault(project: Project) -> None:
    project.tune(B, candidates=2)
    (project.root / "faults.json").unlink()  # the fake child ends at once without it
    worker.SLOTS.close()
    subprocess.run(["rm", "-r", str(project.root / "cache" / "tune" / "devices")], check=False)
    with pytest.raises(DeviceError):
        verb.run(project.spec, verb.Options(shapes=(A,), module=MODULE))


def test_what_computes_different_things_is_tuned_apart(project: Project) -> None:
    alone: Any = project.tune(A, B, candidates=6)
    project.spec.write_text(project.spec.read_text() + "    problem.b.layout: [row, col]\n")
    parts = project.space.apart()
    assert [part.label for part in parts] == ["problem.b.layout=row", "problem.b.layout=col"]
    assert sum(len(part.candidates) for part in parts) == len(project.space.candidates)
    assert all({c.variant.spec.problem.b.layout for c in p.candidates} == {*p.problem.values()} for p in parts)  # type: ignore[union-attr]
    kept: Any = project.tune(B, candidates=6, only="problem.b.layout=col")
    rows = [(row["class"], row["winner"]["values"].get("problem.b.layout", "row")) for row in kept["classes"]]
    assert rows == [([*B], "row"), ([*B], "col"), ([*A], "row")]
    assert kept["classes"][0]["winner"] == alone["classes"][0]["winner"], "a table is that of what the spec was without"
    both: Any = project.tune(A, B, candidates=6)
    assert [row["class"] for row in both["classes"]] == [[*B], [*B], [*A], [*A]]
    whole = project.table.read_bytes()
    for only in ("problem.b.layout=col", "problem.b.layout = row", ""):
        project.tune(A, candidates=6, only=only)
        assert project.table.read_bytes() == whole
    with pytest.raises(TlxgenError, match="is none of what this spec computes"):
        project.tune(A, only="problem.b.layout=both")


def test_each_function_knows_its_own_winners(project: Project) -> None:
    project.spec.write_text(project.spec.read_text() + "    problem.b.layout: [row, col]\n")
    table: Any = project.tune(A, B, candidates=6)
    project.spec.write_text(project.spec.read_text() + "tuned: tuned/fake_h200/g.yaml\n")
    known: dict[str, set[Any]] = {"row": set(), "col": set()}
    document = load(project.spec)
    for structure in families.of(document).kernels(document).structures:
        layout = structure.variants[0].values["problem.b.layout"]
        for shape, index in structure.tuned.items():
            rows = [row["winner"] for row in table["classes"] if tuple(row["class"]) == shape]
            (mine,) = (row for row in rows if row["values"]["problem.b.layout"] == layout)
            assert (structure.name, structure.variants[index].values) == (mine["structure"], mine["values"])
            known[layout].add(shape)
    assert known == {"row": {A, B}, "col": {A, B}}


def test_a_shape_of_another_rank_is_refused(project: Project) -> None:
    with pytest.raises(
        TlxgenError, match="1x2 is not a shape of gemm: a shape has 3 extents, M x N x K, and this has 2"
    ):
        verb.run(project.spec, verb.Options(shapes=((1, 2),), module=MODULE))


def test_a_tuned_spec_builds_its_winners_and_what_chooses_among_them(project: Project) -> None:
    table: Any = project.tune(A, B, (64, 8192, 512), (8192, 64, 512), exhaustive=True)
    project.spec.write_text(project.spec.read_text() + "tuned: tuned/fake_h200/g.yaml\n")
    built = build(project.spec)
    won = {(row["winner"]["structure"], json.dumps(row["winner"]["values"])) for row in table["classes"]}
    assert {name.removesuffix(".py") for name in built.modules} >= {name for name, _ in won}
    assert len(won) <= built.variants <= len(won) + 4 < len(project.space.candidates)
    again, checked = build(project.spec), build(project.spec, check=True)
    assert again.up_to_date and checked.up_to_date
    assert built.modules == again.modules == checked.modules


def test_a_table_that_no_longer_fits_the_spec_is_an_error_with_the_line(project: Project) -> None:
    project.tune(A)
    text = project.table.read_text()
    project.spec.write_text(project.spec.read_text() + "tuned: tuned/fake_h200/g.yaml\n")
    project.table.write_text(text.replace("tile.n: ", "tile.n: 1"))
    with pytest.raises(SpecError, match=r"g.yaml:\d+:\d+: no variant of g fits this winner(.|\n)*tlxgen tune"):
        build(project.spec)
    project.table.write_text(text.replace("kernel: g", "kernel: h"))
    with pytest.raises(SpecError, match="this is the table of h, not of g"):
        build(project.spec)
    project.table.unlink()
    with pytest.raises(SpecError, match=r"g.yaml:\d+:\d+: tuned: no file"):
        build(project.spec)


def test_the_benchmark_of_faults_tells_them_apart(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its faulty host functions are for a GPU; here the fake children do what their texts say."""
    from benchmarks import tune_faults

    make = tune_faults.with_faults

    def told(space: Any, chosen: Any) -> Any:
        made = make(space, chosen)
        texts = {c.key: made.sources[c.source] for c in made.candidates if c not in space.candidates}
        project.faults(
            {key: kind for key, text in texts.items() for kind, f in tune_faults.FAULTS.items() if f in text}
        )
        return made

    monkeypatch.setattr(tune_faults, "with_faults", told)
    monkeypatch.setattr(tune_faults, "LIMIT_S", 3.0)
    record = project.root / "record.json"
    monkeypatch.setattr("sys.argv", ["tune_faults", str(project.spec), "--module", MODULE, "--json", str(record)])
    assert tune_faults.main() == 0
    found = json.loads(record.read_text())
    assert found["same"] and set(found["faults"]) == {"hang", "crash", "memory", "wrong"}


def test_a_space_is_kept_until_its_spec_changes_and_a_damaged_one_is_made_anew(project: Project) -> None:
    folder = project.root / "cache" / "tune" / "spaces"
    first = project.space
    (kept,) = folder.iterdir()
    assert [c.key for c in project.space.candidates] == [c.key for c in first.candidates]
    kept.write_bytes(b"\x80\x05broken")
    assert [c.key for c in project.space.candidates] == [c.key for c in first.candidates]
    assert kept.stat().st_size > 100
    project.spec.write_text(
        project.spec.read_text().replace("schedule.group_m: [1, 4, 8, 16]", "schedule.group_m: [1]")
    )
    assert len(project.space.candidates) < len(first.candidates) and len(list(folder.iterdir())) == 2


def test_what_is_measured_is_what_a_build_writes_but_for_its_form(project: Project) -> None:
    def kernels(text: str) -> list[str]:
        return [ast.dump(n) for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.decorator_list]

    space = project.space
    built = build(project.spec, out=project.root / "generated").folder
    written = [kernels(path.read_text()) for path in built.glob("g_*.py")]
    assert len(written) == 2 and all(kernels(text) in written for text in space.sources.values())


def test_compilers_are_forks_of_one_process(project: Project) -> None:
    project.tune(candidates=6)
    assert len((project.root / "log.forks").read_text().split()) == 1
