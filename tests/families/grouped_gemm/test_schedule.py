"""Tiles of groups that CTAs draw from a counter, or get by cluster launch control, on the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.families.grouped_gemm.built import Built  # noqa: E402
from tlxgen.sim import DEVICE, Session  # noqa: E402
from tlxgen.sim.machine import Machine  # noqa: E402

SIZES = (0, 1, 127, 0, 0, 260, 129, 3, 0)
ROWS = "tile: {n: 64}\nproblem: {b: {layout: col}}\n"
SUMS = "tile: {n: 64}\nproblem: {vary: k, a: {layout: col}}\n"
BATCHES = "tile: {n: 64}\nproblem: {vary: none}\n"
DRAWN = "schedule: {kind: dynamic}\n"
TURNS = "tasks: {mma: {split: pingpong}, epilogue: {warps: 1}}\n"
CLC = "schedule: {kind: clc}\n"


@pytest.mark.parametrize("more", ["", TURNS, "tasks: {mma: {replicate: 1}}\ntile: {m: 64, n: 64}\n"])
def test_rows_of_any_size_are_drawn(more: str, tmp_path: Path) -> None:
    base = ROWS.replace("tile: {n: 64}\n", "") if "tile" in more else ROWS
    report = Built(tmp_path, base + DRAWN + more).run((0, 72, 72), SIZES)
    assert not report.seen, "\n".join(map(str, report.seen))


def test_rows_are_drawn_by_several_seeds(tmp_path: Path) -> None:
    report = Built(tmp_path, ROWS + DRAWN + TURNS).run((0, 72, 72), SIZES, tuple(("random", i) for i in range(8)))
    assert not report.seen and report.runs == 8


def test_one_counter_serves_launch_after_launch(tmp_path: Path) -> None:
    """As a captured graph is replayed, with other sizes: what a launch leaves is what the next one needs."""
    module = Built(tmp_path, ROWS + DRAWN).module()
    torch.manual_seed(0)
    a, weights = torch.randn(300, 64).to(torch.bfloat16), torch.randn(2, 128, 64).to(torch.bfloat16)
    with Session("random", 0).active():
        given, words = (a.to(DEVICE), weights.to(DEVICE).mT), module.Call.__call__.__globals__["WORKSPACES"]
        for cut in (0, 300, 130, 7):
            made = module.some(*given, torch.tensor([cut, 300], dtype=torch.int32).to(DEVICE))
            wanted = torch.cat([a[:cut].float() @ weights[0].float().T, a[cut:].float() @ weights[1].float().T])
            assert float((torch.Tensor(made.float().cpu()) - wanted).norm()) < 1e-2 * float(wanted.norm())
        assert len(words) == 1


@pytest.mark.parametrize("sizes", [(0, 1, 129, 0, 77, 0), (0, 0, 0)])
def test_sums_of_any_length_are_drawn(sizes: tuple[int, ...], tmp_path: Path) -> None:
    assert not Built(tmp_path, SUMS + DRAWN).run((136, 136, 0), sizes).seen


@pytest.mark.parametrize("sms", [1, 13])
def test_fewer_tiles_than_ctas_and_all_by_one(sms: int, tmp_path: Path) -> None:
    assert not Built(tmp_path, ROWS + DRAWN + TURNS).run((0, 72, 40), (3, 0, 140), sms=sms).seen


def test_batches_and_tiles_of_one_product_are_drawn(tmp_path: Path) -> None:
    assert not Built(tmp_path, BATCHES + DRAWN).run((3, 130, 72, 40)).seen
    assert not Built(tmp_path, "tile: {n: 64}\n" + DRAWN, kernel="gemm").run((300, 200, 72)).seen


FAULTS = (
    ("the counter stays", "", "reset_counter(counter_ptr, index, step, first)\n", "pass\n"),
    ("the counter is reset too early", "", "step + items - 1", "step + items - 2"),
    ("a tile is drawn twice", "", "step + tl.atomic_add(counter_ptr, 1,", "step - 1 + tl.atomic_add(counter_ptr, 1,"),
    ("a tile is left out", "", "index = draw_item(counter_ptr, step)", "index = draw_item(counter_ptr, step) + 1"),
    ("nobody is told", TURNS, "tlx.barrier_arrive(item_full[item_slot])  # publish", "pass"),
    ("the other replica waits", TURNS, "# The other replica hears, too, that there is no more.", "items -= 1"),
    ("a number is overwritten", "", "tlx.barrier_wait(item_empty[item_slot], item_phase ^ 1)", "pass"),
    ("replicas take the same tile", TURNS, "items = replica", "items = 0"),
    ("a number is never read", "", "tlx.barrier_arrive(item_empty[item_slot])  # release", "pass"),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f[0].replace(" ", "_"))
def test_a_fault_is_found(fault: tuple[str, str, str, str], tmp_path: Path) -> None:
    _, more, old, new = fault
    text = ROWS + DRAWN + more + "rings: {ab: {stages: 6}}\n"
    assert Built(tmp_path, text).mutant(old, new).run((0, 72, 40), (300, 0, 1, 200), sms=2).seen


@pytest.mark.parametrize("pair", ["", "cluster: {m: 2}\n", "tasks: {scheduler: {}}\n"])
@pytest.mark.parametrize("backwards", [False, True])
def test_the_hardware_hands_out_rows_in_any_order(
    pair: str, backwards: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if backwards:

        def steal(self: Machine) -> tuple[int, int, int] | None:
            self.hub.take("clusters that wait")
            return self._waiting.pop()[0].program if self._waiting else None

        monkeypatch.setattr(Machine, "steal", steal)
    report = Built(tmp_path, ROWS + CLC + pair, "sm100").run((0, 72, 72), SIZES)
    assert not report.seen, "\n".join(map(str, report.seen))


def test_a_search_that_only_goes_on_loses_tiles_that_come_backwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Machine, "steal", lambda self: self._waiting.pop()[0].program if self._waiting else None)
    built = Built(tmp_path, ROWS + CLC, "sm100").mutant("back = index < first", "back = index < 0")
    assert built.run((0, 72, 72), SIZES).seen


def test_sums_of_any_length_are_handed_out(tmp_path: Path) -> None:
    assert not Built(tmp_path, SUMS + CLC, "sm100").run((136, 136, 0), (0, 1, 129, 0, 77, 0)).seen


def test_batches_are_handed_out(tmp_path: Path) -> None:
    assert not Built(tmp_path, BATCHES + CLC, "sm100").run((3, 130, 72, 40)).seen
