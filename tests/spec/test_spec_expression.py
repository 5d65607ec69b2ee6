"""The expression language: what it computes, what it refuses, and that it never leaks another exception."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_demo import DemoSpec

from tlxgen.families import load
from tlxgen.spec import ExpressionFault, Variants, compile_expression, paths
from tlxgen.spec.expression import _FUNCTIONS
from tlxgen.spec.model import LANGUAGE

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
        ("1 if 2 else [x for x in ops]", 12, "a comprehension is not part"),
        ("tile.m | 3", 0, "operator is not part"),
        ("~3", 0, "~ is not part"),
        ("'é' == 3 is 4", 0, "`is` is not part"),
        ("1 < b'x'", 4, "a bytes literal"),
        ("lambda: 3", 0, "lambda is not part"),
        ("(x := 3) > 1", 1, ":= is not part"),
        ("f'{ops}' == 1", 0, "an f-string is not part"),
        ("{1: 2}", 0, "a dict is not part"),
        ("any(x for x in ops)", 0, "the only calls"),
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


@pytest.mark.parametrize(
    ("text", "offset", "words"),
    [
        ("problem.a.dtype == bf16", 19, "text needs quotes: problem.a.dtype == 'bf16'"),
        ("bf61 != problem.a.dtype", 0, "text needs quotes: 'bf16' != problem.a.dtype"),
        ("problem.a.dtype in (bf16, fp16) and 1", 20, "quotes: problem.a.dtype in ('bf16', 'fp16') and 1"),
        (" relu in ops or ops == [gelu]", 1, "text needs quotes: 'relu' in ops or ops == ['gelu']"),
        ("problem.a.dtype == zzz", 19, "needs quotes, and problem.a.dtype is 'bf16' or 'fp16' or 'fp32'"),
        ("grid", 0, "text needs quotes: 'grid'"),
        ("tile.m == true", 10, "write True: tile.m == True"),
        ("rings.c == null", 11, "write None: rings.c == None"),
        ("problem.a.dtype == 'bf61'", 19, "problem.a.dtype is never 'bf61'; did you mean 'bf16'?"),
        ("'gelo' in ops", 0, "ops is never 'gelo'; did you mean 'gelu'?"),
        ("tile.m == '64'", 10, "tile.m is never text: take the quotes off '64'"),
    ],
)
def test_text_that_was_meant_and_text_that_cannot_be(text: str, offset: int, words: str) -> None:
    with pytest.raises(ExpressionFault) as caught:
        compile_expression(text).check_names(paths(DemoSpec))
    assert words in str(caught.value) and caught.value.offset == offset


@pytest.mark.parametrize("text", ["name == 'x'", "problem.a.dtype == 'bf16'", "guards.EPI == 'keep'", "bias == 'full'"])
def test_text_that_can_be(text: str) -> None:
    compile_expression(text).check_names(paths(DemoSpec))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tile.m > 3 && tile.n > 4", "write 'and' for '&&'"),
        ("tile.m > 3 || tile.n > 4", "write 'or' for '||'"),
        ("!(tile.m > 3)", "write 'not' for '!'"),
        ("tile.m = 3", "write '==' for '='"),
        ("min(tile.m", "a comma ends an item: put the expression in quotes"),
        ("tile.n) > 3", "a comma ends an item: put the expression in quotes"),
    ],
)
def test_other_languages(text: str, words: str) -> None:
    with pytest.raises(ExpressionFault) as caught:
        compile_expression(text)
    assert words in str(caught.value)


def test_the_page_for_people_and_the_schema_name_all_of_the_language() -> None:
    page = (Path(__file__).parents[2] / "docs" / "conditions.md").read_text()
    for each in (*_FUNCTIONS, *(w for pair in LANGUAGE.split(";")[1:4] for w in pair.replace(",", " ").split())):
        word = each.partition("(")[0]
        assert word in page and word in LANGUAGE, each
    for text in re.findall(r"^    - (.+)$", page, re.MULTILINE):
        names = set(compile_expression(text).names)
        assert names <= set(paths(load("gemm").model)), text
    for field in ("require", "exclude"):
        assert LANGUAGE in str(Variants.model_fields[field].description)


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


SMALL = st.sampled_from([0, 1, 2, True, "a", None])


@given(st.lists(st.tuples(SMALL, SMALL), max_size=4), st.tuples(SMALL, SMALL), st.booleans())
def test_a_tuple_is_one_of_the_rows_as_in_python(rows: list[object], values: tuple[object, ...], lists: bool) -> None:
    shown = repr([list(row) for row in rows] if lists else tuple(rows))  # type: ignore[call-overload]
    read = dict(zip("xy", values, strict=True)).__getitem__
    assert compile_expression(f"[x, y] in {shown}").run(read) is (values in rows)
    for row in rows:
        assert compile_expression(f"[x, y] == {list(row) if lists else row}").run(read) is (values == row)


def test_only_names_that_decide_are_read() -> None:
    asked: list[str] = []

    def read(name: str) -> object:
        asked.append(name)
        return {"a": 1, "b.c": 2, "d": 3}[name]

    assert compile_expression("a == 2 and b.c == 2").run(read) is False and asked == ["a"]
    assert compile_expression("[b.c, a, d] in [[2, 2, 3], [3, 1, 3]]").run(read) is False and asked[1:] == ["b.c", "a"]
    assert compile_expression("[d, a, b.c] == [3, 2, 2]").run(read) is False and asked[3:] == ["d", "a"]


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.lists(st.sampled_from(TOKENS), max_size=25).map("".join), st.text(max_size=30)))
def test_never_another_exception(text: str) -> None:
    try:
        compiled = compile_expression(text)
        compiled.check_names(paths(DemoSpec))
        compiled.evaluate(SPEC)
    except ExpressionFault as fault:
        assert 0 <= fault.offset <= len(text) + 1
