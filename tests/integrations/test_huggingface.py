"""Attention registered in transformers: a small Llama trains by it, and what it cannot compute is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tlxgen.integrations.huggingface import options_of, register_attention
from tlxgen.loading import load_file

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

ROOT = Path(__file__).resolve().parents[2]
NAME = "tlxgen_test"


def forward(q: Any, k: Any, v: Any, *, scale: float | None = None) -> Any:
    """What a generated forward gives: out and lse."""
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    scores = (q @ k.mT * scale).masked_fill(torch.ones(q.shape[2], k.shape[2]).triu(1).bool(), float("-inf"))
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


def small(**options: Any) -> Any:
    sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "vocab_size": 50}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    return transformers.LlamaConfig(**sizes, **heads, **options)


def model(implementation: str, config: Any = None) -> Any:
    torch.manual_seed(0)
    config = config or small()
    config._attn_implementation = implementation
    return transformers.LlamaForCausalLM(config).train()


@pytest.fixture(params=["forward", "scaled_dot_product_attention"])
def registered(request: pytest.FixtureRequest) -> Iterator[None]:
    kernel = forward if request.param == "forward" else torch.nn.functional.scaled_dot_product_attention
    register_attention(NAME, causal=kernel)
    yield


def test_a_model_trains_as_it_does_in_eager_mode(registered: None) -> None:
    """Logits and every gradient; heads of q share those of k."""
    ids = torch.randint(50, (2, 24), generator=torch.Generator().manual_seed(1))
    seen = []
    for implementation in ("eager", NAME):
        it = model(implementation)
        out = it(input_ids=ids, labels=ids, use_cache=False)
        out.loss.backward()
        seen.append((out.logits, {name: p.grad for name, p in it.named_parameters()}))
    (logits, gradients), (others, other_gradients) = seen
    torch.testing.assert_close(others, logits)
    assert gradients.keys() == other_gradients.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(other_gradients[name], gradient, rtol=1e-4, atol=1e-6)


def test_it_is_the_generated_function_that_is_called() -> None:
    pytest.importorskip("triton.language.extra.tlx")
    module = load_file(ROOT / "generated" / "hopper_attention_fwd" / "hopper_attention_fwd_causal.py")
    register_attention(NAME, causal=module.hopper_attention_fwd)
    with torch.no_grad(), pytest.raises(ValueError, match="q: on cpu, expected a CUDA device"):
        model(NAME)(input_ids=torch.zeros(1, 8, dtype=torch.long), use_cache=False)


def test_a_forward_alone_says_that_it_knows_no_gradients() -> None:
    pytest.importorskip("triton.language.extra.tlx")
    module = load_file(ROOT / "generated" / "hopper_attention_fwd" / "hopper_attention_fwd_causal.py")
    register_attention(NAME, causal=module.hopper_attention_fwd)
    with pytest.raises(ValueError, match="q requires grad, and there is no backward"):
        model(NAME)(input_ids=torch.zeros(1, 8, dtype=torch.long), use_cache=False)


def test_the_operator_of_a_generated_backward_gets_the_arguments_that_it_checks() -> None:
    pytest.importorskip("triton.language.extra.tlx")
    forward_of = load_file(ROOT / "generated" / "hopper_attention_fwd" / "hopper_attention_fwd_causal.py")
    backward = load_file(ROOT / "generated" / "hopper_attention_bwd" / "hopper_attention_bwd_causal_together.py")
    kernel = backward.attention(forward_of.hopper_attention_fwd)
    assert options_of(kernel, True) == {"is_causal": True, "enable_gqa": True}
    register_attention(NAME, causal=kernel)
    with pytest.raises(ValueError, match="q: on cpu, expected a CUDA device"):
        model(NAME)(input_ids=torch.zeros(1, 8, dtype=torch.long), use_cache=False)


@pytest.mark.parametrize(
    ("said", "config", "given"),
    [
        ("know no padding", {}, {"attention_mask": torch.tensor([[0] * 4 + [1] * 4])}),
        ("no mask but the causal one", {}, {"position_ids": torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3]])}),
        ("dropout of 0.5", {"attention_dropout": 0.5}, {}),
    ],
)
def test_what_the_kernels_lack_is_refused(said: str, config: dict[str, Any], given: dict[str, Any]) -> None:
    register_attention(NAME, causal=forward)
    with pytest.raises(ValueError, match=said):
        model(NAME, small(**config))(input_ids=torch.zeros(1, 8, dtype=torch.long), use_cache=False, **given)


def test_an_attention_mask_of_ones_is_none() -> None:
    register_attention(NAME, causal=forward)
    ids = torch.zeros(1, 8, dtype=torch.long)
    it = model(NAME)
    given = it(input_ids=ids, attention_mask=torch.ones(1, 8), use_cache=False).logits
    torch.testing.assert_close(given, it(input_ids=ids, use_cache=False).logits)


def test_a_cache_is_refused() -> None:
    register_attention(NAME, causal=forward)
    with pytest.raises(ValueError, match="it is for training"):
        model(NAME).eval().generate(torch.zeros(1, 8, dtype=torch.long), max_new_tokens=2, do_sample=False)


def test_it_needs_a_function_and_the_right_one() -> None:
    with pytest.raises(ValueError, match="needs causal= or full="):
        register_attention(NAME)
    register_attention(NAME, full=forward)
    with pytest.raises(ValueError, match="registered without causal="):
        model(NAME)(input_ids=torch.zeros(1, 8, dtype=torch.long), use_cache=False)
