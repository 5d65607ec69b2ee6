"""Times in a chain, shapes drawn at random, what is said of many of them, and records held against each other."""

from __future__ import annotations

import dataclasses
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tlxgen.bench import draw, summary  # noqa: E402
from tlxgen.bench.comparison import LINK, Row, _with_chain, time_problem  # noqa: E402
from tlxgen.bench.gpu import LINK_US, Gpu, Replay  # noqa: E402
from tlxgen.bench.report import Record  # noqa: E402
from tlxgen.bench.timing import Figure  # noqa: E402
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


def test_a_ratio_of_chains_is_as_uncertain_as_both_without_the_rest_of_the_chain() -> None:
    """A chain of 30 us that is 2 % uncertain, 10 us of which are not the kernel: the kernel is 3 % uncertain."""
    times = {"torch in a chain": (50.0, 0.032), "mine in a chain": (30.0, 0.02), LINK: (10.0, 0.0)}
    figures = {name: Figure(us, spread, 0.0, 8, False) for name, (us, spread) in times.items()}
    mine = _with_chain(row("mine", (1,), None, spread=0.5), figures, "torch")
    assert (mine.chain_speedup, mine.chain_spread) == (2.0, pytest.approx(0.05))
    short = {**figures, "mine in a chain": Figure(12.5, 0.024, 0.0, 8, False)}
    mine = _with_chain(row("mine", (1,), None), short, "torch")
    assert (mine.chain_speedup, mine.chain_spread) == (4.0, pytest.approx(0.04))


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
    """`spread` is of the ratio; back to back, there is more noise in all of them."""
    figures = {"chain_speedup": ratio, "chain_spread": spread, "spread": 0.2}
    return Row(shape, name, "", latency=1.0, tflops=1.0, gbps=1.0, error=error, **figures)


def test_many_shapes_in_a_few_figures() -> None:
    rows = [row("torch", (i,), 1.0) for i in range(21)] + [row("mine", (i,), 0.8 + i / 50) for i in range(21)]
    table = summary.of_rows([*rows, row("mine", (99,), None, error="boom")])
    assert [list(map(str, cells)) for cells in table.rows] == [
        ["torch", "21", "1.000", "1.000", "1.000", "100%", ""],
        ["mine", "22", "0.993", "0.820", "0.800", "52%", "1"],
    ]


def test_what_had_shapes_of_its_own_is_summed_up_together() -> None:
    rows = [row("torch for a", (1,), 1.0), row("a", (1,), 2.0), row("torch for b", (2,), 1.0), row("b", (2,), 0.5)]
    table = summary.of_rows(rows, ["a", "b"])
    assert list(map(str, table.rows[-1]))[:5] == ["these 2 together", "2", "1.000", "0.575", "0.500"]
    assert len(table.rows) == 5 and len(summary.of_rows(rows).rows) == 4


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
    old = [dataclasses.replace(r, chain_speedup=None, chain_spread=None, speedup=1.1, spread=0.0) for r in before[:1]]
    assert summary.against(old, [dataclasses.replace(old[0], speedup=1.05)])[1]
    assert not summary.against(old, [dataclasses.replace(old[0], speedup=1.05, spread=0.02)])[1]
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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--random", "3", "--shapes", "64x64x64"], "--random cannot be combined with --shapes or --every-config"),
        (["--random", "3", "--every-config"], "--random cannot be combined with --shapes or --every-config"),
        (["--seed", "3"], "--seed needs --random"),
    ],
)
def test_options_that_do_not_go_together(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    said: str,
) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    from tlxgen import cli

    (tmp_path / "g.yaml").write_text("kernel: gemm\nname: g\narch: sm90\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tlxgen", "bench", "g.yaml", *options])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_of_drawn_shapes_what_people_call_is_timed(tmp_path: Path) -> None:
    pytest.importorskip("triton.language.extra.tlx")
    from tlxgen.bench.spec import Bench
    from tlxgen.build import build

    path = tmp_path / "g.yaml"
    path.write_text("kernel: gemm\nname: g\narch: sm90\nvariants:\n  axes: {tasks.mma.in_flight: [0, 1]}\n")
    bench = Bench(path, build(path).folder)
    bench.picks_only = True
    assert [one.name for one in bench.cases((64, 64, 64))] == ["torch", "g"]


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("triton.language.extra.tlx")
    from tlxgen.bench.spec import Bench
    from tlxgen.build import build

    path = tmp_path_factory.mktemp("layouts") / "g.yaml"
    axes = "{problem.a.layout: [row, col], problem.b.layout: [row, col], tasks.mma.in_flight: [0, 1]}"
    path.write_text(f"kernel: gemm\nname: g\narch: sm90\nvariants:\n  axes: {axes}\n")
    bench = Bench(path, build(path).folder)
    bench.picks_only = True
    return bench


def test_layouts_come_a_quarter_each_in_no_order(layouts: Any) -> None:
    parts = layouts.apart()
    dealt = [parts.index(part) for part in draw.dealt(parts, 40, 3)]
    assert all(sorted(dealt[i : i + 4]) == [0, 1, 2, 3] for i in range(0, 40, 4))
    assert len({tuple(dealt[i : i + 4]) for i in range(0, 40, 4)}) > 3
    assert dealt == [parts.index(part) for part in draw.dealt(parts, 40, 3)]
    assert dealt[:7] == [parts.index(part) for part in draw.dealt(parts, 7, 3)]
    assert dealt != [parts.index(part) for part in draw.dealt(parts, 40, 4)]


def test_each_shape_is_timed_in_its_layout_alone(layouts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tlxgen.verbs import bench as verb

    parts = layouts.apart()
    wanted = [*zip([(64, 64, 64), (64, 64, 128), (64, 128, 64), (128, 64, 64)], parts, strict=True)]
    assert verb._called(wanted) == ["g", "g_b_col", "g_a_col", "g_a_col_b_col"]
    strides = [part.problem(shape, torch.device("cpu")).inputs() for shape, part in wanted]
    assert [(t["a"].stride(1) == 1, t["b"].stride(1) == 1) for t in strides] == [
        *((True, True), (True, False), (False, True), (False, False))
    ]
    assert all(
        [case.name for case in part.cases(shape)][1:] == [name]
        for (shape, part), name in zip(wanted, verb._called(wanted), strict=True)
    )
