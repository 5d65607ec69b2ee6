"""Head dimensions that are no powers of two: operands in buffers of 64 and 32 columns, products that are added up."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant  # noqa: E402
from tests.sim.support import run_mutant  # noqa: E402
from tlxgen.build import build  # noqa: E402
from tlxgen.families import kernels_of  # noqa: E402
from tlxgen.families.attention.common import slices_of  # noqa: E402
from tlxgen.families.attention_fwd import cost, problem  # noqa: E402
from tlxgen.families.attention_fwd.facts import AttentionFacts  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

from .specs import data_of, plan_of  # noqa: E402

DEVICE = torch.device("cuda", 0)
WIDE = {"problem.head_dim": 192, "problem.head_dim_v": 128}


@pytest.mark.parametrize(
    ("head_dim", "slices"),
    [
        (8, (64,)),
        (64, (64,)),
        (72, (64, 32)),
        (96, (64, 32)),
        (104, (128,)),
        (128, (128,)),
        (136, (64, 64, 32)),
        (192, (64, 64, 64)),
        (200, (64, 64, 64, 32)),
        (232, (256,)),
        (256, (256,)),
    ],
)
def test_a_tile_has_the_next_multiple_of_32_columns(head_dim: int, slices: tuple[int, ...]) -> None:
    assert slices_of(head_dim) == slices
    plan = plan_of({"problem.head_dim": head_dim, "tile.n": 64})
    assert tuple(c.extent.value for c in plan.ring("k").columns("k")) == slices
    begins = [c.begin for c in plan.ring("k").columns("k")]
    assert begins == [sum(slices[:i]) for i in range(len(slices))]


def test_a_slot_is_full_with_the_bytes_of_all_its_buffers() -> None:
    for head_dim, columns in ((96, 96), (192, 192), (200, 224)):
        ring = plan_of({"problem.head_dim": head_dim, "tile.n": 64}).ring("k")
        assert ring.full_barrier and ring.full_barrier.bytes
        assert ring.full_barrier.bytes.value == 64 * columns * 2
        assert ring.smem_bytes == 2 * 64 * columns * 2


def test_128_keys_of_192_columns_leave_room_for_a_half_of_o() -> None:
    plan = plan_of({**WIDE, "rings.o.parts": 2})
    assert not plan.reasons and plan.value("BLOCK_N") == 128
    facts = cast(AttentionFacts, plan.facts)
    assert (facts.sums, facts.outs) == (("acc",), ("left", "right"))
    assert plan.ring("o").smem_bytes == 128 * 64 * 2
    whole = {r.rule: r.text for r in plan_of(WIDE).reasons}
    assert list(whole) == ["smem"]


def test_o_takes_the_first_buffers_of_q() -> None:
    plan = plan_of({**WIDE, "rings.o.reuse": "q"})
    assert not plan.reasons and plan.ring("o").smem_bytes == 0
    columns = plan.ring("o").columns("o")
    assert [c.extent.value for c in columns] == [64, 64, 64]
    assert len(cast(AttentionFacts, plan.facts).outs) == 2


def test_the_estimate_multiplies_no_columns_that_are_not_there() -> None:
    shape = (4, 16, 16, 4096, 4096)
    times = [cost.clocks(plan_of({"problem.head_dim": d, "tile.n": 64}), shape, 132) for d in (128, 192, 256)]
    assert times[0] < times[1] < times[2]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({**WIDE, "rings.o.parts": 2, "rings.o.reuse": "q"}, "O leaves through Q's buffers"),
        ({"problem.head_dim": 96, "rings.o.parts": 2}, r"halves of O \(64 \+ 32\)"),
        ({"problem.head_dim": 64, "rings.o.parts": 2}, r"halves of O \(64\)"),
        ({"problem.head_dim": 192, "problem.head_dim_v": 96, "rings.o.reuse": "q"}, r"of O \(64 \+ 32\) differ"),
        ({"problem.head_dim": 96, "problem.head_dim_v": 192, "rings.o.reuse": "q"}, "O cannot take Q's place"),
        ({**WIDE, "rings.kv.storage": "shared"}, r"rows of K \(64 \+ 64 \+ 64\) and of V \(128\) differ"),
        ({"arch": "sm100", "rings.o.parts": 2}, "parts must be 1"),
    ],
)
def test_what_does_not_go_together_is_refused(values: dict[str, Any], words: str) -> None:
    from tlxgen.families.attention_fwd.spec import AttentionSpec

    with pytest.raises(ValidationError, match=words):
        AttentionSpec.model_validate(data_of(values))


@pytest.mark.parametrize(
    ("lines", "shape"),
    [
        ("problem: {head_dim: 96, lengths: packed}\nmask: {kind: window}\nrings: {o: {reuse: q}}", (3, 2, 1, 150, 70)),
        (
            "problem: {head_dim: 192, head_dim_v: 128}\nmask: {kind: causal}\nrings: {o: {reuse: q}}",
            (1, 3, 1, 200, 150),
        ),
        (
            "problem: {head_dim: 192, head_dim_v: 128}\nrings: {o: {parts: 2}}\nschedule: {kind: grid}",
            (1, 2, 1, 130, 150),
        ),
        ("problem: {head_dim: 160, head_dim_v: 96, lengths: keys}\ntile: {n: 64}", (2, 2, 1, 100, 130)),
        ("problem: {head_dim: 72}\nsoftmax: {bias: like_q, sink: true}\ntile: {n: 64}", (1, 2, 1, 100, 130)),
        ("problem: {head_dim: 200, head_dim_v: 192}\ntile: {n: 32}\nrings: {o: {reuse: q}}", (1, 3, 1, 200, 70)),
        (
            "problem: {head_dim: 96}\nrings: {kv: {storage: shared, stages: 3}}\nmask: {kind: causal}",
            (1, 3, 1, 200, 300),
        ),
        ("problem: {head_dim: 96}\nmask: {kind: causal, blocks: {m: 128, n: 128}}", (1, 2, 1, 200, 300)),
    ],
)
@pytest.mark.parametrize("order", ["random", "starved"])
def test_numbers_are_right(lines: str, shape: tuple[int, ...], order: Any, tmp_path: Path) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(f"kernel: attention_fwd\nname: some\narch: sm90\n{lines}\n", encoding="utf-8")
    made = build(path, out=tmp_path / "made").folder
    (file,) = made.glob("some*.py")
    spec: Any = kernels_of(path).structures[0].variants[0].spec
    with Session(order, 1, sms=2).active():
        tensors = problem.inputs(spec, shape, DEVICE)
        results, strays = problem.launch(load_module(file), spec, shape, tensors, None)
        assert strays == 0
        for name, (wanted, norm) in problem.reference(spec, tensors).items():
            finite = wanted.isfinite()
            off = float((results[name].double() - wanted)[finite].norm())
            assert off <= problem.tolerance(spec, name) * norm, name


D192 = "hopper_attention_fwd_d192_dv128/hopper_attention_fwd_d192_dv128_causal"
D96 = "hopper_attention_fwd_d96/hopper_attention_fwd_d96_none"
SQUARE = (1, 4, 2, 300, 300)
FAULTS = (
    Mutant("bytes of a buffer not expected", D192, "BLOCK_N * 192 * 2", "BLOCK_N * 128 * 2", 0, SQUARE),
    Mutant("bytes of the tail not expected", D96, " + BLOCK_N * 32 * 2", "", 0, SQUARE, 2),
    Mutant("a buffer loaded twice", D192, "k_tiles[k_slot * 3 + 1], [", "k_tiles[k_slot * 3], [", 0, SQUARE),
    Mutant("columns loaded twice", D192, "tile * BLOCK_N, 64]", "tile * BLOCK_N, 0]", 0, SQUARE),
    Mutant(
        "a product of two buffers left out",
        D192,
        "scores = tlx.async_dot(q_tiles[q_slot * 3 + 2], tlx.local_trans(k_tiles[k_slot * 3 + 2]), scores)",
        "pass",
        0,
        SQUARE,
    ),
    Mutant(
        "a product without those before",
        D96,
        "tlx.local_trans(k_tail_tiles[k_slot]), scores)",
        "tlx.local_trans(k_tail_tiles[k_slot]))",
        0,
        SQUARE,
    ),  # fmt: skip
    Mutant("the tail of O not rescaled", D96, "acc_1 = acc_1 * alpha[:, None]", "pass", 0, SQUARE),
    Mutant("a sum not awaited", D96, "acc_1 = tlx.async_dot_wait(0, acc_1)", "pass", 0, SQUARE, 2),
    Mutant("the right half before the left has left", D192, "tlx.async_descriptor_store_wait(0)", "pass", 0, SQUARE, 2),
    Mutant("the right half where the left is", D192, "[batch, head, row, 64])", "[batch, head, row, 0])", 0, SQUARE),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen
