"""The host functions' argument checks, which need no GPU, and what they do when there is nothing to do."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.sim import Session, load_module  # noqa: E402

ROOT = Path(__file__).parents[3] / "generated"
DEVICE = torch.device("cuda", 0)
ALL = "hopper_attention_bwd"
NAMES = ("q", "k", "v", "out", "lse", "dout")


def module(name: str) -> ModuleType:
    return load_module(next(p for p in ROOT.glob("hopper_attention_bwd*/*.py") if p.stem == name))


def shapes(n: int = 70, m: int = 90, heads: int = 4, kv_heads: int = 2, d: int = 128) -> dict[str, tuple[int, ...]]:
    queries, keys = (1, heads, n, d), (1, kv_heads, m, d)
    return {"q": queries, "k": keys, "v": keys, "out": queries, "lse": (1, heads, n), "dout": queries}


def call(name: str, host: str, given: dict[str, tuple[int, ...]], **options: Any) -> Any:
    """The host function on zeros of these shapes, on the simulated GPU; `options` replace or add arguments."""
    loaded = module(name)
    with Session("eager", 0).active():
        made = {
            x: torch.zeros(s, dtype=torch.float32 if x == "lse" else torch.bfloat16, device=DEVICE)
            for x, s in given.items()
        }
        return getattr(loaded, host)(**{**made, **options})


@pytest.mark.parametrize(
    ("given", "options", "error", "words"),
    [
        (shapes(heads=3), {}, ValueError, "3 heads of q, 2 of k and v"),
        ({**shapes(), "q": (4, 70, 128)}, {}, ValueError, r"q \(4, 70, 128\).*expected \(B, H, N, D\)"),
        (shapes(d=64), {}, ValueError, r"q: shape \(1, 4, 70, 64\), expected \(1, 4, 70, 128\)"),
        ({**shapes(), "v": (1, 2, 91, 128)}, {}, ValueError, r"v: shape \(1, 2, 91, 128\)"),
        ({**shapes(), "dout": (1, 4, 71, 128)}, {}, ValueError, r"dout: shape \(1, 4, 71, 128\)"),
        ({**shapes(), "lse": (1, 70, 4)}, {}, ValueError, r"lse: shape \(1, 70, 4\), expected \(1, 4, 70\)"),
        (shapes(), {"scale": -1.0}, ValueError, "scale: -1.0, expected a positive number"),
        (shapes(), {"scale": "x"}, TypeError, "scale: str, expected a number"),
        (shapes(), {"scale": torch.tensor(0.5)}, TypeError, "scale: Tensor, expected a number"),
        (shapes(), {"scale": [0.5]}, TypeError, "scale: list, expected a number"),
        (shapes(), {"config": 0}, TypeError, "config: int, expected an entry of this module's CONFIGS"),
        (shapes(), {"lse": None}, TypeError, "lse: NoneType, expected a tensor"),
        (shapes(), {"dk": torch.zeros(1, 2, 90, 128)}, TypeError, "dk: torch.float32"),
    ],
)
def test_an_argument_that_the_kernel_cannot_take_is_named(
    given: dict[str, tuple[int, ...]], options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(f"{ALL}_none_together", ALL, given, **options)


def test_tensors_on_the_cpu_are_refused() -> None:
    given = {name: torch.zeros(s, dtype=torch.bfloat16) for name, s in shapes().items()}
    with pytest.raises(ValueError, match="q: on cpu, expected a CUDA device"):
        module(f"{ALL}_none_together").hopper_attention_bwd(**given)


def test_a_transposed_log_sum_exp_is_refused() -> None:
    loaded = module(f"{ALL}_none_together")
    with Session("eager", 0).active():
        made = {x: torch.zeros(s, dtype=torch.bfloat16, device=DEVICE) for x, s in shapes().items()}
        made["lse"] = torch.zeros(1, 70, 4, device=DEVICE).mT
        with pytest.raises(ValueError, match=r"lse: strides \(280, 1, 4\); the kernel needs a contiguous tensor"):
            loaded.hopper_attention_bwd(**made)


def test_what_tma_cannot_address_is_named_with_tensor_dimension_bytes_and_rule() -> None:
    describe = module(f"{ALL}_none_together").describe
    odd = torch.zeros(8192, dtype=torch.bfloat16).as_strided((1, 3, 5, 128), (7, 660, 128, 1))
    with pytest.raises(ValueError, match="k: stride of 660 elements along dimension 1 is 1320 bytes"):
        describe(odd, "k", [1, 1, 64, 128])
    with pytest.raises(ValueError, match=r"k: stride 5 where TMA needs 1; k.contiguous\(\) has it$"):
        describe(torch.zeros(1, 1, 128, 5, dtype=torch.bfloat16).mT, "k", [1, 1, 64, 128])


def test_gradients_that_share_memory_are_refused_and_nothing_is_launched() -> None:
    """With one another as with what they are of."""
    loaded = module(f"{ALL}_none_together")
    with Session("eager", 0).active() as session:
        made = {
            x: torch.zeros(s, dtype=torch.float32 if x == "lse" else torch.bfloat16, device=DEVICE)
            for x, s in shapes().items()
        }
        both = torch.zeros(1, 2, 90, 128, dtype=torch.bfloat16, device=DEVICE)
        with pytest.raises(ValueError, match="dk: shares memory with dv"):
            loaded.hopper_attention_bwd(**made, dk=both, dv=both)
        with pytest.raises(ValueError, match="dq: shares memory with out"):
            loaded.hopper_attention_bwd(**made, dq=made["out"])
        with pytest.raises(ValueError, match="dv: strides .*; elements of a result may not share memory"):
            loaded.hopper_attention_bwd(**made, dv=both[:, :1].expand(1, 2, 90, 128))
        odd = torch.zeros(1, 2, 90, 132, dtype=torch.bfloat16, device=DEVICE)[..., :128]
        with pytest.raises(ValueError, match=r"v: stride of 132 .* TMA needs .*; v.clone\(memory_format="):
            loaded.hopper_attention_bwd(**{**made, "v": odd})  # of the second of three kernels
    assert session.launches == 0


def test_what_tma_cannot_address_among_gradients_is_copied() -> None:
    addressable = module(f"{ALL}_none_together").addressable_by_tma
    lying = torch.zeros(2, 50, 3, 136, dtype=torch.bfloat16)[..., :128].transpose(1, 2)
    assert addressable(lying) is lying
    for unfit in (lying.new_ones(()).expand(2, 3, 50, 128), lying[..., 1:65], lying.transpose(2, 3)):
        made = addressable(unfit)
        *leading, last = made.stride()
        assert last == 1 and all(stride and not stride * 2 % 16 for stride in leading)
        assert made.data_ptr() != unfit.data_ptr() and torch.equal(made, unfit)


@pytest.mark.parametrize(("n", "m"), [(0, 90), (70, 0)])
def test_without_queries_or_keys_gradients_are_zero(n: int, m: int) -> None:
    dq, dk, dv = call(f"{ALL}_none_together", ALL, shapes(n, m))
    assert (dq.shape, dk.shape, dv.shape) == ((1, 4, n, 128), (1, 2, m, 128), (1, 2, m, 128))
    assert not (dq.any() or dk.any() or dv.any())


def test_each_module_returns_the_gradients_that_it_makes() -> None:
    dk, dv = call("hopper_attention_bwd_kv_none_head_dim128", "hopper_attention_bwd_kv", shapes(0))
    dq = call("hopper_attention_bwd_dq_none_head_dim128", "hopper_attention_bwd_dq", shapes(70, 0))
    assert (dk.shape, dv.shape, dq.shape) == ((1, 2, 90, 128), (1, 2, 90, 128), (1, 4, 70, 128))


def test_heads_come_together_as_long_as_what_they_need_fits_into_l2() -> None:
    together = module(f"{ALL}_causal_together").heads_together
    assert together(16384, 32, 32) == 4  # Q and dO of 8 MiB each
    assert together(16384, 8, 32) == 1  # each of which is worked on with its three sisters
    assert module("hopper_attention_bwd_dq_causal_head_dim128").heads_together(16384, 8, 32) == 16


def test_the_last_heads_that_come_together_are_about_as_many() -> None:
    """Of 64 heads of D 192 ten fit into L2, and the last four would begin late: eight at a time leave none."""
    whole = module("hopper_attention_bwd_d192_dv128_causal").whole_groups
    assert (whole(10, 64), whole(21, 128), whole(16, 128)) == (8, 16, 16)
    assert (whole(100, 5), whole(3, 1), whole(7, 44)) == (5, 1, 4)
