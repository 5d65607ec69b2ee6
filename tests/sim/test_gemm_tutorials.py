"""GEMM, layernorm and vector tutorials of the fbtriton wheel, unmodified, through their own host functions."""

from __future__ import annotations

import pytest

from benchmarks.tutorials.gemm import ROWS
from benchmarks.tutorials.row import Tutorial, simulate

RUNS = (("starved", 2), ("lazy", 3))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name.replace(" ", "_"))
def test_findings_are_those_that_are_explained(row: Tutorial) -> None:
    report = simulate(row, RUNS)
    assert not row.unexplained(report)
    assert report.ids & {*row.warnings} == {*row.warnings}
    assert bool(report.errors) == bool(row.defects)
