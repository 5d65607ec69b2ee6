"""Trees that are put together from known statements are those that libcst makes of the whole module."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from hypothesis import given, settings

from tests.render.test_layout import blocks
from tlxgen.render.passes import _code, _parse

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("generated/hopper_matmul", "generated/hopper_hstu", "generated/blackwell_attention_bwd", "tlxgen/render")
FILES = [path for place in PLACES for path in sorted((ROOT / place).glob("[a-z]*.py"))[:5]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_tree_is_libcsts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text()
    expected = cst.parse_module(text)
    asked: list[str] = []
    parse = cst.parse_module
    monkeypatch.setattr(cst, "parse_module", lambda source: asked.append(source) or parse(source))
    made = _parse.parsed(text)
    assert made.deep_equals(expected) and made.code == text == _code.code(made)
    assert text not in asked  # it was put together


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    x = 1\n    # of f\n\n\ny = 1\n",
        "def f():\n    x = 1\n    # of f\n",
        "def f():\n# below\n    x = 1\n",
        "def f(): return 1\n",
        "def f():\n    if a:\n        x = 1\n        # of the block\n    y = 2\n",
        "def f():\n\n    # first\n\n    x = 1\n# of the module\ndef g():\n    pass\n# end\n",
        "def f():\n    if a:\n        pass\n    # before else\n    else:\n        pass\n",
        "def f():\n    try:\n        x\n\n    finally:\n        y\n",
        "class A:\n    def f(self):\n        return 1\n\n    x = 1\n",
        'def f():\n    """Doc\n  more"""\n    return """a\n    b"""\n',
        "def f():\n    with a:\n        # first\n        for i in b:\n\n            # x\n            x(\n  i)\n    y\n",
        "def f():\n    with a:\n        if b:\n            x\n            # of b\n        # y\n        y\n",
        "def f():\n    with a:\n        if b:\n            x\n        # of the outer block\n    y\n",
        "def f():\n    if a:\n        if b: x = 1\n        elif c:\n            y\n\n        else: z\n",
        "def f():\n    try:\n        x\n    except A:\n        y\n    except B:\n\n        z\n    else:\n        u\n",
        "def f():\n    try:\n        x\n    except A:\n        y\n    finally:\n        # of z\n        z\n",
        "def f():\n    @d\n    # g\n    def g():\n        while a:\n            x\n        else:\n            y\n",
        "def f():\n    match a:\n        case 1:\n            x\n        case _:\n            y\n",
        "async def f():\n    async with a:\n        x\n",
        "def f():\n    async def g():\n        async for i in a:\n            x\n",
        "def f():\n    for i in a:\n          x\n          y\n",
    ],
)
def test_comments_and_strings_in_any_place(text: str) -> None:
    made = _parse.parsed(text)
    assert made.deep_equals(cst.parse_module(text)) and made.code == text == _code.code(made)


@settings(max_examples=60, deadline=None)
@given(blocks(depth=1))
def test_blocks_in_blocks(text: str) -> None:
    """Of statements of every kind, with comments and blank lines in any number between them."""
    text = f"def f():\n{text}"
    made = _parse.parsed(text)
    assert made.deep_equals(cst.parse_module(text)) and made.code == text == _code.code(made)


def test_a_statement_is_parsed_once() -> None:
    first, second = (_parse.parsed(f"def {name}():\n    x = load()\n    return x\n") for name in "fg")
    assert first.body[0].body.body[0] is second.body[0].body.body[0]  # type: ignore[union-attr]


def test_a_statement_of_a_block_is_parsed_once() -> None:
    first, second = (_parse.parsed(f"def f():\n    with {name}:\n        x = load()\n") for name in "ab")
    inner = [module.body[0].body.body[0].body.body[0] for module in (first, second)]  # type: ignore[union-attr]
    assert inner[0] is inner[1]


def test_an_error_has_the_line_of_the_module() -> None:
    with pytest.raises(cst.ParserSyntaxError) as caught:
        _parse.parsed("x = 1\n\n\ndef f():\n    y = 1\n    z = = 2\n")
    assert caught.value.raw_line == 6
