"""Times in a chain, shapes drawn at random, what is said of many of them, and records held against each other."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tlxgen.bench import draw, summary  # noqa: E402
from tlxgen.bench.comparison import Row, time_problem  # noqa: E402
from tlxgen.bench.gpu import LINK_US, Gpu, Replay  # noqa: E402
from tlxgen.bench.report import Record  # noqa: E402
from tlxgen.errors import TlxgenError  # noqa: E402

from .test_comparison import FakeGpu, case, problem  # noqa: E402


def test_a_long_kernel_is_the_chain_less_the_chain_without() -> None:
    base, mine = time_problem(problem(), [case("torch", 40, True), case("mine", 20)], FakeGpu())
    assert (base.chain, mine.chain) == (pytest.approx(0.0405), pytest.approx(0.0205))
    assert mine.chain_speedup == pytest.approx(40.5 / 20.5)
    assert (base.speedup, base.chain_speedup, mine.speedup) == (1, 1, 2)


def test_of_a_short_kernel_the_chains_are_compared() -> None:
    """A difference of two figures of a few microseconds would be noise."""
    _, mine = time_problem(problem(), [case("torch", 9, True), case("mine", 6)], FakeGpu())
    assert mine.chain == pytest.approx(0.0065)
    assert mine.chain_speedup == pytest.approx(11.5 / 8.5)


def test_a_case_that_failed_has_no_chain_and_no_baseline_no_ratio() -> None:
    wrong, mine = time_problem(problem(), [case("torch", -5, True), case("mine", 20)], FakeGpu())
    assert (wrong.chain, wrong.chain_speedup, mine.chain_speedup) == (None, None, None)
    assert mine.chain == pytest.approx(0.0205)
    assert time_problem(problem(), [case("torch", 9, True)], FakeGpu(), chain=False)[0].chain is None


def test_the_chain_of_a_gpu_has_a_small_kernel_after_each_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the inputs; what is captured is what is replayed."""
    ran: list[str] = []
    gpu = object.__new__(Gpu)
    gpu.device = torch.device("cpu")
    monkeypatch.setattr(Gpu, "_link", lambda self: lambda: ran.append("link"))
    captured: list[Any] = []
    monkeypatch.setattr(Replay, "__init__", lambda self, runs, launches: captured.append((runs, launches)))
    gpu.chain([lambda: ran.append("a"), lambda: ran.append("b")], 10.0)
    gpu.link()
    (runs, launches), (alone, _) = captured
    for run in (*runs, *alone):
        run()
    assert ran == ["a", "link", "b", "link", "link"]
    assert launches == gpu.launches(2, 10.0 + LINK_US)


def row(name: str, shape: tuple[int, ...], ratio: float | None, spread: float = 0.0, error: str = "") -> Row:
    return Row(shape, name, "", latency=1.0, tflops=1.0, gbps=1.0, chain_speedup=ratio, spread=spread, error=error)


def test_many_shapes_in_a_few_figures() -> None:
    rows = [row("torch", (i,), 1.0) for i in range(21)] + [row("mine", (i,), 0.8 + i / 50) for i in range(21)]
    table = summary.of_rows([*rows, row("mine", (99,), None, error="boom")])
    assert [list(map(str, cells)) for cells in table.rows] == [
        ["torch", "21", "1.000", "1.000", "1.000", "100%", ""],
        ["mine", "22", "0.993", "0.820", "0.800", "52%", "1"],
    ]


def test_a_record_says_what_fell(tmp_path: Path) -> None:
    before = [row("mine", (1,), 1.1), row("mine", (2,), 1.1, 0.02), row("mine", (3,), 1.1), row("mine", (4,), 1.1)]
    now = [
        row("mine", (1,), 1.05),
        row("mine", (2,), 1.05),
        row("mine", (3,), 1.09),
        row("mine", (4,), None, error="x"),
    ]
    path = tmp_path / "before.json"
    path.write_text(Record({"device": "Fake"}, tuple(before)).as_json())
    table, fell = summary.against(summary.read(path), now)
    assert fell and [cells[0] for cells in table.rows] == ["1", "4"]
    assert not summary.against(before, before)[1]
    with pytest.raises(TlxgenError, match="no kernel and shape in common"):
        summary.against(before, [row("other", (1,), 1.0)])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rows": [{"shape": [1]}]}', json.dumps({"rows": []})])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(TlxgenError, match=r"r\.json (is not a record|has no ratio)"):
        summary.read(path)


@pytest.mark.parametrize(
    "spec", ["hopper_gemm_tuned", "hopper_attention_fwd", "hopper_attention_bwd", "hopper_rms_norm_bwd"]
)
def test_drawn_shapes_are_the_family_s_and_the_same_for_a_seed(spec: str) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    from tlxgen.bench.spec import Bench

    path = Path(__file__).parents[2] / "specs" / f"{spec}.yaml"
    bench = Bench(path, path.parents[1] / "generated" / spec)
    drawn = draw.shapes(bench, 100, 7)
    assert drawn == draw.shapes(bench, 100, 7) != draw.shapes(bench, 100, 8)
    assert len(set(drawn)) == 100 and not any(bench.family.wrong_shape(shape) for shape in drawn)
    assert drawn[:10] == draw.shapes(bench, 10, 7)  # a longer list begins as a shorter one


def test_gemms_are_distributed_as_declared() -> None:
    from tlxgen.families.gemm.benchmark import WEIGHTS, drawn

    rng = random.Random(0)
    shapes = [shape for _ in range(2000) if (shape := drawn(None, rng))]  # type: ignore[arg-type]
    assert len(shapes) > 1500 and all(2 * m * n * k < 6e12 for m, n, k in shapes)
    assert all(1 <= m <= 16384 and n % 8 == k % 8 == 0 for m, n, k in shapes)
    assert 0.3 < sum((n, k) in WEIGHTS for _, n, k in shapes) / len(shapes) < 0.5
    assert 0.4 < sum(m <= 256 for m, _, _ in shapes) / len(shapes) < 0.8


def test_random_shapes_and_named_ones_do_not_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    from tlxgen import cli

    (tmp_path / "g.yaml").write_text("kernel: gemm\nname: g\narch: sm90\n")
    monkeypatch.chdir(tmp_path)
    for options in (["--shapes", "64x64x64"], ["--every-config"]):
        monkeypatch.setattr(sys, "argv", ["tlxgen", "bench", "g.yaml", "--random", "3", *options])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 2


def test_of_drawn_shapes_what_people_call_is_timed(tmp_path: Path) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    from tlxgen.bench.spec import Bench
    from tlxgen.build import build

    path = tmp_path / "g.yaml"
    path.write_text("kernel: gemm\nname: g\narch: sm90\nvariants:\n  axes: {tasks.mma.in_flight: [0, 1]}\n")
    bench = Bench(path, build(path).folder)
    bench.picks_only = True
    assert [one.name for one in bench.cases((64, 64, 64))] == ["torch", "g"]
