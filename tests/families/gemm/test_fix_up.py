"""Tiles cut along K that CTAs with a part add up, and operands that are exchanged: run, also with faults."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.build import make  # noqa: E402
from tlxgen.check import numerics  # noqa: E402
from tlxgen.cudalike import CudaLike  # noqa: E402
from tlxgen.families import Kernels  # noqa: E402
from tlxgen.families.gemm.model import Gpu  # noqa: E402
from tlxgen.loading import HOST, MODEL, load_file  # noqa: E402
from tlxgen.sim import RUNS, Limits, Report, Way, load_module, verify_case  # noqa: E402

from .matrix import kernels_of, spec_of  # noqa: E402

LAST = {"schedule": {"tail": "split", "fix_up": "last"}, "rings": {"ab": {"stages": 3, "empty": "warp"}}}
EACH = {**LAST, "schedule": {"tail": "split", "fix_up": "each"}}
PAIR = {**LAST, "tile": {"m": 128, "n": 64, "k": 32}}
FORMS: dict[str, dict[str, Any]] = {
    "pair": {**PAIR, "epilogue.ops": ["bias", "relu"]},
    "turns": {**PAIR, "tasks.mma.split": "pingpong"},
    "alone": {**LAST, "tile": {"m": 64, "n": 128, "k": 32}, "tasks.mma.replicate": 1, "problem.c.dtype": "fp32"},
    "three": {**LAST, "tile": {"m": 192, "n": 64, "k": 32}, "tasks.mma.replicate": 3},
    "three_whole": {"tile": {"m": 192, "n": 128, "k": 64}, "tasks.mma.replicate": 3, "rings.ab.stages": 2},
    "three_helped": {
        "schedule.tail": "helped",
        "tile": {"m": 192, "n": 64, "k": 64},
        "tasks.mma.replicate": 3,
        "rings.ab.stages": 3,
    },
    "few": {**LAST, "tile": {"m": 32, "n": 64, "k": 32}, "tasks.mma.exchange": True},
    "few_fp32": {**LAST, "tile": {"m": 32, "n": 64, "k": 32}, "tasks.mma.exchange": True, "problem.c.dtype": "fp32"},
    "each_pair": {**EACH, "tile": {"m": 128, "n": 64, "k": 32}, "epilogue.ops": ["bias", "relu"]},
    "each_alone": {**EACH, "tile": {"m": 64, "n": 128, "k": 32}, "tasks.mma.replicate": 1},
    "each_three": {**EACH, "tile": {"m": 192, "n": 64, "k": 32}, "tasks.mma.replicate": 3},
    "each_few": {**EACH, "tile": {"m": 32, "n": 64, "k": 32}, "tasks.mma.exchange": True},
    "few_narrow": {**LAST, "tile": {"m": 16, "n": 64, "k": 32}, "tasks.mma.exchange": True},
    "few_narrow_whole": {
        "tile": {"m": 8, "n": 64, "k": 64},
        "tasks.mma.exchange": True,
        "rings.ab.stages": 3,
        "cluster.n": 8,
    },
    "few_whole": {"tile": {"m": 64, "n": 128, "k": 64}, "tasks.mma.exchange": True, "rings.ab.stages": 2},
    "few_pipelined": {
        "tile": {"m": 32, "n": 64, "k": 32},
        "tasks": {"specialized": False, "mma": {"exchange": True, "warps": 4}},
        "epilogue.ops": ["residual"],
    },
    "few_direct": {"tile": {"m": 32, "n": 64, "k": 32}, "tasks.mma.exchange": True, "epilogue.store": "direct"},
}
LAYOUTS = [("row", "row"), ("row", "col"), ("col", "row"), ("col", "col")]
SMS = 4
FOLDER = TemporaryDirectory(prefix="tlxgen-forms-")  # of this process


@cache
def _made(text: str) -> tuple[Kernels, Path]:
    """The structure of a spec, and the folder of its files, once for all tests: what the simulator makes of a kernel is
    remembered by the path and the text of its file."""
    folder = Path(mkdtemp(dir=FOLDER.name))
    kernels = kernels_of(json.loads(text), folder)
    for name, data in make(folder / f"{kernels.name}.yaml", folder / "made").files.items():
        (folder / name).write_bytes(data)
    return kernels, folder


class Form:
    """A structure, rendered, with the host's choice of how tiles are cut replaced by the test's. A fault is put into a
    copy in `folder`."""

    def __init__(self, name: str, values: dict[str, Any], folder: Path) -> None:
        self.kernels, made = _made(json.dumps(spec_of(name, values)))
        self.path, self._folder = made / f"{name}.py", folder

    def run(
        self,
        shape: tuple[int, int, int],
        parts: int = 0,
        runs: tuple[Way, ...] = RUNS,
        sms: int = SMS,
        whole: int = 0,
        resident: int | None = None,
        steps: int = 100_000,
    ) -> Report:
        """`parts`: of each tile but the first `whole`, whatever it costs; 0 leaves it to the host. At most `resident`
        clusters run at a time, and no launch takes more than `steps`."""
        module = load_module(self.path, "sm90", sms)
        if parts:
            _cut(module, parts, whole)
        (structure,) = self.kernels.structures
        spec = structure.variants[0].spec
        case = (self.kernels.family.problem(), module, spec, shape, module.CONFIGS[0], numerics.compare)
        return verify_case(*case, runs, sms=sms, limits=Limits(steps=steps, resident=resident))

    def fails(self, shape: tuple[int, int, int], parts: int = 0, sms: int = SMS) -> bool:
        """Whether a run finds something; those after it are left out."""
        return any(self.run(shape, parts, (run,), sms).seen for run in RUNS)

    def mutated(self, old: str, new: str) -> None:
        text = self.path.read_text()
        assert old in text, old
        for file in (HOST, MODEL):
            (self._folder / file).write_bytes(self.path.with_name(file).read_bytes())
        self.path = self._folder / self.path.name
        self.path.write_text(text.replace(old, new))


def _cut(module: ModuleType, parts: int, whole: int) -> None:
    """Has the host cut the tiles behind the first `whole` into so many parts."""

    def cut(index: int, shape: tuple[int, int, int], gpu: object, pitches: object) -> tuple[int, int, int]:
        k_tiles = -(-shape[2] // module.CONFIGS[index].kwargs["BLOCK_K"])
        part_tiles = -(-k_tiles // parts)
        return whole, -(-k_tiles // part_tiles), part_tiles

    module.__dict__["TIMES"] = SimpleNamespace(cut=cut)


# (form, shape, parts): of a tile in no more parts than are added up at a time of 4, of 8, of 16; a part that ends
# early; one row; more parts than there are CTAs.
CASES = [
    ("pair", (200, 72, 200), 3),
    ("pair", (1, 64, 320), 8),
    ("turns", (200, 120, 330), 5),
    ("turns", (64, 64, 512), 16),
    ("alone", (70, 72, 328), 10),
    ("three", (200, 64, 264), 4),
    ("three", (70, 64, 264), 2),
    ("three_whole", (200, 264, 200), 0),
    ("three_helped", (5 * 192 + 70, 56, 40 * 64), 0),
    ("few", (17, 136, 328), 6),
    ("few", (33, 72, 512), 16),
    ("few_fp32", (5, 72, 200), 4),
    ("few_narrow", (21, 136, 328), 3),
    ("each_pair", (200, 72, 200), 3),
    ("each_pair", (1, 64, 320), 8),
    ("each_pair", (200, 64, 330), 6),
    ("each_alone", (70, 72, 328), 10),
    ("each_alone", (60, 120, 512), 16),
    ("each_three", (200, 64, 264), 4),
    ("each_few", (17, 136, 328), 6),
    ("few_narrow_whole", (5, 520, 200), 0),
    ("few_whole", (65, 264, 200), 0),
    ("few_pipelined", (40, 72, 200), 0),
    ("few_direct", (33, 65, 200), 0),
]


@pytest.mark.parametrize(("form", "shape", "parts"), CASES, ids=[f"{c[0]}-{c[2]}" for c in CASES])
def test_numbers_and_protocol(form: str, shape: tuple[int, int, int], parts: int, tmp_path: Path) -> None:
    report = Form(form, FORMS[form], tmp_path).run(shape, parts)
    assert not report.seen, str(report)


@pytest.mark.parametrize("form", ["pair", "each_pair"])
def test_some_tiles_stay_whole(form: str, tmp_path: Path) -> None:
    """The first items are tiles of their own, those that follow parts of the others."""
    report = Form(form, FORMS[form], tmp_path).run((384, 128, 200), 4, whole=4)
    assert not report.seen, str(report)


def test_ctas_that_wait_for_each_other_may_take_a_tile_before_their_first_part(tmp_path: Path) -> None:
    """Of whole tiles that are no multiple of the CTAs, the parts begin at another CTA."""
    report = Form("each_pair", FORMS["each_pair"], tmp_path).run((384, 128, 200), 3, whole=3)
    assert not report.seen, str(report)


@pytest.mark.parametrize("layouts", LAYOUTS, ids="-".join)
def test_operands_are_exchanged_in_every_layout(layouts: tuple[str, str], tmp_path: Path) -> None:
    a, b = layouts
    values = {**FORMS["few"], "problem": {"a": {"layout": a}, "b": {"layout": b}}}
    form = Form("few", values, tmp_path)
    report = form.run((24, 72, 136), 2, RUNS[:2])
    assert not report.seen, str(report)
    turned = {"a": "tlx.local_trans(a_tiles[slot])", "b": "tlx.local_trans(b_tiles[slot])"}
    text = form.path.read_text()
    assert (turned["a"] in text) == (a == "row") and (turned["b"] in text) == (b == "row")


FAULTS = [
    ("part counted before it is stored", "pair", "cp.async.bulk.wait_group 0; ", ""),
    ("part counted by warps that have not met", "pair", "tl.debug_barrier()", "pass"),
    ("counted without a release", "pair", 'sem="acq_rel"', 'sem="acquire"'),
    ("last without an acquire", "pair", 'sem="acq_rel"', 'sem="release"'),
    ("the first adds up", "pair", "== tail_parts - 1", "== 0"),
    ("the last but one adds up", "pair", "== tail_parts - 1", "== tail_parts - 2"),
    ("nobody adds up", "pair", "== tail_parts - 1", "== tail_parts"),
    ("everybody adds up", "pair", "== tail_parts - 1", ">= 0"),
    ("count left for the next launch", "pair", "tl.atomic_xchg(counts_ptr, 0,", "tl.atomic_xchg(counts_ptr, 1,"),
    ("both replicas count as one", "pair", "(tile - num_whole) * 2 + replica", "(tile - num_whole) * 2"),
    ("count of another tile", "turns", "counts_ptr + (tile - num_whole)", "counts_ptr + 0 * tile"),
    ("sums of another part's place", "pair", "(index - num_whole) * BLOCK_M", "(tile - num_whole) * BLOCK_M"),
    ("sums of another tile", "turns", "(tile - num_whole) * tail_parts * BLOCK_M", "0 * tail_parts * BLOCK_M"),
    ("other replica's rows", "pair", "tail_parts * BLOCK_M + replica * (BLOCK_M // 2)", "tail_parts * BLOCK_M"),
    ("a part left out", "pair", "tail_parts, STRIDE, 4", "tail_parts - 1, STRIDE, 4"),
    ("a stripe left out", "pair", "range(0, end, 4)", "range(4, end, 4)"),
    ("rows of the tile left out", "pair", "tl.minimum(M - row, ROWS)", "tl.minimum(M - row, ROWS // 2)"),
    ("rows beyond C", "pair", "mask=(rows[:, None] < M) & (", "mask=(rows[:, None] < M + 3) & ("),
    ("parts overlap", "pair", "% tail_parts * part_tiles", "% tail_parts * (part_tiles - 1)"),
    ("one of three does not release", "three", "num_warps=4, num_arrivals=3", "num_warps=4, num_arrivals=2"),
    ("rows of the third replica", "three", "slot * 3 + replica", "slot * 3 + replica % 2"),
    ("halves of the sums in one place", "few", "sums_row + i * (BLOCK_M // 2)", "sums_row"),
    ("halves of the sums exchanged", "few", "tl.trans(slices[i])", "tl.trans(slices[1 - i])"),
    ("a slot released before its product is done", "few", "tlx.async_dot_wait(1, acc)", "tlx.async_dot_wait(2, acc)"),
    ("staging buffer not awaited", "few", "tlx.async_descriptor_store_wait(C_STAGES - 1)", "pass"),
    ("sums not fenced", "few", 'tlx.fence("async_shared")', "pass"),
    ("a share added up before all parts are there", "each_pair", "% 256 < tail_parts", "% 256 < tail_parts - 1"),
    ("waits for more parts than there are", "each_pair", "% 256 < tail_parts", "% 256 < tail_parts + 1"),
    ("waits without an acquire", "each_pair", 'sem="acquire"', 'sem="relaxed"'),
    ("arrives without a release", "each_pair", 'sem="release"', 'sem="relaxed"'),
    ("count reset by the first that comes", "each_pair", "if share == shares - 1", "if share == 0"),
    ("count not reset", "each_pair", "if share == shares - 1", "if share == shares"),
    ("a share left out", "each_pair", "start = share * stripes_in_c", "start = (share + 1) * stripes_in_c"),
]
LEAVING = [
    ("nobody leaves", "stays = (leaver == 0) | (seen != found)", "stays = found >= 0"),
    ("leaves though all parts are there", "stays = (leaver == 0) | (seen != found)", "stays = leaver == 0"),
    ("leaves uncounted", "found + leaver,", "found,"),
    ("shares of those that left are added up by nobody", "tail_parts - found // 256 % 256", "tail_parts"),
    ("one leaves for two", "found + leaver,", "found + 2 * leaver,"),
]


@pytest.mark.parametrize(("name", "form", "old", "new"), FAULTS, ids=[f[0].replace(" ", "_") for f in FAULTS])
def test_a_fault_is_found(name: str, form: str, old: str, new: str, tmp_path: Path) -> None:
    made = Form(form, FORMS[form], tmp_path)
    made.mutated(old, new)
    shape = {"few": (30, 136, 200), "three": (192, 64, 600)}.get(form, (198, 72, 200))
    assert made.fails(shape, 3), f"{name}: nothing was found"


@pytest.mark.parametrize("form", ["each_pair", "each_alone", "each_few"])
@pytest.mark.parametrize("resident", [1, 2, 3])
def test_a_part_needs_no_other_on_the_gpu(form: str, resident: int, tmp_path: Path) -> None:
    """A CTA that waits in vain leaves its share, and its SM to those that it waits for."""
    made = Form(form, FORMS[form], tmp_path)
    made.mutated("looks < 128", "looks < 4")  # as fast as the simulator needs to show it
    for shape, parts in (((130, 72, 200), 4), ((200, 64, 136), 3)):
        report = made.run(shape, parts, RUNS[:2], resident=resident)
        assert not report.seen, str(report)


@pytest.mark.parametrize(("name", "old", "new"), LEAVING, ids=[f[0].replace(" ", "_") for f in LEAVING])
def test_a_fault_of_who_leaves_is_found(name: str, old: str, new: str, tmp_path: Path) -> None:
    assert any(left_by(tmp_path, (run,), old, new).seen for run in RUNS), f"{name}: nothing was found"


def test_a_right_kernel_ends_in_so_few_steps(tmp_path: Path) -> None:
    """It is not the limit of those runs that finds a fault."""
    report = left_by(tmp_path, RUNS)
    assert not report.seen, str(report)


def left_by(folder: Path, runs: tuple[Way, ...], old: str = "", new: str = "") -> Report:
    """A run of parts of which two are on the GPU, and some have to leave; a right one takes less than 500 steps."""
    made = Form("each_alone", FORMS["each_alone"], folder)
    if old:
        made.mutated(old, new)
    if "looks < 128" in made.path.read_text():
        made.mutated("looks < 128", "looks < 4")
    return made.run((60, 120, 70), 3, runs, resident=2, steps=4000)


def test_a_launch_has_a_word_for_each_tile_that_is_cut_and_room_for_each_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load_file(Form("pair", FORMS["pair"], tmp_path).path)
    monkeypatch.setattr(module, "gpu_of", lambda index: Gpu("", SMS))
    _cut(module, 5, 0)
    for m, n in ((128, 64), (500, 200), (1000, 64)):
        tiles = -(-m // 128) * -(-n // 64)
        shapes = ((m, 800), (800, n), (n,))
        operands = (torch.zeros(shape, dtype=torch.bfloat16).as_subclass(CudaLike) for shape in shapes)
        call = module.prepare(*operands, None, module.CONFIGS[0])
        elements, words = call.workspace
        assert words >= 2 * tiles and elements >= tiles * 5 * 128 * 64
        assert call.launches[0].grid == (min(tiles * 5, SMS), 1, 1)


def test_specs_of_few_rows_are_short(tmp_path: Path) -> None:
    """What goes with exchanged operands is their default: one consumer, a low tile, whole subtiles."""
    spec = {"kernel": "gemm", "name": "short", "arch": "sm90", "tasks": {"mma": {"exchange": True}}}
    (variant,) = kernels_of(spec, tmp_path).kept
    assert variant.plan
    sizes = {p.name: p.value for p in variant.plan.parameters}
    assert (sizes["BLOCK_M"], sizes["BLOCK_N"], sizes["BLOCK_K"]) == (32, 128, 128)
    (weights,) = (t for r in variant.plan.rings for t in r.tiles if t.name == "b")
    assert weights.bytes.value * sizes["STAGES"] >= 1 << 16  # on their way to an SM, so that memory is kept busy
