"""The mutation harness: what its mutators make, its processes, its sums; and a sample of mutants in the simulator."""

from __future__ import annotations

import ast
import json
import os
import random
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.sim.mutation import beyond, equivalent
from tests.sim.mutation.arguments.argued import Equivalent
from tests.sim.mutation.equivalent import argument
from tests.sim.mutation.execute import Outcome, execute, parallel
from tests.sim.mutation.generate import mutants
from tests.sim.mutation.mutant import Edit, Mutant, apply
from tests.sim.mutation.mutators import MUTATORS
from tests.sim.mutation.report import Result, Tally, as_json, as_markdown
from tests.sim.mutation.subjects import GENERATED, Subject, generated
from tests.sim.mutation.work import Work
from tlxgen.sim import RUNS

KERNEL = """
@triton.jit
def kernel(x_desc, y_ptr, M, STAGES: tl.constexpr):
    a_tiles = tlx.local_alloc((64, 64), tl.float16, STAGES)
    b_tiles = tlx.local_alloc((64, 64), tl.float16, STAGES)
    full = tlx.alloc_barriers(STAGES, arrive_count=2)
    tiles = tl.cdiv(M, 64)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            count = 0
            for k in range(tiles):
                slot, phase = ring_slot(count, STAGES)
                tlx.barrier_wait(full[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], 64 * 64 * 2 + 64 * 64 * 2)
                tlx.async_descriptor_load(x_desc, a_tiles[slot], [k * 64, 0], full[slot], pred=k > 0)
                count += 1
        with tlx.async_task(num_warps=4):
            for k in range(tiles):
                acc = tl.zeros((64, 64), tl.float32)
                tlx.named_barrier_wait(4, 256)
                acc = tlx.async_dot_wait(0, acc)
                last = k % STAGES
                tlx.barrier_arrive(full[last], remote_cta_rank=cta ^ 1)
                tlx.named_barrier_arrive(5, 256)
                if k == 3:
                    tl.store(y_ptr, acc, mask=(rows < M) & (columns < M))
"""


@pytest.fixture(scope="module")
def made() -> list[Mutant]:
    return list(mutants([("spec/kernel", KERNEL)]))


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("drop", "tlx.barrier_wait(full[slot], phase ^ 1)", "pass"),
        ("drop", "acc = tlx.async_dot_wait(0, acc)", "pass"),
        (
            "duplicate",
            "tlx.named_barrier_wait(4, 256)",
            "tlx.named_barrier_wait(4, 256); tlx.named_barrier_wait(4, 256)",
        ),
        (
            "sooner",  # with the number that it needs
            "acc = tlx.async_dot_wait(0, acc)\n                last = k % STAGES\n"
            "                tlx.barrier_arrive(full[last], remote_cta_rank=cta ^ 1)",
            "last = k % STAGES\n                tlx.barrier_arrive(full[last], remote_cta_rank=cta ^ 1)\n"
            "                acc = tlx.async_dot_wait(0, acc)\n                pass\n                pass",
        ),
        (
            "later",
            "acc = tlx.async_dot_wait(0, acc)\n                last = k % STAGES\n"
            "                tlx.barrier_arrive(full[last], remote_cta_rank=cta ^ 1)",
            "pass\n                last = k % STAGES\n"
            "                tlx.barrier_arrive(full[last], remote_cta_rank=cta ^ 1); acc = tlx.async_dot_wait(0, acc)",
        ),
        ("arrive count", "arrive_count=2", "arrive_count=1"),
        ("arrive count", "arrive_count=2", "arrive_count=3"),
        ("pendings", "async_dot_wait(0, acc)", "async_dot_wait(1, acc)"),
        ("bytes", "64 * 64 * 2 + 64 * 64 * 2)", "(64 * 64 * 2) // 2 + 64 * 64 * 2)"),
        ("bytes", "64 * 64 * 2 + 64 * 64 * 2)", "64 * 64 * 2)"),
        ("threads", "named_barrier_wait(4, 256)", "named_barrier_wait(4, 256 - 128)"),
        ("slots", "tl.float16, STAGES)\n    b", "tl.float16, STAGES - 1)\n    b"),
        ("slots", "k % STAGES", "k % (STAGES + 1)"),
        ("phase", "phase ^ 1", "phase"),
        ("phase", "phase ^ 1", "0"),
        ("index", "a_tiles[slot]", "a_tiles[(slot + 1) % (STAGES)]"),
        ("counter", "ring_slot(count, STAGES)", "ring_slot(k, STAGES)"),
        ("named barrier", "named_barrier_arrive(5, 256)", "named_barrier_arrive(4, 256)"),
        ("alias", "a_tiles[slot]", "b_tiles[slot]"),
        ("alias", "b_tiles = tlx.local_alloc((64, 64), tl.float16, STAGES)", "b_tiles = a_tiles"),
        ("operands", "slot, phase = ring_slot", "phase, slot = ring_slot"),
        ("operands", "[k * 64, 0]", "[0, k * 64]"),
        ("condition", ", pred=k > 0", ""),
        ("condition", "pred=k > 0", "pred=((k > 0) == 0)"),
        ("condition", "if k == 3:", "if True:"),
        ("mask", ", mask=(rows < M) & (columns < M)", ""),
        ("mask", "mask=(rows < M) & (columns < M)", "mask=((rows < M) | True) & (columns < M)"),
        ("remote", ", remote_cta_rank=cta ^ 1", ""),
        ("bound", "range(tiles):\n                slot", "range(tiles - 1):\n                slot"),
        ("bound", "range(tiles):\n                slot", "range(1, tiles):\n                slot"),
        ("offset", "[k * 64, 0]", "[(k + 1) * 64, 0]"),
        ("assignment", "tiles = tl.cdiv(M, 64)", "tiles = tl.cdiv(M, 64) + 1"),
        ("count", "count += 1", "pass"),
        ("initialisation", "count = 0\n            for k in range(tiles):\n", None),
    ],
)
def test_a_mutator_makes_its_fault(made: list[Mutant], kind: str, before: str, after: str | None) -> None:
    assert KERNEL.count(before) >= 1
    texts = {apply(KERNEL, m.edits) for m in made if m.kind == kind}
    if after is None:  # said again at the loop's beginning
        after = before + "                count = 0\n"
    assert KERNEL.replace(before, after, 1) in texts


