"""What a bench launches is compiled before, by children: a stand-in for theirs notes what it is asked to compile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.bench.spec import Bench
from tlxgen.build import build
from tlxgen.tune.ahead import Target, compile_ahead

TEXT = (
    "kernel: gemm\nname: g\narch: sm90\ntile: {n: 128}\nschedule: {pdl: true}\n"
    "variants:\n  axes: {tasks.mma.in_flight: [0, 1], rings.ab.stages: [3, 4]}\n"
)
SHAPES = [(64, 64, 64), (128, 72, 40)]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "g.yaml"
    path.write_text(TEXT)
    return path


def asked(spec: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[list[Any], list[Any]]:
    """What the children were asked, and what the caller was told."""
    log = folder / "log"
    monkeypatch.setenv("NOTING_LOG", str(log))
    monkeypatch.setenv("TRITON_CACHE_DIR", "")  # set by compile_ahead, and put back
    told: list[Any] = []
    bench = Bench(spec, build(spec).folder, **options)
    target = Target((9, 0), 132, 2, module="tests.bench.noting_child")
    compile_ahead([(shape, bench) for shape in SHAPES], target, lambda done, total: told.append((done, total)))
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else [], told


def test_each_structure_as_it_picks_for_each_shape(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asks, told = asked(spec, tmp_path, monkeypatch)
    assert sorted((a["candidate"]["key"], tuple(a["shape"])) for a in asks) == sorted(
        (name, shape) for name in ("g_in_flight0", "g_in_flight1") for shape in SHAPES
    )
    assert {a["candidate"]["options"] for a in asks} == {None}
    assert told == [(i, 4) for i in (1, 2, 3, 4)]


def test_each_config_if_all_are_timed(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asks, told = asked(spec, tmp_path, monkeypatch, every_config=True)
    stages = {(a["candidate"]["key"], a["candidate"]["options"]["kwargs"]["STAGES"]) for a in asks}
    assert len(asks) == len(told) == 8
    assert {s for _, s in stages} == {3, 4}
    assert all(f"rings.ab.stages={s}" in name for name, s in stages)


def test_a_few_kernels_are_compiled_where_they_are_launched(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tlxgen.tune.ahead.FROM", 5)
    assert asked(spec, tmp_path, monkeypatch) == ([], [])


@pytest.mark.compiles
def test_a_child_compiles_what_the_host_function_picks(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRITON_CACHE_DIR", "")
    monkeypatch.setattr("tlxgen.tune.ahead.FROM", 1)
    compile_ahead([(SHAPES[0], Bench(spec, build(spec).folder))], Target((9, 0), 132, 1), lambda done, total: None)
    assert len(list((tmp_path / "cache" / "tune" / "triton").glob("*/g_in_flight*_kernel.cubin"))) == 2
