"""Exponentials by polynomial on sm100: how exact they are, what a spec may say of them, and planted faults."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from tlxgen.families.attention_fwd.cost import _exponential
from tlxgen.families.attention_fwd.spec import AttentionSpec

from . import specs

GENERATED = Path(__file__).parents[3] / "generated"
PACKAGE = "blackwell_attention_fwd_d64_polynomial"
HALF = f"{PACKAGE}/{PACKAGE}_none_polynomial32"
LONG = (1, 2, 1, 200, 900)


def remez() -> tuple[np.ndarray, float]:
    """The cubic p with the least largest |p(f) / 2**f - 1| on [-1/2, 1/2], by Remez's exchange, and that error."""
    at, dense = 0.5 * np.cos(np.pi * np.arange(5) / 4), np.linspace(-0.5, 0.5, 100_001)
    for _ in range(10):
        rows = [at**k * 2.0**-at for k in range(4)]
        solved = np.linalg.solve(np.stack([*rows, (-1.0) ** np.arange(5)], 1), np.ones(5))
        error = np.polyval(solved[3::-1], dense) * 2.0**-dense - 1
        ends = [0, *(np.flatnonzero(np.diff(np.sign(error))) + 1), len(dense)]
        at = np.array([dense[a + np.argmax(abs(error[a:b]))] for a, b in zip(ends, ends[1:], strict=False)])
    return solved[:4], float(abs(error).max())


def test_the_coefficients_are_those_of_the_best_cubic() -> None:
    best, error = remez()
    (line,) = re.findall(r"p = (\(\(.*)", (GENERATED / f"{HALF}.py").read_text())
    found = [float(x) for x in re.findall(r"\d\.\d+", line)][::-1]
    assert np.allclose(found, best, rtol=0, atol=2e-8) and 7.47e-5 < error < 7.49e-5


@pytest.mark.parametrize("share", [16, 32, 48])
def test_a_share_is_estimated_by_the_slower_unit(share: int) -> None:
    values = {"arch": "sm100", "softmax.polynomial": share}
    clocks = _exponential(specs.plan_of(values).facts) * 128  # type: ignore[arg-type]
    assert clocks == {16: 6.0, 32: 6.5, 48: 8.25}[share]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"softmax.polynomial": 16}, "the exponential unit is not the bound on sm90"),
        ({"arch": "sm100", "softmax.polynomial": 8}, "polynomial"),
    ],
)
def test_what_is_refused_says_why(values: dict[str, Any], words: str) -> None:
    try:
        found = AttentionSpec.model_validate(specs.data_of(values)).faults()
    except ValidationError as error:
        found = [((), str(error))]
    assert any(words in text for _, text in found), found


torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant  # noqa: E402
from tests.sim.support import run_mutant  # noqa: E402
from tlxgen.sim import ops_tl  # noqa: E402


def polynomial() -> Any:
    """The function of a generated module, in the simulator's language."""
    source = (GENERATED / f"{HALF}.py").read_text()
    (text,) = re.findall(r"def exp2_by_polynomial\(x\):.*?\n\n\n", source, re.DOTALL)
    text = text.replace("rounded.to(tl.int32, bitcast=True)", "tl.to(rounded, tl.int32, bitcast=True)")
    text = text.replace("(tl.to(rounded, tl.int32, bitcast=True) << 23).to(", "tl.to(rounded_bits << 23, ")
    text = text.replace("    return p", "    rounded_bits = tl.to(rounded, tl.int32, bitcast=True)\n    return p")
    space: dict[str, Any] = {"tl": ops_tl.Language()}
    exec(text, space)
    return space["exp2_by_polynomial"]


def test_exponentials_are_as_exact_as_stated() -> None:
    x = torch.cat([torch.linspace(-126, 16, 400_001), torch.rand(100_000) * 2 - 1])
    exact = torch.exp2(x.double())
    assert ((polynomial()(x).double() - exact) / exact).abs().max() < 7.52e-5


def test_hidden_scores_weigh_nothing_and_nan_stays() -> None:
    x = torch.tensor([float("-inf"), -3e38, -1e6, -127.0, -126.6, float("nan"), 0.0])
    found = polynomial()(x)
    assert (found[:5] == 0).all() and found[5].isnan() and abs(found[6] - 1) < 7.5e-5


FAULTS = (
    Mutant("no clamp", HALF, "x = tl.maximum(x, -127.0, propagate_nan=tl.PropagateNan.ALL)", "pass", 0, LONG),
    Mutant("a shift too little", HALF, "<< 23", "<< 22", 0, LONG),
    Mutant("the wrong bias", HALF, "rounded = x + 12583039.0", "rounded = x + 12583038.0", 0, LONG),
    Mutant("halves exchanged", HALF, "tl.join(left, right)", "tl.join(right, left)", 0, LONG),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen
