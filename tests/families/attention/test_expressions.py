"""Expressions over scores: what the grammar takes and refuses, and device code against autograd of the text itself."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sympy")

from tlxgen import families  # noqa: E402
from tlxgen.errors import SpecErrors  # noqa: E402
from tlxgen.families.attention.expressions import modified, parse, reference  # noqa: E402
from tlxgen.spec import ExpressionFault, load  # noqa: E402

ALIBI = "score + 2**(-8 * (head + 1) / heads) * (k - q)"
BENT = "20 * tanh(score / 20) - abs(q - k) / 64"
FAR = "where(abs(k - q - (n_k - n_q)) > 64, score / 2, score - 1)"
RELATIONS = {"gt": torch.gt, "ge": torch.ge, "lt": torch.lt, "le": torch.le, "eq": torch.eq, "ne": torch.ne}


@pytest.mark.parametrize(
    ("text", "offset", "words"),
    [
        ("", 0, "the expression is empty"),
        ("score +", 7, "not an expression"),
        ("1 + q", 0, "does not use score"),
        ("score + slop", 8, "unknown name 'slop'"),
        ("score + kv", 8, "unknown name 'kv'"),
        ("score + -inf", 9, "keys are hidden by mask"),
        ("score + sin(q)", 8, "unknown function 'sin'"),
        ("score + q.real", 8, "not part of an expression"),
        ("score + q[0]", 8, "not part of an expression"),
        ("score + (lambda: 1)()", 9, "unknown function"),
        ("score // 2", 0, "those are + - * / **"),
        ("score + True", 8, "True is not a number"),
        ("score + 'a'", 8, "'a' is not a number"),
        ("score + 1j", 8, "1j is not a number"),
        ("score + 1e999", 8, "not a finite number"),
        ("score + 1 / 0", 8, "1 / 0 is not a finite number"),
        ("score + log(-1)", 8, "log(-1) is not a finite number"),
        ("score + sqrt(score - score - 1)", 0, "is not a finite number"),
        ("score + 9**9**9**9", 11, "is not a finite number"),
        ("score ** 17", 9, "a constant exponent is at most 16, not 17"),
        ("(-2) ** q * score", 1, "the base of a power is positive"),
        ("score * (k > q)", 9, "a truth, not a number: write where"),
        ("score if k > q else 0", 0, "write where(condition, yes, no)"),
        ("where(k, score, 0)", 6, "a condition compares numbers"),
        ("where((k > q) & (q > 1), score, 0)", 6, "write `and` for &"),
        ("where(k in (1, 2), score, 0)", 6, "conditions compare by"),
        ("where(k > q, score)", 0, "where takes 3 arguments, not 2"),
        ("max(score)", 0, "max takes 2 to 8 arguments, not 1"),
        ("max(*score)", 0, "max takes plain arguments"),
        ("abs + score", 0, "abs is a function: abs(...)"),
        ("score" + " + 1" * 200, 0, "at most 500 characters"),
        ("score + " + "-" * 40 + "q", 0, "nested too deeply"),
    ],
)
def test_what_is_no_expression_is_refused_at_its_place(text: str, offset: int, words: str) -> None:
    with pytest.raises(ExpressionFault) as found:
        modified(text)
    assert words in str(found.value)
    if "deeply" not in words:
        assert found.value.offset == offset


@pytest.mark.parametrize("axis", [False, True])
def test_a_fault_is_shown_at_its_column(axis: bool, tmp_path: Path) -> None:
    text = '"score + slop * (k - q)"'
    key = f"variants: {{axes: {{softmax.expression: [{text}]}}}}" if axis else f"softmax: {{expression: {text}}}"
    path = tmp_path / "some.yaml"
    path.write_text(f"kernel: attention_fwd\nname: some\narch: sm90\n{key}\n")
    with pytest.raises(SpecErrors) as found:
        families.load("attention_fwd").kernels(load(path))
    (error,) = found.value.errors
    assert (
        error.exit_code == 2
        and error.location
        and (error.location.line, error.location.column)
        == (
            4,
            key.index("slop") + 1,
        )
    )


def evaluated(text: str, score: Any, **places: float) -> tuple[Any, Any]:
    """What an expression's device code returns, executed in float64: the value, no longer in log2, and the slope."""
    made = modified(text)
    n_q, n_k = score.shape
    q, k = torch.arange(n_q).double()[:, None], torch.arange(n_k).double()[None, :]
    scale = 0.25
    names = {"q": q, "k": k, "n_q": n_q, "n_k": n_k, "scores": score / scale, "score": score}
    names |= {"apart": k - q, "aligned": k - (q + (n_k - n_q))}
    names |= {f"where_{name}": choice(name) for name in RELATIONS}
    names |= {"scale_log2": scale * 1.4426950408889634, "tl": device(), "tanh": lambda x: torch.tanh(wide(x)), **places}
    *statements, last = made.sloped or made.code
    for statement in statements:
        exec(statement, names)
    result = eval(last.removeprefix("return "), names)
    value, slope = result if made.steep else (result, 1.0)
    return (wide(value) / 1.4426950408889634).expand(n_q, n_k), wide(slope).expand(n_q, n_k)


def wide(x: Any) -> Any:
    return x if isinstance(x, torch.Tensor) else torch.tensor(float(x), dtype=torch.float64)


def choice(name: str) -> Any:
    """What device code calls for a choice that differs within a tile."""
    return lambda x, y, a, b: torch.where(RELATIONS[name](wide(x), wide(y)), wide(a), wide(b))


