"""Attention kernels of the fbtriton wheel, unmodified, through their own host functions."""

from __future__ import annotations

import pytest

from benchmarks.tutorials.attention import ROWS
from benchmarks.tutorials.row import Tutorial, load, simulate
from tlxgen.sim import Run, load_module, verify

# One schedule each, in turn: all of them on all rows are minutes (python -m benchmarks.tutorials).
RUNS: tuple[Run, ...] = (("random", 0), ("starved", 2), ("lazy", 3))


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[row.name.replace(" ", "_").replace(",", "") for row in ROWS])
def test_findings_are_those_that_are_explained(number: int) -> None:
    row = ROWS[number]
    report = simulate(row, RUNS if row.defects else RUNS[number % len(RUNS) :][:1])
    assert not row.unexplained(report)
    assert report.ids >= {*row.warnings}
    assert bool(report.errors) == bool(row.defects)


def _backward(variant: str) -> Tutorial:
    return next(row for row in ROWS if row.name.endswith(f"backward {variant}"))


@pytest.mark.parametrize("variant", ["1 CTA", "1 CTA, warp barriers", "2 CTAs"])
def test_a_barrier_between_warpgroups_is_missed(variant: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """P overwrites the scores that the other warpgroup may still read, in tensor memory that they share."""
    row = _backward(variant)
    source = load(row.module, row.arch).__file__
    assert source is not None
    with open(source) as file:
        text = file.read()
    barrier = "tlx.named_barrier_wait(QK_READ_DONE_BAR, NUM_COMPUTE_THREADS)"
    assert text.count(barrier) == 1
    path = tmp_path_factory.mktemp("mutant") / "backward.py"
    path.write_text(text.replace(barrier, "pass"))
    module = load_module(path, row.arch)
    report = verify(lambda session: row.run(module, session) and None, RUNS[:1], arch=row.arch)
    assert {s.finding.id for s in report.errors} == {"warp-hazard"}