def test_all_mutants_differ_and_parse(made: list[Mutant]) -> None:
    texts = [apply(KERNEL, m.edits) for m in made]
    assert len({*texts, KERNEL}) == len(texts) + 1
    assert len({m.name for m in made}) == len(made)
    assert {m.kind for m in made} == {m.kind for m in MUTATORS} - {"multicast", "completion"}
    for text in texts:
        ast.parse(text)


def test_what_an_operation_of_sm100_tells_of_its_end_is_left_out_in_turn() -> None:
    kernel = KERNEL.replace(
        "tlx.named_barrier_arrive(5, 256)", "tlx.async_dot(a, b, acc, mBarriers=[full[0]], two_ctas=True)"
    )
    texts = {m.what for m in mutants([("spec/kernel", kernel)]) if m.kind == "completion"}
    assert texts == {"tlx.async_dot: mBarriers=[full[0]] dropped", "tlx.async_dot: two_ctas=True dropped"}


def test_a_mutant_is_named_after_the_line_of_its_statement(made: list[Mutant]) -> None:
    lines = KERNEL.splitlines()
    mutant = next(m for m in made if m.kind == "condition" and "pred" in m.what)
    assert "async_descriptor_load" in lines[mutant.line - 1]
    assert Mutant.of(mutant.json()) == mutant


def test_a_mutant_knows_whether_it_stands_before_in_or_after_a_loop() -> None:
    task = "        with tlx.async_task(num_warps=4)"
    kernel = KERNEL.replace(task, f"            tlx.barrier_wait(full[0], 0)\n{task}")
    loops = {m.statement: m.loop for m in mutants([("spec/kernel", kernel)])}
    assert loops["count = 0"] == "" and loops["count += 1"] == "for k in range(tiles)"
    assert loops["tlx.barrier_wait(full[0], 0)"] == "after for k in range(tiles)"


def test_an_offset_is_of_variables_and_not_of_functions() -> None:
    kernel = KERNEL.replace("[k * 64, 0]", "[tl.where(k < 3, k, 0), 0]")
    texts = {m.what for m in mutants([("spec/kernel", kernel)]) if m.kind == "offset"}
    assert any("k -> (k + 1)" in text for text in texts) and not any("where ->" in text for text in texts)


@pytest.mark.parametrize("at", GENERATED, ids=lambda at: at.split("/")[1])
def test_a_subject_is_a_generated_module(at: str) -> None:
    assert Path("generated", f"{at}.py").is_file()


def test_a_helper_that_is_in_two_modules_counts_once() -> None:
    both = list(mutants([("spec/one", KERNEL), ("spec/two", KERNEL)]))
    assert {m.at for m in both} == {"spec/one"}


def test_edits_may_not_overlap() -> None:
    assert apply("abcdef", [Edit(4, 5, "-"), Edit(0, 2, "")]) == "cd-f"
    with pytest.raises(ValueError, match="overlap at character 1"):
        apply("abcdef", [Edit(0, 3, ""), Edit(1, 2, "")])


