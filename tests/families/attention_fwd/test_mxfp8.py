"""MXFP8 attention on Blackwell: where scales lie, what a spec may say, planted faults, and the way from bf16."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tlxgen.families.attention_fwd.spec import AttentionSpec
from tlxgen.plan import Plan, complete

from . import specs

GENERATED = Path(__file__).parents[3] / "generated"
MX = {"arch": "sm100", "problem.dtype": "e4m3", "problem.scaling": "mx"}
CAUSAL = "blackwell_attention_fwd_mxfp8/blackwell_attention_fwd_mxfp8_causal"
PLAIN = "blackwell_attention_fwd_mxfp8/blackwell_attention_fwd_mxfp8_none"
SQUARE = (1, 4, 2, 700, 700)  # more items than SMs, heads that share K and V, ragged
SHORT = (2, 4, 1, 600, 100)  # a single tile of keys for each item
LONG = (1, 2, 1, 200, 900)  # more tiles of keys than slots


def plan_of(values: dict[str, Any] | None = None) -> Plan:
    return specs.plan_of({**MX, **(values or {})})


def test_scales_lie_behind_probabilities_in_the_place_of_scores() -> None:
    plan = plan_of()
    own = [str(c) for c in plan.tmem if not c.over]
    assert own == ["s[0] 0..127", "s[1] 128..255", "acc[0] 256..383", "acc[1] 384..511"] and not plan.reasons
    assert [str(c) for c in plan.tmem if c.over == "s[1]"] == [
        *("p[1] 128..159 over s[1]", "sf_p[1] 160..163 over s[1]", "sf_v[1] 164..167 over s[1]"),
        *("sf_q[1] 168..171 over s[1]", "sf_k[1] 172..175 over s[1]"),
    ]


def tasks_of(path: Path) -> list[ast.With]:
    """The tasks of a generated module."""
    withs = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.With)]
    return [w for w in withs if "async_task(" in ast.unparse(w.items[0])]


@pytest.mark.parametrize("path", sorted(GENERATED.glob("blackwell_*/*.py")), ids=lambda path: path.stem)
def test_a_task_moves_to_its_rows_only_if_it_reads_which_they_are(path: Path) -> None:
    for task in tasks_of(path):
        rows = [node for node in ast.walk(task) if isinstance(node, ast.Name) and node.id == "row"]
        last_read = max((n.lineno for n in rows if isinstance(n.ctx, ast.Load)), default=0)
        moved = [n for n in ast.walk(task) if isinstance(n, ast.AugAssign) and ast.unparse(n.target) == "row"]
        assert all(m.lineno < last_read for m in moved), ast.unparse(moved[0])


def test_the_softmax_says_when_scores_have_been_read() -> None:
    made = {b.name: (b.kind, b.count, b.slots.value) for b in plan_of().barriers}
    assert made["sf_qk_empty"] == ("leader", 1, 2)
    assert not {"sf_qk_full", "sf_v_full", "sf_v_empty"} & {*made}  # what one thread issues is done in order
    assert plan_of().ring("kv").full_barrier.bytes.value == 128 * 128 + 512  # type: ignore[union-attr]


def reasons(name: str, **changes: Any) -> list[str]:
    """Those of the plan whose ring of that name has `changes`."""
    plan = plan_of()
    rings = tuple(replace(r, **changes) if r.name == name else r for r in plan.rings)
    return [str(r) for r in complete(replace(plan, rings=rings, reasons=())).reasons]


def test_scales_may_not_be_copied_before_scores_have_been_read() -> None:
    text = "alias: {0} cannot take the buffers of s: softmax releases them before {0} has left"
    assert reasons("sf_qk", drains=()) == [text.format("sf_qk")]
    assert reasons("sf_v", drains=()) == [text.format("sf_v")]
    (drain,) = plan_of().ring("sf_v").drains
    (reason,) = reasons("sf_v", drains=(replace(drain, via=("factor",)),))  # which the correction reads, not the MMA
    assert reason.startswith("order: a slot of sf_v goes back without a barrier")


def test_what_lies_behind_must_fit() -> None:
    (p, sf_p) = plan_of().ring("p").tiles
    fp32 = plan_of().ring("s").tiles[0].dtype
    found = reasons("p", tiles=(replace(p, dtype=fp32), sf_p))
    assert "alias: sf_k[1] 268..271 over s[1] ends behind column 255, the last of s[1]" in found


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"arch": "sm90"}, "they are of sm100"),
        ({"problem.dtype": "bf16"}, "MX scales belong to e4m3, not to bf16"),
        ({"problem.scaling": "none"}, "e4m3 attention is for sm90; on sm100 problem.scaling is mx"),
        ({"problem.head_dim": 64}, "MX scales come in blocks of 128, which the head dimensions are"),
        ({"problem.lengths": "packed"}, "blocks of scales do not begin where a sequence does"),
        ({"tile.n": 64}, "MX scales come in blocks of 128 keys"),
        ({"tasks.mma.overlap": False}, "scales of one group lie beside the probabilities of the other"),
        ({"rings.s.slices": 2}, "slices is 1"),
        ({"rings.o.reuse": "q"}, "O is bf16 and wider than Q"),
        ({"softmax.rescale": "lazy"}, "rescale is always"),
    ],
)
def test_what_does_not_go_together_says_why(values: dict[str, Any], words: str) -> None:
    try:
        found = AttentionSpec.model_validate(specs.data_of({**MX, **values})).faults()
    except ValidationError as error:  # not even a value of the key
        found = [((), str(error))]
    assert any(words in text for _, text in found), found


torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant  # noqa: E402
from tests.sim.support import run_mutant  # noqa: E402
from tlxgen.families.mx_quantize.reference import blocked, quantized  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

FREE = "tlx.barrier_wait(sf_qk_empty[{}], free_phase ^ 1)"
P_SCALE = "tlx.local_store(sf_p_tiles[replica], tl.full((BLOCK_M // 2, BLOCK_N // 32), 127, tl.uint8))"
FAULTS = (
    Mutant("scales over scores of the tile before", CAUSAL, FREE.format(1), "pass", 0, LONG, 2),
    Mutant("scales over scores of the other group", CAUSAL, FREE.format(0), "pass", 0, SHORT),
    Mutant("later scales over scores of the other group", PLAIN, FREE.format(0), "pass", 0, LONG, 2),
    Mutant("scores never given up", CAUSAL, "tlx.barrier_arrive(sf_qk_empty[replica])", "pass", 0, SQUARE),
    Mutant(
        "scores given up before they are read",
        PLAIN,
        "tlx.barrier_wait(s_full[replica], phase)",
        "tlx.barrier_arrive(sf_qk_empty[replica]); tlx.barrier_wait(s_full[replica], phase)",
        0,
        LONG,
        2,
    ),
    Mutant("scales of V not copied", CAUSAL, "tlx.tmem_copy(kv_scale_tiles[v_slot], sf_v_tiles[1])", "pass", 0, LONG),
    Mutant(
        "scales of K for those of V",
        PLAIN,
        "tlx.tmem_copy(kv_scale_tiles[v_slot]",
        "tlx.tmem_copy(kv_scale_tiles[k_slot]",
        0,
        LONG,
        4,
    ),
    Mutant(
        "scales of the first queries for all",
        CAUSAL,
        "q_scale_tiles[q_slot + Q_STAGES]",
        "q_scale_tiles[q_slot]",
        0,
        SQUARE,
        2,
    ),
    Mutant("scales of Q in K's columns", CAUSAL, "sf_k_tiles[1])", "sf_q_tiles[1])", 0, SQUARE, 2),
    Mutant("no scale of probabilities", CAUSAL, P_SCALE, "pass", 0, LONG, 2),
    Mutant("a wrong scale of probabilities", CAUSAL, P_SCALE, P_SCALE.replace("127", "128"), 0, SQUARE, 2),
    Mutant(
        "probabilities in the place of their scales",
        CAUSAL,
        "reuse_group_type.distinct",
        "reuse_group_type.shared",
        0,
        SQUARE,
    ),
    Mutant("bytes of scales not counted", CAUSAL, " + BLOCK_M // 2 // 128 * 2 * 256", "", 0, SQUARE),
    Mutant("scales of another head", CAUSAL, "(batch * H + head) // H_PER_KV", "head // H_PER_KV", 0, SHORT),
    Mutant(
        "scales of the first rows for all", CAUSAL, "(row + replica * (BLOCK_M // 2)) // 128", "row // 128", 0, SQUARE
    ),
    Mutant("probabilities not lifted", CAUSAL, "return top, base - 8,", "return top, base,", 0, SQUARE),
    Mutant(
        "a maximum kept from the item before",
        PLAIN,
        'm = tl.full((BLOCK_M // 2,), float("-inf"), tl.float32)',
        'm = tl.full((BLOCK_M // 2,), float("-inf"), tl.float32) if index < step else m',
        0,
        SQUARE,
    ),
    Mutant("probabilities not awaited", CAUSAL, "tlx.barrier_wait(p_full[0], phase)", "pass", 0, SQUARE),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen


def module(path: str) -> Any:
    return load_module(GENERATED / f"{path}.py")


def scaled(shape: tuple[int, ...], turned: bool = False) -> tuple[Any, Any]:
    """Random e4m3 (B, H, N, D) and its scales, or those of its transpose."""
    x = torch.randn(shape)
    parts = [quantized(m.mT if turned else m, "rceil") for m in x.flatten(0, 1)]
    numbers = torch.stack([(n.view(torch.uint8).mT if turned else n.view(torch.uint8)) for n, _ in parts])
    scales = torch.cat([blocked(s) for _, s in parts])
    return numbers.view(torch.float8_e4m3fn).view(shape), scales.view(*shape[:2], *scales.shape[1:])


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (
            {"q_scale": lambda s: s[:, :, :1]},
            ValueError,
            r"q_scale: shape \(1, 2, 1, 1, 2, 256\), expected \(1, 2, 2, 1",
        ),
        ({"v_scale": lambda s: s.transpose(2, 3)}, ValueError, r"v_scale: shape \(1, 2, 3, 1, 2, 256\)"),
        (
            {"k_scale": lambda s: s.float()},
            TypeError,
            "k_scale: torch.float32, expected torch.uint8|k_scale: torch.float32",
        ),
        ({"k": lambda x: x.float()}, TypeError, "k: torch.float32, expected torch.float8_e4m3fn"),
    ],
)
def test_an_argument_that_the_kernel_cannot_take_is_named(
    change: dict[str, Any], error: type[Exception], words: str
) -> None:
    given = {}
    for name, n in (("q", 200), ("k", 300), ("v", 300)):
        given[name], given[f"{name}_scale"] = scaled((1, 2, n, 128), turned=name == "v")
    given |= {name: make(given[name]) for name, make in change.items()}
    with Session("eager", 0, arch="sm100").active(), pytest.raises(error, match=words):
        module(PLAIN).blackwell_attention_fwd_mxfp8(**{n: x.to("cuda") for n, x in given.items()})


@pytest.mark.parametrize("kind", ["none", "causal"])
def test_attention_of_what_the_quantiser_makes_is_near_that_of_what_it_was_given(kind: str) -> None:
    """By the generated kernels alone: three quantisations and the attention, of random numbers to within 8 %.

    e4m3 rounds each of Q, K and V by 2.6 % on average, and probabilities likewise.
    """
    b, h, n, d = 1, 2, 256, 128
    rows = module("blackwell_mx_quantize/blackwell_mx_quantize_rows").blackwell_mx_quantize
    columns = module("blackwell_mx_quantize/blackwell_mx_quantize_columns_same_rceil").blackwell_mx_quantize
    attend = module(PLAIN.replace("none", kind)).blackwell_attention_fwd_mxfp8
    q, k, v = (torch.randn(b, h, n, d).bfloat16() for _ in range(3))
    with Session("eager", 0, arch="sm100").active():
        given: dict[str, Any] = {}
        for name, x, quantise in (("q", q, rows), ("k", k, rows), ("v", v, columns)):
            numbers, scales = quantise(x.to("cuda").reshape(b * h * n, d))
            given[name] = numbers.view(b, h, n, d)
            blocks = (1, n // 128) if name == "v" else (n // 128, 1)
            given[f"{name}_scale"] = scales.view(b, h, *blocks, 2, 256)
        out, lse = attend(**given)
    x = q.double() @ k.double().mT / d**0.5
    if kind == "causal":
        x = x.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))
    wanted = torch.softmax(x, -1) @ v.double()
    assert float((out.cpu().double() - wanted).norm() / wanted.norm()) < 0.08
    assert float((lse.cpu().double() - torch.logsumexp(x, -1)).abs().max()) < 0.2


def test_no_scale_is_an_argument_of_other_attention() -> None:
    for path in (GENERATED / "blackwell_attention_fwd").glob("[!_]*.py"):
        assert not re.search("scaled|sf_|_scale_desc", path.read_text())
