"""The expression language: what it computes, what it refuses, and that it never leaks another exception."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_demo import DemoSpec

from tlxgen.spec import ExpressionFault, compile_expression, paths

SPEC = DemoSpec.model_validate(
    {
        "kernel": "demo",
        "name": "k",
        "arch": "sm90",
        "problem": {"a": {"dtype": "bf16"}},
        "ops": ["bias", "relu"],
        "tile": {"m": 64, "n": 100},
        "tasks": {"load": {"stages": 3}},
        "bias": "full",
    }
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("tile.m * tile.n <= 128 * 256", True),
        ("tile.m", 64),
        ("tile.m + 1 - 2 // 2 % 3", 64),
        ("tile.m / 2 ** 3", 8.0),
        ("-tile.m if tile.m > 3 else +1", -64),
        ("16 <= tile.m < tile.n != 3", True),
        ("'bias' in ops and 'gelu' not in ops", True),
        ("problem.a.dtype in ('bf16', 'fp16') or 1 / 0", True),
        ("ops == ['bias', 'relu']", True),
        ("min(tile.m, tile.n), max(1, 2), abs(-3), len(ops)", (64, 2, 3, 2)),
        ("cdiv(tile.n, 64)", 2),
        ("is_pow2(tile.m) and not is_pow2(tile.n) and not is_pow2(0)", True),
        ("rings.c.stages == None", True),
        ("tasks.load.stages", 3),
        ("bias.scale", None),
        ("  tile.m  ", 64),
        ("True and 1 < 2", True),
    ],
)
def test_values(text: str, value: object) -> None:
    expression = compile_expression(text)
    expression.check_names(paths(DemoSpec))
    assert expression.evaluate(SPEC) == value


def test_names() -> None:
    expression = compile_expression(" tile.n + tile.m * tile.n")
    assert list(expression.names.items()) == [("tile.n", 1), ("tile.m", 10)]
    assert expression.values(SPEC) == "tile.n = 100, tile.m = 64"


@pytest.mark.parametrize(
    ("text", "offset", "words"),
    [
        ("", 0, "empty"),
        ("1 +", 3, "not an expression"),
        ("x = 3", 2, "not an expression"),
        ("1 + open('x')", 4, "the only calls are min"),
        ("min(tile.m, key=1)", 0, "the only calls are"),
        ("min(*ops)", 0, "the only calls are"),
        ("(1).real", 0, "an attribute of a value"),
        ("ops[0]", 0, "indexing is not part"),
        ("1 if 2 else [x for x in ops]", 12, "ListComp is not part"),
        ("tile.m | 3", 0, "operator is not part"),
        ("~3", 0, "~ is not part"),
        ("'é' == 3 is 4", 0, "`is` is not part"),
        ("1 < b'x'", 4, "a bytes literal"),
        ("lambda: 3", 0, "Lambda"),
        ("9" * 5000, 0, "at most 500"),
        ("(" * 240 + ")" * 240, 0, ""),
        ("-" * 100 + "1", 41, "nested too deeply"),
        ("(" * 60 + "1" + ",)" * 60, 41, "nested too deeply"),
    ],
)
def test_refused(text: str, offset: int, words: str) -> None:
    with pytest.raises(ExpressionFault) as caught:
        compile_expression(text)
    assert words in str(caught.value)
    assert caught.value.offset == offset or words == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tile.m / (tile.m - 64)", "division by zero (tile.m = 64)"),
        ("tile.m < 'x'", "not supported between"),
        ("2 ** 10000", "exponent is too large"),
        ("(2 ** 200) ** 2 * 3", "too large"),
        ("'x' * 1000000000", "'x' is not a number"),
        ("ops + ops", "is not a number"),
        ("len(tile.m)", "has no len"),
        ("min()", "min"),
        ("is_pow2(1.5)", "1.5 is not an integer"),
        ("(-8) ** 0.5", "fractional power"),
        ("tile.m in 3", "not iterable|not a container"),
    ],
)
def test_faults_at_a_point(text: str, words: str) -> None:
    with pytest.raises(ExpressionFault) as caught:
        compile_expression(text).evaluate(SPEC)
    assert any(word in str(caught.value) for word in words.split("|"))


@pytest.mark.parametrize(
    ("text", "offset", "words"),
    [
        ("1 < tile.mm", 4, "unknown name 'tile.mm'; did you mean 'tile.m'?"),
        ("tile.m < tile.__class__", 9, "unknown name"),
        ("x", 0, "unknown name 'x'"),
        ("min", 0, "unknown name 'min'"),
    ],
)
def test_unknown_names(text: str, offset: int, words: str) -> None:
    with pytest.raises(ExpressionFault) as caught:
        compile_expression(text).check_names(paths(DemoSpec))
    assert (caught.value.offset, words in str(caught.value)) == (offset, True)


TOKENS = [
    "tile.m",
    "ops",
    "1",
    "2.5",
    "'x'",
    "0",
    "9" * 80,
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "<",
    "==",
    " in ",
    "(",
    ")",
    ",",
]
TOKENS += [
    " and ",
    " not ",
    " if ",
    " else ",
    "min(",
    "cdiv(",
    "is_pow2(",
    "[",
    "]",
    ".",
    "\n",
    "\\",
    "'",
    "#",
    "é",
    "\x00",
    "{",
]


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.lists(st.sampled_from(TOKENS), max_size=25).map("".join), st.text(max_size=30)))
def test_never_another_exception(text: str) -> None:
    try:
        compile_expression(text).evaluate(SPEC)
    except ExpressionFault as fault:
        assert 0 <= fault.offset <= len(text) + 1