def _job(job: str) -> str:
    if job == "hangs":
        time.sleep(60)
    if job == "dies":
        os._exit(3)
    return job.upper()


def test_a_job_that_hangs_or_dies_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock of the test's own: the limit is reached when all others have answered, however long they take."""
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("tests.sim.mutation.execute.time", clock)
    results = {}
    for job, result in parallel(["a", "hangs", "dies", "b", "c"], _job, "no answer", 2, 3.0):
        results[job] = result
        now[0] = 4.0 * (len(results) == 4)
    assert results == {"a": "A", "b": "B", "c": "C", "hangs": "no answer", "dies": "no answer"}


def test_mutants_of_a_group_are_apart(made: list[Mutant]) -> None:
    found = list(beyond.groups(made))
    assert Counter(m for group in found for m in group) == Counter(made)
    for group in found:
        assert len(group) <= beyond.SIZE and len({m.kind in beyond.WAITS_MORE for m in group}) == 1
        apply(KERNEL, (edit for mutant in group for edit in mutant.edits))  # which raises if edits overlap


def test_of_a_group_that_is_reported_the_one_is_found(
    made: list[Mutant], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are clean, also two that are reported together and not alone. What is known is not run again."""
    (bad, *_), (one, other, *_) = sorted(beyond.groups(made), key=len)[-2:]

    def outcome(subject: Subject, group: beyond.Group) -> Outcome:
        both = one in group and other in group
        return Outcome("caught", ("deadlock",)) if bad in group or both else Outcome("clean")

    monkeypatch.setattr(beyond, "beyond", outcome)
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    subjects = {"spec/kernel": Subject("spec/kernel", path, (), lambda *_: None)}  # type: ignore[arg-type,return-value]
    outcomes = beyond.run(subjects, made, 2, Work(tmp_path / "work", "beyond"))
    assert {m for m in made if outcomes[m].verdict != "clean"} == {bad}
    monkeypatch.setattr(beyond, "beyond", None)
    assert beyond.run(subjects, made, 2, Work(tmp_path / "work", "beyond")).keys() == set(made)
    assert Work(tmp_path / "work").known(subjects["spec/kernel"], bad) is None  # by the defaults


def test_a_rate_is_of_the_faults_alone(made: list[Mutant], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equivalent, "ARGUED", ())
    for_sure = replace(made[0], kind="drop", what="argued")
    monkeypatch.setattr(equivalent, "ARGUED", (Equivalent("because", (("drop", "arg.*"),), "kernel$"),))
    results = [
        Result(made[1], Outcome("caught", ("deadlock",), schedule="lazy")),
        Result(made[2], Outcome("clean")),
        Result(made[3], Outcome("invalid", ("kernel-error",))),
        Result(for_sure, Outcome("clean")),
        Result(replace(for_sure, line=1), Outcome("caught", ("deadlock",))),
        Result(made[4], Outcome("timeout")),
    ]
    tally = Tally.of(results)
    assert tally == Tally(caught=1, equivalent=1, missed=2, invalid=1, contradicted=1)
    assert tally.faults == 4 and tally.rate == 0.5
    assert argument(replace(for_sure, at="spec/other")) is None
    record = json.loads(as_json(results, 7, {}))
    assert record["rate"] == 0.5
    grouped = {outcome: len(some) for module in record["mutants"].values() for outcome, some in module.items()}
    assert grouped["caught: deadlock"] == grouped["invalid: kernel-error"] == 1 and grouped["missed"] == 2
    assert sum(grouped.values()) == len(results)
    assert "2 of 4 faults are found (50.00%)" in as_markdown(results, 7)


# In the simulator: 26 faults of two modules, as in the full run, and their argued mutants on one case, two schedules.

SAMPLED = (GENERATED[0], GENERATED[2])
EACH = 13


def _first_case(at: str) -> Subject:
    subject = generated(at)
    return replace(subject, cases=subject.cases[:1])


@pytest.mark.parametrize("at", SAMPLED, ids=lambda at: at.split("/")[1])
def test_a_sample_of_faults_is_found_and_what_is_argued_stays_clean(at: str) -> None:
    subject = generated(at)
    made = list(mutants([(at, subject.text)]))
    argued = [m for m in made if argument(m)]
    others = [m for m in made if not argument(m)]
    sample = random.Random(1).sample(others, EACH)
    results = [Result(m, execute(subject, m)) for m in sample]
    tally = Tally.of(results)
    assert not tally.missed, [r.mutant.name for r in results if r.status == "missed"]
    assert tally.caught >= EACH - 3  # the others would not compile
    found = {m.name: o for m in argued if (o := execute(_first_case(at), m, RUNS[1:3])).verdict != "clean"}
    assert argued and not found