def of_wide(function: Any) -> Any:
    return lambda *arguments: function(*map(wide, arguments))


def device() -> Any:
    """Those functions of tl that device code calls."""
    names = ("abs", "exp", "exp2", "log", "log2", "maximum", "minimum", "rsqrt", "sqrt")
    calls = {name: of_wide(getattr(torch, name)) for name in names}
    return SimpleNamespace(**calls, where=lambda c, a, b: torch.where(torch.as_tensor(c), wide(a), wide(b)))


def expected(text: str, score: Any, **places: float) -> tuple[Any, Any]:
    x = score.clone().requires_grad_()
    value = reference.modified(text, x, **places)
    return value.detach(), torch.autograd.grad(value.sum(), x)[0]


def drawn(rng: random.Random, depth: int) -> str:
    """A random expression that is finite everywhere."""
    if depth == 0:
        return rng.choice(["score", "score", "k", "q", "(k - q)", "head", "n_q", f"{rng.uniform(0.1, 3):.2f}", "heads"])
    a, b = drawn(rng, depth - 1), drawn(rng, depth - 1)
    forms = (
        f"({a} + {b})",
        f"({a} - {b})",
        f"tanh({a}) * {b}",
        f"{a} / (1 + abs({b}))",
        f"min({a}, {b})",
        f"max({a}, {b})",
        f"abs({a})",
        f"log(1 + ({a}) ** 2)",
        f"sqrt(1 + abs({a}))",
        f"exp(-abs({a}))",
        f"2 ** -abs({a})",
        f"where({a} > {b}, {b}, score)",
        f"where({a} <= 1 and not {b} == 2, {a}, -score)",
        f"pow(1 + ({a}) ** 2, -0.25)",
    )
    return rng.choice(forms)


def test_device_code_and_its_derivative_are_those_of_the_text() -> None:
    rng = random.Random(1)
    torch.manual_seed(1)
    texts = [ALIBI, BENT, FAR, *(f"score + {drawn(rng, rng.randint(1, 3))}" for _ in range(40))]
    places = {"head": 2.0, "batch": 1.0, "heads": 6.0}
    seen = 0
    for text in texts:
        score = torch.randn(5, 7, dtype=torch.float64) * 2
        whole = {name: int(x) for name, x in places.items()}
        for found, wanted in zip(evaluated(text, score, **places), expected(text, score, **whole), strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9, msg=lambda m, t=text: f"{t}\n{m}")
        seen += modified(text).steep
    assert seen > 10


def test_affine_expressions_keep_the_factor_of_the_softmax_and_need_no_derivative() -> None:
    alibi, bent, far = map(modified, (ALIBI, BENT, FAR))
    assert (alibi.unit, alibi.steep, alibi.parameters) == ("scale_log2", False, ("head", "heads"))
    assert alibi.code == (
        "return scale_log2 * scores + 1.4426950408889634 * tl.exp2((-8.0 - 8.0 * head) / heads) * apart",
    )
    assert (bent.unit, bent.steep, bent.flat, bent.parameters) == ("scale", True, False, ())
    assert bent.sloped[0] == "t0 = tanh(0.05 * score)" and bent.sloped[-1].endswith(", 1.0 - t0 * t0")
    assert (far.unit, far.steep) == ("scale_log2", True)
    assert modified("score / (1 + head)").flat and not modified("score - abs(k - q)").steep


def test_a_choice_within_a_tile_is_made_element_by_element() -> None:
    """One relation after the other; what a tile has one of, or a row, is chosen as usual."""
    assert modified(FAR).code[-1] == "return where_gt(tl.abs(aligned), 64.0, 0.5 * t0, t0 - 1.4426950408889634)"
    assert modified(FAR).parameters == ("n_q", "n_k")
    both = modified("where(k > q and k < 9, score, 0)")
    assert both.code[-1].count("where_") == 1 and both.relations == ("gt",) and "tl.where(k < 9.0" in both.code[-1]
    either = modified("where(score > 1 or score == k, score, -score)")
    assert either.relations == ("eq", "gt") and "tl.where(" not in " ".join(either.sloped)
    assert modified("where(head > 1, score, score * 2)").relations == ()
    assert modified("score + abs(score)").relations == ("gt", "lt")  # of the derivative


def test_two_spellings_are_one_expression() -> None:
    assert parse("score+  (k-q)").canonical == parse("score + (k - q)").canonical == modified("score+(k - q)").text


def test_device_code_is_the_same_in_every_process() -> None:
    code = "from tlxgen.families.attention.expressions import modified\n"
    code += f"for text in {[BENT, FAR]!r}: print(modified(text).code, modified(text).sloped)"
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1 and "tanh" in told.pop()


def test_expressions_on_an_axis_give_modules_with_names_of_a_bounded_length(tmp_path: Path) -> None:
    texts = [f"score - {i} * abs(k - q) / (1 + abs(k - q) * abs(k - q) + 0.125 * head)" for i in (1, 2)]
    path = tmp_path / "some.yaml"
    path.write_text(
        f"kernel: attention_fwd\nname: some\narch: sm90\nvariants: {{axes: {{softmax.expression: {texts}}}}}\n"
    )
    names = [s.name for s in families.load("attention_fwd").kernels(load(path)).structures]
    assert len(set(names)) == 2 and all(len(name) <= 45 and name.isidentifier() for name in names)
