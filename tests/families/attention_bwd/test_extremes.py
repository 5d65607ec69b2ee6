"""Scores so far from zero that a probability that no query has would not be finite."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.support import kernels, source, written  # noqa: E402
from tlxgen.families.attention_bwd import problem  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

PLAIN = "hopper_attention_bwd/hopper_attention_bwd_none_together"
LOWER = "hopper_attention_bwd_masks/hopper_attention_bwd_masks_bf16_head_dim128"
DQ = "hopper_attention_bwd_dq/hopper_attention_bwd_dq_none_head_dim128"
PACKED = "hopper_attention_bwd_packed/hopper_attention_bwd_packed_head_dim128_"
PACKED_DQ = "hopper_attention_bwd_dq_packed/hopper_attention_bwd_dq_packed_causal_bottom_right"
KEYS = "hopper_attention_bwd_keys/hopper_attention_bwd_keys_none_top_left"


def errors(at: str, path: Path, shape: tuple[int, ...]) -> dict[str, float]:
    """The error of each gradient, relative to its norm, where all scores are near -140."""
    found = kernels(at.split("/")[0])
    variant = next(s for s in found.structures if s.name == at.split("/")[1]).variants[0]
    module = load_module(path)
    plain = torch.Tensor
    torch.manual_seed(0)
    with Session("random", 0).active():
        t = problem.inputs(variant.spec, shape, torch.device("cuda", 0))
        t["q"] += 3.5
        t["k"] -= 3.5
        raw = {name: x.as_subclass(plain) if isinstance(x, plain) else x for name, x in t.items()}
        with torch._C.DisableTorchFunction():
            problem.attend(variant.spec, raw)
            assert float(raw["lse"][torch.isfinite(raw["lse"])].max()) < -100
            reference = problem.reference(variant.spec, raw)
        outputs, _ = problem.launch(module, variant.spec, shape, t, module.CONFIGS[0])
        with torch._C.DisableTorchFunction():
            made = {name: x.as_subclass(plain).double() for name, x in outputs.items()}
            return {name: float((x - reference[name][0]).norm()) / reference[name][1] for name, x in made.items()}
    raise AssertionError("the simulator ended the run")


@pytest.mark.parametrize("at", [PLAIN, LOWER, DQ])
def test_keys_past_the_end_have_no_probability(at: str) -> None:
    found = errors(at, source(at), (1, 1, 1, 70, 100))
    assert max(found.values()) < 3e-2, found


@pytest.mark.parametrize(
    "at", [f"{PACKED}none_top_left_together", f"{PACKED}causal_bottom_right_together", PACKED_DQ, KEYS]
)
def test_keys_past_the_end_of_a_sequence_have_none(at: str) -> None:
    """Of sequences longer and shorter than a tile, and rows past the ends of their queries."""
    found = errors(at, source(at), (4, 2, 1, 150, 100))
    assert max(found.values()) < 3e-2, found


def test_without_the_mask_they_would(tmp_path: Path) -> None:
    text = source(PLAIN).read_text().replace("p = tl.where(keys < N_K, p, 0.0)", "pass")
    unmasked = written(PLAIN, text, tmp_path)
    assert not errors(PLAIN, unmasked, (1, 1, 1, 70, 100))["dq"] < 1
