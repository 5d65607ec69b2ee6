"""Heads of Q on CTAs of their own: what adds to dK and dV, what chooses it, and faults that the simulator finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant  # noqa: E402
from tests.sim.support import kernels, run_mutant  # noqa: E402
from tlxgen.build import subject_digest  # noqa: E402
from tlxgen.families.attention_bwd import problem, roofline  # noqa: E402
from tlxgen.families.attention_bwd.plan import BackwardFacts  # noqa: E402
from tlxgen.families.gemm.model import Gpu  # noqa: E402
from tlxgen.loading import load_file  # noqa: E402
from tlxgen.sim import DEVICE, Session, load_module  # noqa: E402

from .specs import plan_of, spec_of  # noqa: E402
from .test_autograd import operands, path_of, simulated  # noqa: E402

GENERATED = Path(__file__).parents[3] / "generated"
FOLDER = "hopper_attention_bwd"
APART = f"{FOLDER}/{FOLDER}_none_apart"
CAUSAL = f"{FOLDER}_d64/{FOLDER}_d64_causal_apart"
FEATURES = f"{FOLDER}_heads_features/{FOLDER}_heads_features"
PACKED = f"{FOLDER}_packed/{FOLDER}_packed_head_dim128_causal_bottom_right_apart"
KV = f"{FEATURES}_head_dim128_causal_dense_kv_no_softcap"
SHARED = (1, 4, 2, 130, 200)  # heads that share K and V, ragged, a tile of keys whose sums several CTAs add to
LONG = (1, 1, 1, 40, 300)  # more rows of sums than programs that make them zero
SEQUENCES = (4, 4, 2, 150, 150)  # of their own lengths, the second empty
FEW, MANY = (1, 40, 5, 154, 154), (4, 32, 8, 4096, 4096)
FENCE, ADD = 'tlx.fence("async_shared")', ', store_reduce="add"'
INTO = "{}_desc, grad_tiles[replica], [batch, kv_head, key, 0]"
STORE = f"by_thread({{}}))\n            {FENCE}"
LEFT = "tlx.async_descriptor_store_wait(0)"

FAULTS = (
    *(Mutant(f"{name} stored, not added", APART, INTO.format(name) + ADD, INTO.format(name), 0, SHARED)
        for name in ("dk", "dv")),
    *(Mutant(f"no fence before {name} leaves", APART, STORE.format(name), f"by_thread({name}))", 0, SHARED)
        for name in ("dk", "dv")),
    Mutant("dV stored while dQ leaves", APART, f"{LEFT}  # dQ has left the buffers of dV and dK", "pass", 0, SHARED),
    Mutant("dK stored while dV leaves", APART, f"{LEFT}  # dV has left the buffer", "pass", 0, SHARED),
    Mutant("dK stored while dV leaves, alone", KV, f"{LEFT}  # dV has left the buffer", "pass", 0, SHARED),
    Mutant("columns as they are", APART, "by_thread(dv)", "dv", 0, SHARED),
    # Sums that do not begin at zero.
    Mutant("no zeros", APART, "mask=keys < KEY_SUMS", "mask=keys < 0", 0, SHARED),
    Mutant("zeros for dK alone", APART, "2 * batches * n_k * kv_heads", "batches * n_k * kv_heads", 0, SHARED),
    Mutant("no zeros for the last rows", APART, "tl.cdiv(KEY_SUMS, 64)", "KEY_SUMS // 64", 0, LONG),
    Mutant("zeros of a program alone", APART, "tl.cdiv(KEY_SUMS, 64), tl.num", "tl.program_id(0) + 1, tl.num", 0, LONG),
    # Whose heads they are.
    Mutant("heads mixed up", APART, "kv_head = head // (H // H_KV)", "kv_head = head % H_KV", 0, SHARED),
    Mutant("a head of Q for each of K", APART, "* batches * heads, 1, 1)", "* batches * kv_heads, 1, 1)", 0, SHARED),
    Mutant("items of heads of K", CAUSAL, "program_id(0), B, H, ", "program_id(0), B, H_KV, ", 0, SHARED),
    Mutant("keys of another head", PACKED, "head // (H // H_KV)", "head % H_KV", 0, SEQUENCES, 2),
    Mutant("sums of a head of Q", PACKED, "kv_head, key), store", "head, key), store", 0, SEQUENCES, 2),
    # The kernel after.
    Mutant("dK not scaled", APART, "dk_ptr, scale", "dk_ptr, 1.0", 0, SHARED),
    Mutant("dV scaled", APART, "dv_ptr, 1.0", "dv_ptr, scale", 0, SHARED),
    Mutant("programs of dV as of dK", APART, "program - KEY_TILES, H_KV", "program, H_KV", 0, SHARED),
    Mutant("programs of dQ too early", APART, "program - 2 * KEY_TILES, H", "program - KEY_TILES, H", 0, SHARED),
    Mutant("dV of the sums of dK", APART, 't[1]), "dv"', 't[0]), "dv"', 0, SHARED),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen


@pytest.mark.parametrize("values", [{}, {"problem.head_dim": 64}, {"problem.gradients": "kv"}], ids=str)
def test_dk_and_dv_leave_as_sums_through_the_bytes_that_they_had(values: dict[str, Any]) -> None:
    together, apart = (plan_of(values | {"schedule.heads": heads}) for heads in ("together", "apart"))
    was, grad = together.ring("grad"), apart.ring("grad")
    assert not apart.reasons and (grad.alias, grad.smem_bytes) == (was.alias, was.smem_bytes)
    assert (was.slots.value, grad.slots.value, grad.tiles[0].dtype.name) == (2, 1, "fp32")
    opcodes = set(apart.expected_opcodes)
    assert "UTMAREDG" in opcodes and "UTMASTG" not in opcodes


def test_a_buffer_of_dq_that_is_too_small_for_a_tile_of_sums_says_so_in_numbers() -> None:
    (reason,) = plan_of({"schedule.heads": "apart", "rings.dq.stages": 1}).reasons
    assert str(reason) == "alias: grad cannot take the buffers of dq: 2 banks of 32768 B against 2 banks of 16384 B"


def test_the_kernels_around_it_make_zeros_and_round() -> None:
    main, before, after = plan_of({"schedule.heads": "apart"}).launches
    assert {"dk_desc": "key_sums", "dv_desc": "key_sums"}.items() <= {a.name: a.of for a in main.arguments}.items()
    assert {"sum_ptr", "key_sum_ptr", "KEY_SUMS"} <= {a.name for a in before.arguments}
    assert {"dq_sum_ptr", "dk_sum_ptr", "dv_sum_ptr", "KEY_TILES"} <= {a.name for a in after.arguments}
    alone = plan_of({"schedule.heads": "apart", "problem.gradients": "kv"}).launches[-1]
    assert "dv_sum_ptr" in {a.name for a in alone.arguments} and "dq_ptr" not in {a.name for a in alone.arguments}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"arch": "sm100"}, "on sm100 the sums of dK and dV are in tensor memory"),
        ({"rings.dq.adds": "ordered"}, "add dK and dV as they come.*rings.dq.adds must be any"),
        ({"problem.head_dim": 256}, "above a head_dim of 128 dK and dV leave in pieces"),
    ],
)
def test_what_cannot_be_apart_is_refused_with_its_reason(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        spec_of(values | {"schedule.heads": "apart"})


@pytest.mark.parametrize("gradients", ["qkv", "kv"])
def test_what_several_add_to_differs_from_run_to_run(gradients: str) -> None:
    together, apart = (spec_of({"problem.gradients": gradients, "schedule.heads": x}) for x in ("together", "apart"))
    assert all(problem.reproducible(together, name) for name in ("dk", "dv", "dsink"))
    assert not any(problem.reproducible(apart, name) for name in ("dk", "dv"))
    assert problem.reproducible(apart, "dsink")


def test_few_tiles_of_keys_are_estimated_to_be_faster_apart_and_many_together() -> None:
    family = kernels(FOLDER).family
    plans = {heads: plan_of({"schedule.heads": heads}) for heads in ("together", "apart")}
    few, many = ({h: family.cost(p, shape, 132) for h, p in plans.items()} for shape in (FEW, MANY))
    assert few["together"] > 3 * few["apart"] and many["together"] < many["apart"]


@pytest.mark.parametrize(("folder", "mask"), [(FOLDER, "none"), (f"{FOLDER}_d64", "causal")])
def test_a_function_picks_by_shape(folder: str, mask: str) -> None:
    """And so does the operator that is made of it, which is the module's own."""
    module = load_file(GENERATED / folder / f"_{folder}{'' if mask == 'none' else f'_{mask}'}.py")
    for shape, heads in ((FEW, "apart"), (MANY, "together"), ((64, 16, 16, 256, 256), "together")):
        assert module.pick(shape, Gpu("H100", 132))[0].__name__.endswith(f"{folder}_{mask}_{heads}")


