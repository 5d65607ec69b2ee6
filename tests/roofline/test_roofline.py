"""What is counted of a kernel against arithmetic by hand, and the bounds that are made of it."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from typer.testing import CliRunner

from tlxgen import families
from tlxgen.arch import Sm90, Sm100
from tlxgen.cli import app, main
from tlxgen.families import Kernels, Structure, kernels_of
from tlxgen.families.attention.sequences import lengths
from tlxgen.plan import Plan
from tlxgen.render.module import render, shared_files
from tlxgen.roofline import GPUS, Counts, Launch, Pace, Work, bound_of, units
from tlxgen.roofline.items import items_of
from tlxgen.roofline.measure import measure, run
from tlxgen.roofline.model import LAUNCH, separate
from tlxgen.roofline.trace import MOVED
from tlxgen.verbs.roofline import predicted

ROOT = Path(__file__).parent.parent.parent
SPECS, RESULTS = ROOT / "specs", ROOT / "benchmarks" / "results"


@contextmanager
def rendered(spec: str, structure: str) -> Iterator[tuple[Kernels, Structure, Path]]:
    """The module of one structure in a folder of its own: a spec has several."""
    kernels = kernels_of(SPECS / f"{spec}.yaml").some()
    family, one = kernels.family, kernels.structure(structure)
    folder, template = families.templates(family), family.template
    text = render(one, title="", provenance={}, templates=folder, template=template, for_people=False)
    with TemporaryDirectory() as made:
        for name, lines in {**shared_files(family), f"{structure}.py": text}.items():
            Path(made, name).write_text(lines)
        yield kernels, one, Path(made, f"{structure}.py")


@cache
def counted(spec: str, structure: str, shape: tuple[int, ...]) -> list[Launch]:
    with rendered(spec, structure) as (kernels, one, path):
        probed = measure(path, kernels.family, one.variants[0], 0, shape)
        return probed.at(shape, H200.sms) if probed else []


GEMM = ("hopper_gemm", "hopper_gemm_cooperative", (4096, 4096, 4096))
FORWARD = ("hopper_attention_fwd", "hopper_attention_fwd_none", (4, 32, 32, 4096, 4096))

H200 = GPUS["sm90"]
START = LAUNCH + Sm90.tma_latency  # clocks until the first load has come


def test_a_round_of_a_gemm() -> None:
    """128 x 128 x 64: each of two warpgroups reads its rows of A and all of B."""
    (launch,) = counted(*GEMM)
    assert launch.round.products == 128 * 128 * 64
    assert launch.round.exponentials == 0
    assert launch.round.smem_bytes == 2 * (128 * 64 + 2 * 64 * 128)
    assert launch.round.l2_bytes == 2 * (128 * 64 + 64 * 128)


def test_an_item_of_a_gemm_stores_c_through_smem() -> None:
    (launch,) = counted(*GEMM)
    assert launch.item.products == 0
    assert launch.item.smem_bytes == 2 * (2 * 128 * 128)  # written by threads, read by TMA
    assert launch.item.l2_bytes == 2 * 128 * 128


def test_a_round_of_attention() -> None:
    """A tile of 128 queries and 128 keys, D = 128, Q in registers: two replicas of 64 queries each read K and V."""
    (launch,) = counted(*FORWARD)
    scores, rows = 128 * 128, 128
    assert launch.round.products == 2 * scores * 128
    assert launch.round.exponentials == scores + rows  # a probability each, and what a row is rescaled by
    assert launch.round.smem_bytes == 2 * 2 * (128 * 128 * 2)
    # Maximum, multiply-add, exponential, sum, half of a rounding; O is rescaled; of a row: its maximum to log2 and
    # beside the one so far, the difference and its exponential, and the sum so far.
    assert launch.round.instructions == 4.5 * scores + rows * 128 + 5 * rows
    assert launch.round.alu == scores + rows


def test_a_polynomial_takes_work_from_the_exponential_unit() -> None:
    """Half of the exponentials of two groups' tiles, D = 64, against none of them."""
    shape, name = (4, 32, 32, 4096, 4096), "blackwell_attention_fwd_d64"
    (plain,) = counted(name, f"{name}_bf16_none", shape)
    (half,) = counted(f"{name}_polynomial", f"{name}_polynomial_none_polynomial32", shape)
    moved = 2 * 128 * 128 / 2
    more = half.round - plain.round
    assert more.exponentials == -moved
    assert more.fma == 7 * moved  # three sums of the range reduction, three of the cubic, and times 2**n
    assert more.alu == 2 * moved  # the clamp, and the shift into the exponent
    assert more.instructions == (7 + 2 - 1) * moved
    issued = {u.name: u.amount for u in units(half.round, Sm100)}["instruction issue"]
    assert issued == half.round.instructions - half.round.fma / 2  # two floats an instruction


def test_of_two_ctas_each_reads_half_of_b() -> None:
    spec, structure = "blackwell_gemm_2cta", "blackwell_gemm_2cta_leader_persistent"
    (launch,) = counted(spec, structure, (4096, 4096, 4096))
    assert launch.round.products == 128 * 128 * 64
    assert launch.round.smem_bytes == 2 * (128 * 64 + 64 * 128 / 2)


def test_of_two_ctas_64_rows_each_fill_the_tensor_core() -> None:
    """The backward's dQ: five products of 128 x 128 x 128 a tile, of four each CTA reads half of the right operand."""
    structure = "blackwell_attention_bwd_2cta_head_dim128_none"
    main, *_ = counted("blackwell_attention_bwd_2cta", structure, (4, 16, 16, 8192, 8192))
    operand = 128 * 128 * 2
    assert main.round.products == 5 * 128**3
    multiplied = 2 * 1.5 + 2 * 0.5 + 2  # S and dP; dV and dK, out of tensor memory; dQ
    dq, numbers = 2 * 64 * 128 * 4, 2 * 128 * 4
    assert main.round.smem_bytes == operand * (multiplied + 1 + 0.5) + dq + numbers  # dS stored, half of it sent


@pytest.mark.parametrize("case", [GEMM, FORWARD], ids=["gemm", "attention"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_prediction_is_never_below_what_the_products_take(case: tuple[str, str, tuple[int, ...]], times: int) -> None:
    spec, structure, shape = case
    shape = tuple(x * times for x in shape)
    kernels = kernels_of(SPECS / f"{spec}.yaml")
    variant = kernels.structure(structure).variants[0]
    alone = [replace(launch, pace=None) for launch in counted(*case)]
    clocks = predicted(kernels.family, variant, alone, shape, H200).clocks
    least = kernels.family.flops(variant.spec, shape) / (2 * Sm90.products * 132)
    assert least < clocks - START < 1.1 * least


@pytest.mark.parametrize("case", [GEMM, FORWARD], ids=["gemm", "attention"])
def test_waits_of_tasks_are_between_the_units_and_what_an_h200_took(case: tuple[str, str, tuple[int, ...]]) -> None:
    spec, structure, shape = case
    kernels = kernels_of(SPECS / f"{spec}.yaml")
    variant = kernels.structure(structure).variants[0]
    alone = [replace(launch, pace=None) for launch in counted(*case)]
    of_units, of_tasks = (
        predicted(kernels.family, variant, launches, shape, H200).clocks for launches in (alone, counted(*case))
    )
    rows = json.loads((RESULTS / "roofline_clocks_h200.json").read_text())["rows"]
    took = next(row["clocks"] for row in rows if (row["structure"], tuple(row["shape"])) == (structure, shape))
    assert of_units < of_tasks < took


def test_the_last_wave_takes_as_long_as_a_whole_one() -> None:
    launch = Launch("k", Counts(products=2048.0), Counts())
    clocks = [bound_of(launch, Work(n, 100 * n, 100), Sm90, H200).clocks for n in (132, 133, 264)]
    assert clocks == [START + 100, START + 200, START + 200]


def test_items_of_several_lengths_are_shared_out_but_the_longest_is_whole() -> None:
    launch = Launch("k", Counts(products=2048.0), Counts())
    assert bound_of(launch, Work(264, 2640, 20), Sm90, H200).clocks == START + 20
    assert bound_of(launch, Work(264, 2640, 90), Sm90, H200).clocks == START + 90


def test_tasks_that_wait_are_the_bound_where_no_unit_is() -> None:
    launch = Launch("k", Counts(products=2048.0), Counts(), Pace(100, 30, 3))
    assert bound_of(launch, Work(132, 132 * 1000, 1000), Sm90, H200) == (LAUNCH + 3130, "waits of tasks")
    assert bound_of(launch, Work(132, 132 * 10, 10), Sm90, H200) == (START + 10, "tensor cores")


HISTORY = "no_targets_no_contextual_no_max_attn_len_no_min_full_attn"
JAGGED = (4, 2, 1, 300, 410)


@pytest.mark.parametrize(
    ("spec", "structure", "shape"),
    [
        ("hopper_gdpa", "hopper_gdpa_relu_none", JAGGED),
        ("hopper_gdpa_bwd", "hopper_gdpa_bwd_relu_none", JAGGED),
        ("hopper_hstu", f"hopper_hstu_causal_{HISTORY}", JAGGED),
        ("hopper_hstu_bwd", f"hopper_hstu_bwd_causal_{HISTORY}", JAGGED),
        ("hopper_attention_fwd_packed", "hopper_attention_fwd_packed_head_dim64_causal_bottom_right", JAGGED),
        ("hopper_attention_bwd_keys", "hopper_attention_bwd_keys_causal_bottom_right", JAGGED),
        ("hopper_attention_bwd_dq", "hopper_attention_bwd_dq_causal_head_dim64", JAGGED),
        ("hopper_attention_decode", "hopper_attention_decode_lengths_replicate1", (6, 8, 2, 3, 700)),
        ("hopper_grouped_gemm_batched", "hopper_grouped_gemm_batched_pingpong", (3, 200, 300, 150)),
        ("hopper_grouped_gemm", "hopper_grouped_gemm_row_pingpong", (5, 100, 200, 150)),
        ("hopper_grouped_gemm_columns", "hopper_grouped_gemm_columns_cooperative", (5, 200, 100, 150)),
        ("hopper_grouped_gemm_weights", "hopper_grouped_gemm_weights", (5, 130, 200, 100)),
    ],
    ids=lambda value: value if isinstance(value, str) and "_" not in value else None,
)
def test_items_and_rounds_are_those_of_the_kernel(spec: str, structure: str, shape: tuple[int, ...]) -> None:
    """By its products: what a round was counted to do, times the rounds that a problem is said to have."""
    with rendered(spec, structure) as (kernels, one, path):
        family, variant = kernels.family, one.variants[0]
        probed = measure(path, family, variant, 0, shape)
        assert probed
        main = probed.launches[0]
        done = max(metered.total.products for metered, _ in run(path, family, variant, 0, shape).values())
    items, rounds, _ = items_of(family).work(variant.plan, shape)
    assert done == main.item.products * items + main.round.products * rounds


def test_groups_of_tile_rows_decide_what_is_loaded_alike_and_again() -> None:
    """Of 16 tiles in a row, 8 rows of tiles have two columns, and 16 have one. The first 132 tiles of a group load A
    first. All of a B of 4096 x 4096 stays in L2 beside 8 rows of tiles of A, and is new to one group of four; beside 16
    it is 4/3 of the room, and 55 % stays until the second group of two."""
    kernels = kernels_of(SPECS / "hopper_gemm.yaml").some()
    variants = kernels.structure("hopper_gemm_cooperative").variants
    narrow, wide = (next(v.plan for v in variants if v.values["schedule.group_m"] == n) for n in (8, 16))
    assert narrow and wide
    sharing = partial(items_of(kernels.family).sharing, sms=16, l2=40 << 20)
    assert sharing(narrow, (4096, 4096, 4096))[:2] == (10 / 32, pytest.approx(1 - (1 - 132 / 256) * 3 / 4))
    apart, missed = sharing(wide, (4096, 4096, 4096))[:2]
    kept = 2 * (1 - missed) / (1 - 132 / 512)
    assert apart == 17 / 32 and kept == pytest.approx(math.exp((kept - 1) * 4 / 3)) and 0.5 < kept < 0.6
    assert sharing(wide, (1024, 4096, 4096)) == sharing(narrow, (1024, 4096, 4096))


def test_rows_of_tiles_that_begin_amid_lines() -> None:
    """Of A's rows of 4,016 bytes seven of eight begin amid a line, and half of them amid a sector; B's are whole lines,
    unless groups of columns begin at any 16 bytes."""

    def amid(spec: str, structure: str, *shape: int) -> tuple[float, float]:
        kernels = kernels_of(SPECS / f"{spec}.yaml").some()
        plan = kernels.structure(structure).variants[0].plan
        return items_of(kernels.family).sharing(plan, shape, 16, 40 << 20)[2:]

    assert amid("hopper_gemm", "hopper_gemm_cooperative", 4096, 4096, 2048) == (0, 0)
    assert amid("hopper_gemm", "hopper_gemm_cooperative", 4096, 4096, 2008) == (7 / 16, 1 / 4)
    columns = "hopper_grouped_gemm_columns"
    assert amid(columns, f"{columns}_cooperative", 4, 4096, 4096, 2048) == (7 / 16, 1 / 4)


def test_who_adds_in_order_asks_for_its_turn_and_hands_it_on() -> None:
    """Once for each of two replicas and four tiles of queries, behind what TMA has added."""
    name = "hopper_attention_bwd_ordered_head_dim128_none_dense"
    with rendered("hopper_attention_bwd_ordered", name) as (kernels, one, path):
        ran = run(path, kernels.family, one.variants[0], 0, (1, 1, 1, 256, 128))
    main = max(ran.values(), key=lambda pair: pair[0].total.products)[1]
    kinds = [[op.kind for op in thread.ops] for thread in main.threads.values()]
    assert [sum(k.count(kind) for k in kinds) for kind in ("fetch", "release")] == [0, 8]  # nobody comes before
    before = [k[at - 2 : at] for k in kinds for at, kind in enumerate(k) if kind == "release"]
    assert before == 8 * [["store_wait", "fence"]]


def test_a_softmax_waits_for_products_between_the_maxima_of_its_two_rows() -> None:
    """Where ptxas has the wait, though the source has it behind the softmax."""
    with rendered("hopper_attention_fwd", "hopper_attention_fwd_none") as (kernels, one, path):
        probed = measure(path, kernels.family, one.variants[0], 0, (1, 1, 1, 128, 1024))
    assert probed
    ops = next(t.ops for t in probed.traces[0].threads.values() if any(op.kind == "product" for op in t.ops))
    kinds = [op.kind for op in ops if op.kind in ("work", "reduce", "product_wait")]
    softmax = ["product_wait", "work", "product_wait", "work", "reduce", "work", "reduce", "work"]
    assert any(kinds[at : at + len(softmax)] == softmax for at in range(len(kinds)))


def test_probabilities_of_8_bits_are_brought_to_their_places() -> None:
    """Those of two consumers of 64 rows of queries, in each tile of 128 keys. The rest is as it is in bf16."""

    def instructions(spec: str, structure: str) -> float:
        with rendered(spec, structure) as (kernels, one, path):
            probed = measure(path, kernels.family, one.variants[0], 0, (1, 1, 1, 128, 1024))
        assert probed
        return probed.launches[0].round.instructions

    wide = instructions("hopper_attention_fwd", "hopper_attention_fwd_none")
    narrow = instructions("hopper_attention_fwd_fp8", "hopper_attention_fwd_fp8_head_dim128_none_dense")
    assert narrow - wide == pytest.approx(2 * 64 * 128 * MOVED, rel=0.1)


def test_memory_bounds_what_does_little() -> None:
    launch = Launch("k", Counts(), Counts(instructions=128.0))
    bound = bound_of(launch, Work(132, 0, 0), Sm90, H200._replace(mhz=1800), moved=4.6e6 * 500)
    assert bound == (START + 500 * 1800, "DRAM")


def test_memory_is_written_at_another_rate_than_it_is_read() -> None:
    launch = Launch("k", Counts(), Counts(l2_bytes=300.0, stored=100.0))
    bound = bound_of(launch, Work(132, 0, 0), Sm90, H200, moved=6e9)
    assert bound == (pytest.approx(START + (4e9 / 4.6e6 + 2e9 / 4.1e6) * H200.mhz), "DRAM")


def test_what_l2_kept_of_the_launch_before_needs_no_memory() -> None:
    """Reading alone is slower for some 100 MB than memory's rate; writing a sixth is a third of the way to a half."""
    launch = Launch("k", Counts(), Counts(instructions=128.0, l2_bytes=600.0))

    def parts(stored: float, *sizes: int) -> list[float]:
        stores = replace(launch, item=replace(launch.item, stored=600 * stored))
        bounds = [bound_of(stores, Work(132, 0, 0), Sm90, H200, moved=size * 2**20) for size in (32, *sizes)]
        assert bounds[0].by != "DRAM"
        each = (1 - stored) / H200.read_per_us + stored / H200.written_per_us
        return [(b.clocks - START) / H200.mhz / each / 2**20 for b in bounds[1:]]

    assert parts(0.0, 44, 64, 800) == pytest.approx([44 * 0.925, 64 * 1.23, 800], rel=0.01)
    assert parts(0.5, 44, 60, 80) == pytest.approx([44 * 0.6, 60 * 0.895, 80], rel=0.01)
    assert parts(1 / 6, 64) == pytest.approx([64 * (0.94 / 3 + 1.23 * 2 / 3)], rel=0.03)


def test_an_sm_does_the_items_that_have_its_numbers() -> None:
    """Of eight items two SMs take four each, and three take every third; the second has the empty one."""
    order = (5, 1, 5, 1, 5, 1, 5, 0)
    work = Work(7, 23, 5, order)
    assert work.of_sm(2) == (4, 20) and work.of_sm(3) == (3, 11) and work._replace(order=()).of_sm(2) == (3.5, 11.5)


def by_number(folder: Path) -> tuple[Kernels, Plan]:
    """GDPA whose CTAs take the items of jagged sequences by their numbers."""
    path = folder / "strided.yaml"
    path.write_text("{kernel: gdpa, name: strided, arch: sm90, activation: raw, schedule: {kind: persistent}}")
    kernels = kernels_of(path).some()
    plan = kernels.structures[0].variants[0].plan
    assert plan
    return kernels, plan


def test_items_of_packed_sequences_lie_where_the_kernel_takes_them(tmp_path: Path) -> None:
    """Heads one after the other, tiles of queries within; none for tiles past the end of a sequence."""
    kernels, plan = by_number(tmp_path)
    shape = (3, 2, 2, 512, 512)
    cost = items_of(kernels.family)
    queries, keys = lengths(3, 512, 0), lengths(3, 512, 1)
    each = [
        [max(1, -(-m // 128)) if tile * 128 < n else 0 for tile in range(4)] for n, m in zip(queries, keys, strict=True)
    ]
    order = cost.order(plan, shape, 5)
    assert order == tuple(x for of_batch in each for _ in range(2) for x in of_batch)
    assert (sum(n > 0 for n in order), sum(order)) == cost.work(plan, shape)[:2]


def test_equal_shares_drawn_items_and_a_cta_for_each_have_no_order() -> None:
    for spec, kind in (
        ("hopper_attention_fwd", "causal"),
        ("hopper_attention_fwd_d256", "causal"),
        ("hopper_gdpa", "raw_none"),
    ):
        kernels = kernels_of(SPECS / f"{spec}.yaml").some()
        plan = kernels.structure(f"{spec}_{kind}").variants[0].plan
        assert plan and items_of(kernels.family).order(plan, (1, 8, 8, 1024, 1024), 132) == ()


def test_many_heads_at_a_time_are_those_of_the_kernel(tmp_path: Path) -> None:
    """Of sequences of up to four tiles, 132 CTAs would have the same tile of each head."""
    kernels, plan = by_number(tmp_path)
    shape = (200, 4, 4, 512, 512)
    one, many = (items_of(kernels.family).order(plan, shape, sms) for sms in (131, 132))
    assert sum(one) == sum(many) and max(sum(many[sm::132]) for sm in range(132)) < 0.9 * max(
        sum(one[sm::132]) for sm in range(132)
    )


def test_ctas_of_a_cluster_go_at_the_pace_of_one() -> None:
    """Two that share B do not multiply faster than their tensor cores."""
    with rendered("hopper_gemm_cluster", "hopper_gemm_cluster_m2_cooperative_leader") as (kernels, one, path):
        probed = measure(path, kernels.family, one.variants[0], 0, (4096, 4096, 4096))
    assert probed
    pace = probed.at((4096, 4096, 4096), H200.sms)[0].pace
    assert pace and 512 <= pace.round < 700


def test_rounds_and_items_are_told_apart() -> None:
    each, item = Counts(products=3.0, smem_bytes=5.0), Counts(smem_bytes=7.0)
    works = [Work(2, 3, 2), Work(4, 10, 4)]
    assert separate([item * w.items + each * w.rounds for w in works], works) == (each, item)


def test_rates_are_those_of_the_architecture() -> None:
    one = Counts(products=4096.0, smem_bytes=128.0)
    clocks = {arch.name: [u.clocks for u in units(one, arch) if u.amount] for arch in (Sm90, Sm100)}
    assert clocks == {"sm90": [2.0, 1.0], "sm100": [1.0, 1.0]}


def test_the_command_prints_what_bounds_a_kernel() -> None:
    arguments = ["show", str(SPECS / "hopper_gemm.yaml"), "--roofline", "--structure", "hopper_gemm_cooperative"]
    done = CliRunner().invoke(app, [*arguments, "--shape", "8192x8192x2048", "--mhz", "1000", "--json"])
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["rooflines"]
    (bound,) = found["bounds"]
    assert bound["by"] == "waits of tasks" and bound["us"] == bound["clocks"] / 1000


HSTU = "kernel: hstu\nname: small\narch: sm90\nmask: {targets: true}\n"


@pytest.mark.parametrize(
    ("spec", "options", "said"),
    [
        ("hopper_gemm", ["--shape", "1x2x3"], "belong to --roofline"),
        ("hopper_gemm", ["--roofline", "--set", "tile.n=128"], "neither --set nor --svg"),
        ("hopper_gemm", ["--roofline", "--structure", "none"], "no structure 'none'"),
        ("hopper_gemm", ["--roofline", "--shape", "4096x4096"], "has 3 extents"),
        (HSTU, ["--roofline"], "does not say what its work items are"),
    ],
)
def test_what_cannot_be_predicted_is_said(
    spec: str,
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = SPECS / f"{spec}.yaml"
    if spec == HSTU:
        path = tmp_path / "small.yaml"
        path.write_text(spec)
    monkeypatch.setattr(sys, "argv", ["tlxgen", "show", str(path), *options])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert said in " ".join(re.sub("[│╭╮╰╯─]", " ", capsys.readouterr().err).split())
