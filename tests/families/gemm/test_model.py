"""The model of time: what was measured, and what must hold of any estimate."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import fit_gemm, gemm_times
from tlxgen.families.gemm import cost, model
from tlxgen.families.gemm.cost import MEASURED, RATES
from tlxgen.families.gemm.model import (
    CUT,
    Clocks,
    Correction,
    Gpu,
    Kernel,
    Times,
    Types,
    lent_slots,
    part_slots,
    row_cost,
)
from tlxgen.families.gemm.plan import build
from tlxgen.families.gemm.spec import GemmSpec

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results" / "gemm_times_h200.json"
ROWS = Types(a=2, b=2, c=2, a_along_k=True, b_along_k=False)
GROUPS = fit_gemm.read(RESULTS)
SPACE = next(g.beaten + g.kernels for g in GROUPS if g.beaten)  # all that hopper_gemm_tuned was tuned over
H200 = Gpu("NVIDIA H200", 132)


def best(shape: tuple[int, int, int], *, below: float = 1.02) -> list[Kernel]:
    """The kernels of the space whose estimated time is next to the least."""
    times = Times(SPACE, ROWS, RATES)(shape, H200)
    return [k for k, time in zip(SPACE, times, strict=True) if time < below * min(times)]


# --- in C ----------------------------------------------------------------------------------------------------------


def drawn_kernel(random: Random) -> Kernel:
    """A kernel of fields that hold each by itself, if not together."""
    tail = random.choice(model.TAILS)
    whole = tail == "whole" and random.random() < 0.4
    return Kernel(
        tile=(
            random.choice([64, 128, 192]),
            random.choice([*range(72, 249, 8)] if whole else [32, 64, 96, 160, 256]),
            64,
        ),
        stages=random.randrange(2, 9),
        group_m=random.choice([1, 4, 8, 16]),
        consumers=random.choice([1, 2, 3]),
        overlap=random.random() < 0.3,
        persistent=random.random() < 0.8,
        cluster=random.choice([(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 4, 1), *([] if tail in CUT else [(1, 1, 2)])]),
        split=random.choice([1, 1, 4]) if tail == "whole" else 1,
        tail=tail,
        swap=random.random() < 0.5,
        load_by=random.choice(["tma", "tma", "pointers", "pointers_a", "pointers_b"]),
        pdl=random.random() < 0.5,
        in_flight=random.random() < 0.5,
        direct=random.random() < 0.2,
        ahead=random.choice([4, 8, 16]),
        whole=whole,
        edge=random.choice([0, 0, 32, 64]),
    )


def drawn_correction(random: Random) -> Correction:
    widths = 44, 7, 5, 1
    count = sum((inputs + 1) * units for inputs, units in itertools.pairwise(widths))
    return Correction(widths, tuple(random.gauss(0, 0.12) for _ in range(count)))


def drawn_problem(random: Random) -> tuple[tuple[int, int, int], Gpu, tuple[float, float] | None]:
    m, n, k = (int(math.exp(random.uniform(0, math.log(20000)))) for _ in range(3))
    a, b = (float(random.randrange(0, 128, random.choice([1, 2, 8, 16]))) for _ in range(2))
    gpu = Gpu("", random.choice([132, 114, 16, 1]), random.choice([None, 1.7]), random.choice([None, 3e6]))
    return (m, n, k), gpu._replace(l2=random.choice([None, 30 << 20])), random.choice([None, (a, b)])


@pytest.mark.parametrize("seed", range(12))
def test_c_gives_the_bits_that_python_gives(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton.runtime.build")
    if model.compiled() is None:
        pytest.skip("no C compiler")
    random = Random(seed)
    along = [random.random() < 0.5 for _ in range(2)]
    types = Types(*random.choice([(2, 2, 2), (1, 1, 2), (2, 2, 4)]), *along, promote=random.random() < 0.2)
    kernels = [drawn_kernel(random) for _ in range(60)]
    times, plain = Times(kernels, types, RATES, drawn_correction(random)), Times(kernels, types, RATES)
    problems = [drawn_problem(random) for _ in range(40)]
    in_c = [times(*p) for p in problems]
    least, uncorrected = ([x.least(*p) for p in problems] for x in (times, plain))
    assert (least != uncorrected) == (types.a == types.b == 2 and not types.promote)
    cut = [i for i, kernel in enumerate(times.kernels) if kernel.tail in CUT]
    cuts = [times.cut(i, *p) for i in cut for p in problems]
    assert cut and len({parts for _, parts, _ in cuts}) > 2
    monkeypatch.setattr(model, "compiled", lambda: None)
    assert [times(*p) for p in problems] == in_c
    assert [times.least(*p) for p in problems] == least
    assert [plain.least(*p) for p in problems] == uncorrected
    assert [times.cut(i, *p) for i in cut for p in problems] == cuts


def test_without_a_compiler_python_picks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    build = pytest.importorskip("triton.runtime.build")
    monkeypatch.setattr(
        build, "compile_so_from_src", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("no compiler"))
    )
    model.compiled.cache_clear()
    try:
        assert model.compiled() is None
        assert Times(SPACE, ROWS, RATES).least((300, 400, 500), H200) >= 0
    finally:
        model.compiled.cache_clear()


# --- what was measured ----------------------------------------------------------------------------------------------


def test_the_error_on_what_was_measured_is_the_one_that_is_recorded() -> None:
    record = json.loads(cost.RATES_FILE.read_text())
    fitted_to = [group for name in record["fitted_to"] for group in fit_gemm.read(RESULTS.with_name(name))]
    found = fit_gemm.Error.of(fitted_to, RATES).summary()
    assert {key: pytest.approx(value, abs=2e-3) for key, value in record["error"].items()} == found
    assert found["loss_mean"] < 1.025 and found["loss_worst"] < 1.4
    assert record["error_on_shapes_left_out"]["loss_mean"] < 1.03


@pytest.mark.parametrize("group", [g for g in GROUPS if g.source.startswith("odd")], ids=lambda g: str(g.shape))
def test_of_two_tiles_that_one_is_picked_that_suffers_less_from_odd_strides(group: fit_gemm.Group) -> None:
    times = Times(group.kernels, group.types, RATES)(group.shape, H200)
    picked = group.us[times.index(min(times))]
    assert picked <= 1.06 * min(group.us)


@pytest.mark.parametrize(
    ("shape", "tiles"),
    [
        ((2897, 14504, 16032), {(128, 256), (256, 128)}),  # odd strides: tiles that load less for each product
        ((3000, 5000, 4096), {(128, 256), (256, 128)}),
        ((7100, 912, 2424), {(128, 256), (256, 128)}),
        ((260, 256, 1280), {(64, 64)}),  # few tiles
        ((1546, 576, 896), {(64, 64), (64, 128), (128, 64)}),
        ((135, 1536, 7168), {(64, 64)}),
        ((32, 3200, 3680), {(64, 64), (128, 128)}),  # the latter cut along K
        ((1, 28672, 8192), {(64, 128), (64, 256)}),  # one row: bound by memory
    ],
)
def test_shapes_that_a_table_got_wrong_have_kernels_of_their_kind(
    shape: tuple[int, int, int], tiles: set[tuple[int, int]]
) -> None:
    assert {k.tile[:2] for k in best(shape)} <= tiles


def test_a_shape_is_not_served_by_the_winner_of_the_next_power_of_two() -> None:
    """1536^3 fills a round with 64 x 128, but neither one nor two with the 128 x 128 that win at 2048^3."""
    winner = Kernel((128, 128, 64), 6, group_m=16, overlap=True)
    times = Times([winner, *SPACE], ROWS, RATES)((1536, 1536, 1536), H200)
    assert times[0] > 1.05 * min(times)


@pytest.mark.parametrize("group", [g for g in GROUPS if g.beaten], ids=lambda g: str(g.shape))
def test_no_kernel_that_was_beaten_is_estimated_to_be_much_faster_than_the_fastest(group: fit_gemm.Group) -> None:
    times = Times((*group.kernels, *group.beaten), group.types, RATES)(group.shape, H200)
    assert times[group.us.index(min(group.us))] < 1.1 * min(times)


# --- what must hold -------------------------------------------------------------------------------------------------

extent = st.integers(1, 20000)
kernel = st.builds(
    Kernel,
    tile=st.tuples(
        st.sampled_from((64, 128, 192, 256)), st.sampled_from((16, 64, 128, 256)), st.sampled_from((64, 128))
    ),
    stages=st.integers(2, 12),
    group_m=st.sampled_from((1, 4, 8, 16)),
    consumers=st.integers(1, 3),
    overlap=st.booleans(),
    persistent=st.booleans(),
    cluster=st.sampled_from(((1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 4))),
    split=st.sampled_from((1, 2, 16)),
    tail=st.sampled_from(("whole", "split", "helped", *CUT)),
    swap=st.booleans(),
    load_by=st.sampled_from(("tma", "pointers", "pointers_a", "pointers_b")),
    pdl=st.booleans(),
    in_flight=st.booleans(),
    direct=st.booleans(),
    ahead=st.sampled_from((4, 8, 16)),
    edge=st.sampled_from((0, 16, 32)),
).map(lambda k: k._replace(cluster=(1, 1, 1), split=1) if k.tail in CUT else k)  # others are refused
pitch = st.integers(0, 7).map(lambda x: 16 * x)


@pytest.mark.parametrize("columns", [96, 160, 192, 224])
def test_products_that_share_the_columns_take_no_less_than_one_would(columns: int) -> None:
    """Each has a bound of its own: 192 columns by 128 and 64 take longer than three quarters of 256."""
    power = 1 << columns.bit_length() - 1
    tiles = [Kernel((128, n, 64), 4) for n in (columns, power, 2 * power)]
    time, least, most = Times(tiles, ROWS, RATES)((128, columns, 65536), Gpu("", 132))
    assert time > least + (most - least) * (columns - power) / power


@settings(deadline=None)
@given(kernel, extent, extent, extent, st.tuples(pitch, pitch), st.integers(1, 200))
def test_every_kernel_has_a_time_for_every_shape(
    one: Kernel, m: int, n: int, k: int, pitches: tuple[int, int], sms: int
) -> None:
    (time,) = Times([one], ROWS, RATES)((m, n, k), Gpu("", sms), pitches)
    assert 0 < time < math.inf
    products = m * n * k / (2048 * sms * RATES.ghz * 1e3)
    assert time > products


@settings(deadline=None)
@given(kernel.filter(lambda k: k.load_by == "tma"), extent, extent, extent)
def test_operands_that_no_cache_holds_are_read_from_memory(one: Kernel, m: int, n: int, k: int) -> None:
    """Also by few CTAs, by tiles of few rows, and where a tile is cut along K."""
    operands = 2 * (m + n) * k
    if operands > 2 * RATES.l2_bytes:
        (time,) = Times([one], ROWS, RATES)((m, n, k), H200)
        assert time > 0.6 * operands / RATES.peak


@settings(deadline=None)
@given(kernel, extent, extent, extent)
def test_a_better_device_is_not_slower(one: Kernel, m: int, n: int, k: int) -> None:
    times = Times([one], ROWS, RATES)
    (time,) = times((m, n, k), H200)
    assert times((m, n, k), H200._replace(memory=2 * RATES.peak))[0] <= time * (1 + 1e-9)
    assert times((m, n, k), H200._replace(ghz=2 * RATES.ghz))[0] <= time * (1 + 1e-9)
    assert times((m, n, k), MEASURED)[0] == pytest.approx(time, rel=0.05)  # what torch says of it is what was assumed


@settings(deadline=None)
@given(kernel.filter(lambda k: k.tail not in CUT), extent, extent, extent, st.tuples(pitch, pitch))
def test_exchanged_operands_take_the_time_of_the_transpose(
    one: Kernel, m: int, n: int, k: int, pitches: tuple[int, int]
) -> None:
    """But for stripes of sums, which are rows of C that exist."""
    other = {"pointers_a": "pointers_b", "pointers_b": "pointers_a"}.get(one.load_by, one.load_by)
    along_m, along_n, along_k = one.cluster
    plain = one._replace(swap=False, load_by=other)
    swapped = one._replace(swap=True, cluster=(along_n, along_m, along_k))
    (time,) = Times([swapped], ROWS, RATES)((m, n, k), H200, pitches)
    turned = ROWS._replace(a_along_k=ROWS.b_along_k, b_along_k=ROWS.a_along_k)
    assert time == Times([plain], turned, RATES)((n, m, k), H200, pitches[::-1])[0]


@settings(deadline=None)
@given(kernel.filter(lambda k: k.tail == "whole"), extent, extent, extent)
def test_a_longer_sum_takes_longer(one: Kernel, m: int, n: int, k: int) -> None:
    times = Times([one], ROWS, RATES)
    assert times((m, n, 2 * k), H200, (0, 0))[0] >= times((m, n, k), H200, (0, 0))[0] * (1 - 1e-9)


@settings(deadline=None)
@given(kernel, extent, extent, extent, pitch, pitch)
def test_rows_that_begin_with_a_line_are_the_fastest(one: Kernel, m: int, n: int, k: int, a: int, b: int) -> None:
    times = Times([one._replace(tail="whole")], ROWS, RATES)
    assert times((m, n, k), H200, (a, b))[0] >= times((m, n, k), H200, (0, 0))[0]


def test_what_a_row_costs_is_by_lines_and_sectors() -> None:
    assert row_cost(0, RATES) == row_cost(256, RATES) == 1
    assert 1 < row_cost(64, RATES) < row_cost(32, RATES) == row_cost(96, RATES) < row_cost(16, RATES)


@settings(deadline=None)
@given(st.integers(1, 131), st.integers(1, 512), st.floats(64, 4096))
def test_a_tail_is_shared_out_within_what_there_is(left: int, slots: int, slot: float) -> None:
    assert 1 <= part_slots(left, slots, slot, 132, 16) <= slots
    assert 0 <= lent_slots(left, slots, slot, 132) < slots


@settings(deadline=None)
@given(kernel.filter(lambda k: k.cluster == (1, 1, 1)), extent, extent, extent, st.integers(1, 200), st.integers(1, 16))
def test_tiles_are_cut_as_far_as_a_workspace_has_room_and_never_for_the_worse(
    one: Kernel, m: int, n: int, k: int, sms: int, ahead: int
) -> None:
    one = one._replace(tail="last", split=1, ahead=ahead)
    gpu, rows, columns, slots = Gpu("", sms), one.tile[0], one.tile[1], -(-k // one.tile[2])
    tiles = -(-n // rows) * -(-m // columns) if one.swap else -(-m // rows) * -(-n // columns)
    whole, parts, part = Times([one], ROWS, RATES).cut(0, (m, n, k), gpu, (0, 0))
    assert 0 <= whole <= tiles and (parts > 1) == (whole < tiles) and whole % sms == 0 or parts == 1
    assert part * (parts - 1) < slots <= part * parts  # no part is empty
    assert parts <= min(ahead, 16) and (tiles - whole) * parts <= 4 * sms
    clocks = Clocks(one, ROWS, gpu, RATES)
    assert clocks(m, n, k, 1, 1)[0] <= clocks(m, n, k, 1, 1, (tiles, 1, slots))[0] * (1 + 1e-9)  # type: ignore[arg-type]


# --- what a candidate declares --------------------------------------------------------------------------------------


def plan_of(**more: Any) -> Any:
    data = {"kernel": "gemm", "name": "g", "arch": "sm90", "tile": {"m": 128, "n": 128, "k": 64}, **more}
    spec = GemmSpec.model_validate(data)
    return build(spec, guards={}, baked={}, split=False)


def test_a_plan_is_priced_by_what_it_declares() -> None:
    made = cost.kernel_of(plan_of(schedule={"tail": "split", "fix_up": "last"}))
    assert (made.tail, made.swap, made.load_by) == ("last", False, "tma")
    few = plan_of(tile={"m": 32, "n": 64, "k": 128}, tasks={"mma": {"replicate": 1, "exchange": True}})
    made = cost.kernel_of(few)
    assert (made.tile, made.swap, made.consumers) == ((64, 32, 128), True, 1)
    tall = plan_of(tile={"m": 192, "n": 64, "k": 64}, tasks={"mma": {"replicate": 1, "exchange": True}})
    assert cost.kernel_of(tall).tile == (64, 192, 64)
    assert cost.kernel_of(plan_of(tasks={"load": {"by": "pointers"}})).load_by == "pointers"
    assert not cost.kernel_of(plan_of(tasks={"specialized": False, "mma": {"warps": 8}})).specialized


def test_without_tasks_a_short_sum_begins_sooner_and_a_long_one_takes_longer() -> None:
    tasks = Kernel((64, 16, 128), 8, consumers=1, swap=True)
    alone = tasks._replace(specialized=False)
    times = Times([tasks, alone], Types(2, 2, 2, True, True), cost.RATES)
    short, long, many = ((8, 1536, 384), (8, 1536, 16384), (8, 16384, 384))
    assert [times.least(shape, cost.MEASURED) for shape in (short, long, many)] == [1, 0, 0]


def test_rows_that_tma_cannot_address_are_for_kernels_that_do_without_it() -> None:
    kernels = [Kernel((128, 128, 32), 6, load_by=by) for by in ("tma", "pointers", "pointers_a", "pointers_b")]
    times = Times(kernels, ROWS, RATES)
    assert times((4096, 4096, 4096), H200)[0] < times((4096, 4096, 4096), H200)[1] < math.inf
    for pitches, copied in (((4, 0), 2), ((0, 98), 3)):
        found = times((4096, 4095, 4097), H200, pitches)
        assert found[copied] < found[1] < math.inf
        assert [time for i, time in enumerate(found) if i not in (1, copied)] == [math.inf] * 2


def test_narrow_copies_take_longer_and_single_elements_have_to_fit_into_registers() -> None:
    small, large = (Kernel((128, 128, k), 6, load_by="pointers_a") for k in (32, 64))
    times = Times([small, large], ROWS, RATES)
    by_width = [times((512, 4096, 4096), H200, (pitch, 0)) for pitch in (8, 4, 2)]
    assert [small for small, _ in by_width] == sorted(small for small, _ in by_width)
    assert by_width[2][1] == math.inf > by_width[2][0]


def test_rows_along_k_that_tma_can_load_are_not_copied() -> None:
    by_tma = Kernel((128, 32, 64), 8, consumers=1, swap=True, tail="last")
    kernels = [by_tma, by_tma._replace(load_by="pointers_a")]
    loaded, copied = Times(kernels, ROWS, RATES)((20, 12648, 440), H200)
    assert copied > 1.3 * loaded
    few_rows = ROWS._replace(a_along_k=False)  # neighbours of A are its rows, 8 of them: boxes of TMA are mostly empty
    loaded, copied = Times(kernels, few_rows, RATES)((8, 6512, 1712), H200)
    assert copied < 1.3 * loaded


def test_rows_beyond_the_end_cost_little_by_small_boxes_or_in_few_ctas() -> None:
    whole = Kernel((64, 128, 64), 8, consumers=1, swap=True)
    times = Times([whole, whole._replace(edge=32)], ROWS, RATES)
    (all_filled, all_boxed), (filled, boxed) = times((71, 7168, 2048), H200), times((8 * 128 + 71, 768, 2048), H200)
    assert all_filled > 1.08 * all_boxed  # each CTA has 57 rows of zeros, which all SMs fill together
    assert filled < 1.03 * boxed  # one CTA in nine has


def test_boxes_as_high_as_a_tile_or_higher_change_nothing() -> None:
    for rows in (16, 32):
        whole = Kernel((64, rows, 128), 8, consumers=1, swap=True)
        plain, boxed = Times([whole, whole._replace(edge=32)], ROWS, RATES)((40, 4096, 4096), H200)
        assert plain == boxed


# --- the scripts ----------------------------------------------------------------------------------------------------


def test_what_a_run_writes_is_what_the_fit_reads(tmp_path: Path) -> None:
    us = {Kernel((64, 64, 128), 4, consumers=1, cluster=(1, 2, 1)): 12.5, Kernel((128, 128, 64), 6, overlap=True): 11.0}
    entry = gemm_times.group("a run", Times([*us], ROWS, RATES), (100, 200, 300), (88, 16), us)
    gemm_times.write(tmp_path / "times.json", "NVIDIA H200", [entry])
    (group,) = fit_gemm.read(tmp_path / "times.json")
    assert group == fit_gemm.Group("a run", ROWS, (100, 200, 300), (88, 16), tuple(us), tuple(us.values()), True)
    gemm_times.write(tmp_path / "times.json", "NVIDIA H100", [entry])
    with pytest.raises(ValueError, match="measured on NVIDIA H100, and not on one of NVIDIA H200"):
        fit_gemm.read(tmp_path / "times.json")


def test_the_shapes_of_a_run_are_drawn_by_its_seed() -> None:
    shapes = gemm_times.design(0)
    assert shapes == gemm_times.design(0) != gemm_times.design(1)
    assert 50 <= len(set(shapes)) == len(shapes) <= 70
    assert all(n % 8 == k % 8 == 0 < m for m, n, k in shapes), "what TMA can address, and store"
    assert sum(n % 64 != 0 or k % 64 != 0 for _, n, k in shapes) >= 10


def test_a_kind_of_shapes_is_what_a_kernel_is_compiled_for() -> None:
    assert gemm_times.kind_of((1, 4096, 4104)) == (1, 16, 24)
    assert gemm_times.kind_of((7, 4100, 4098)) == (17, 20, 18)


def test_candidates_of_a_package_go_by_the_layout_of_operands() -> None:
    folder = Path(__file__).resolve().parents[3] / "generated" / "hopper_gemm_any_rows"
    paths = gemm_times.modules([folder], "_col_(row|col)$")
    assert [path.stem.removeprefix("hopper_gemm_any_rows_") for path in paths] == ["col_col", "col_row"]
    found = gemm_times.of_layouts(gemm_times.candidates(paths))
    assert [gemm_times.layout_of(times.types) for _, times in found] == ["col col", "col row"]
    assert all(len(same) == len(times.kernels) == 3 for same, times in found)


def test_a_fit_finds_rates_by_which_times_were_made() -> None:
    made = RATES._replace(l2=65.0, store=60.0, launch=2.9, start=3800.0)
    groups = []
    for shape in ((512, 512, 4096), (4096, 4096, 4096), (1024, 1024, 1024)):
        us = tuple(Times(SPACE[:40:4], ROWS, made)(shape, H200))
        groups.append(fit_gemm.Group("made", ROWS, shape, (0, 0), SPACE[:40:4], us))
    begin = {name: getattr(RATES, name) for name in fit_gemm.FITTED}
    found = fit_gemm.fit(groups, begin, restarts=2)
    before, after = (fit_gemm.Error.of(groups, RATES._replace(**values)).summary() for values in (begin, found))
    assert before["absolute"] > 0.05 and after["absolute"] < 0.5 * before["absolute"]
    assert after["within_group"] <= before["within_group"]