def test_the_operator_of_heads_apart_knows_its_gradients() -> None:
    backward = load_module(path_of(f"{FOLDER}_causal_apart"))
    forward = load_module(path_of("hopper_attention_fwd_causal"))
    session = Session("random", 0)
    for module in (backward, forward):
        simulated(module, session)
    attention = backward.attention(forward.hopper_attention_fwd)
    with session.active():
        leaves = [x.detach().to(torch.bfloat16) for x in operands()]
        q, k, v = (x.to(DEVICE).requires_grad_() for x in leaves)
        found = torch.autograd.grad(attention(q, k, v, is_causal=True, enable_gqa=True).sum(), (q, k, v))
    exact = [x.double().requires_grad_() for x in leaves]
    expected = torch.nn.functional.scaled_dot_product_attention(*exact, is_causal=True, enable_gqa=True)
    for a, b in zip(found, torch.autograd.grad(expected.sum(), exact), strict=True):
        assert float((a.double() - b).norm() / b.norm()) < 1e-2


def test_a_key_of_the_source_alone_leaves_proofs_of_other_specs() -> None:
    """A record of the simulator is of a module and of what judges it; whose CTAs heads are on, the module says."""
    structure = kernels("hopper_attention_bwd").structures[0]
    variant = structure.variants[0]
    assert variant.spec and "schedule" in variant.spec.in_source and "schedule" in variant.spec.model_dump()
    text = (GENERATED / "hopper_attention_bwd" / f"{structure.name}.py").read_bytes()
    before = subject_digest(text, structure)
    object.__setattr__(variant.spec.schedule, "heads", "apart")
    try:
        assert subject_digest(text, structure) == before
    finally:
        object.__setattr__(variant.spec.schedule, "heads", "together")


def test_work_is_shared_out_over_heads_of_q() -> None:
    facts = cast(BackwardFacts, plan_of({"schedule.heads": "apart"}).facts)
    assert facts.sums == ("dq", "dk", "dv")
    together, apart = (roofline.work(plan_of({"schedule.heads": h}), FEW) for h in ("together", "apart"))
    assert together == (10, 240, 24) and apart == (80, 240, 3)
