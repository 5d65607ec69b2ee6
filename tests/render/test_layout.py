"""Formatting line by line gives what black gives for the whole module."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tlxgen.render import layout, lines

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("generated/hopper_gemm", "generated/hopper_hstu", "generated/blackwell_attention_bwd", "tlxgen/sim")
FILES = [path for place in PLACES for path in sorted((ROOT / place).glob("*.py"))[:4]]
CASES = sorted((ROOT / "tests/render/cases").glob("*/*.py"))

HEADERS = ["if a:", "for i in b:", "while c :", "with d as e:", "def f( x ):", "class G( ):", "try:"]
STATEMENTS = ["x=1", "import a", "from b import c", "return x", "pass", '"""Some text."""', "'text'", "f( a,b, )"]
LEADS = ["", "\n", "\n\n", "\n\n\n\n", "# note\n", "#note\n\n", "\n# one\n# two\n", "\n\n# one\n\n\n# two\n"]


@st.composite
def blocks(draw: st.DrawFn, depth: int = 0) -> str:
    """The statements of a block, with comments and blank lines in any number between them."""
    indent, parts = "    " * depth, []
    for _ in range(draw(st.integers(1, 4))):
        lead = draw(st.sampled_from(LEADS))
        parts.append("".join(f"{indent}{row}\n" if row else "\n" for row in lead.split("\n")[:-1]))
        header = draw(st.sampled_from(HEADERS)) if depth < 3 and draw(st.booleans()) else None
        if header is None:
            parts.append(f"{indent}{draw(st.sampled_from(STATEMENTS))}\n")
            continue
        if header[:3] in ("def", "cla"):
            parts += [f"{indent}@{draw(st.sampled_from(['d', 'e (1)']))}\n" for _ in range(draw(st.integers(0, 2)))]
        parts.append(f"{indent}{header}\n{draw(blocks(depth + 1))}")
        if header == "try:":
            parts.append(f"{indent}except E:\n{draw(blocks(depth + 1))}")
        elif header[:2] in ("if", "fo", "wh") and draw(st.booleans()):
            parts.append(f"{indent}else:\n{draw(blocks(depth + 1))}")
    return "".join(parts)


@settings(max_examples=60, deadline=None)
@example('class G( ):\n    # note\n    """Some text."""\n    x=1\n', "")
@example('def f( x ):\n    # note\n    """Some text."""\n    x=1\n', "")
@given(blocks(), st.sampled_from(['"""Title."""\n', "# head\n", ""]))
def test_blank_lines_are_those_of_the_whole_module(text: str, head: str) -> None:
    assert layout.formatted(head + text) == layout.whole(head + text)


@pytest.mark.parametrize("path", [*FILES, *CASES], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_modules_are_formatted_as_a_whole(path: Path) -> None:
    text = path.read_text()
    assert layout.formatted(text) == layout.whole(text)


@pytest.mark.parametrize("path", FILES[::4], ids=lambda path: path.name)
def test_modules_without_line_breaks_in_brackets(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As templates print them: what does not fit on a line is not broken yet."""
    flat = [
        (line.text if '"""' in line.text or "#" in line.text else " ".join(line.text.split()), line.column, line.blanks)
        for line in lines.split(path.read_text())
    ]
    text = "".join("\n" * blanks + " " * column + line + "\n" for line, column, blanks in flat)
    expected = layout.whole(text)
    monkeypatch.setattr(layout, "whole", None)  # it needs no help
    assert layout.formatted(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n# fmt: off\ny  =  2\n# fmt: on\n",
        "if a:\n\tx = 1\n",
        "x = 1 + \\\n    2\n",
        "if a:\n  x = 1\n",
        "def f(): ...\n",
        "def f():\n    ...\n",
        "if a: x = 1\n",
        "a = 1; b = 2\n",
        "if a:\n    if b:\n        x = 1\n    # of neither\n# of the module\ny = 1\n",
        "match a:\n    case 1:\n        x = 1\n",
        "async def f():\n    await g()\n",
    ],
)
def test_unusual_forms_are_left_to_black(text: str) -> None:
    assert layout.formatted(text) == layout.whole(text)


def test_lines() -> None:
    text = 'def f(\n    a,  # "one\n):\n    """Doc\n\n    # no comment"""\n\n    # two\n'
    text += '    return "a#b" + f(\n        {1: [2]}\n    )\n'
    assert lines.split(text) == [
        ('def f(\n    a,  # "one\n):', 0, 0, False),
        ('"""Doc\n\n    # no comment"""', 4, 0, False),
        ("# two", 4, 1, True),
        ('return "a#b" + f(\n        {1: [2]}\n    )', 4, 0, False),
    ]


@pytest.mark.parametrize("text", ["x = (\n", "'''\n", "x = 'a\n"])
def test_text_that_is_not_python_has_no_lines(text: str) -> None:
    with pytest.raises(lines.UnusualError):
        lines.split(text)
