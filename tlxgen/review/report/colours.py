"""Renders source as HTML with syntax colours, line by line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import PythonLexer, TextLexer, YamlLexer

_LEXERS: dict[str, type[Lexer]] = {".py": PythonLexer, ".yaml": YamlLexer, ".yml": YamlLexer, ".j2": PythonLexer}
_STYLES = {"light": "default", "dark": "github-dark"}
_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)
_BARE = re.compile(r'<span class="(?:n|p|o|w|nn|err)">([^<]*)</span>')  # names and operators, which have no colour
_PLAIN = re.compile(r"background-color:[^;}]*;?|border:[^;}]*;?")


def css() -> str:
    """The style sheet of the colours for light and dark screens."""
    light, dark = (_rules(_STYLES[screen]) for screen in ("light", "dark"))
    return f"{light}\n@media (prefers-color-scheme: dark) {{ .diff span {{ color: inherit }}\n{dark} }}"


def _rules(style: str) -> str:
    formatter: HtmlFormatter[str] = HtmlFormatter(style=style)
    found = str(formatter.get_style_defs(".diff")).splitlines()  # type: ignore[no-untyped-call]
    rules = (_PLAIN.sub("", line.partition("/*")[0]).strip() for line in found if re.match(r"\.diff \.\w+ {", line))
    return "\n".join(rule for rule in rules if not re.search(r"{\s*}$", rule))


def coloured(path: str, lines: Sequence[str], before: Sequence[str] = ()) -> list[str]:
    """The HTML of each of some adjacent lines of a file. `before` are the lines above, which may open a string."""
    suffix = path[path.rfind(".") :]
    lexer = _LEXERS.get(suffix, TextLexer)(stripnl=False, ensurenl=True)
    inside = suffix == ".py" and sum(line.count('"""') for line in before) % 2 == 1
    text = "\n".join(['"""', *lines] if inside else lines)
    made = _BARE.sub(r"\1", highlight(text, lexer, _FORMATTER)).split("\n")[inside : inside + len(lines)]
    if len(made) != len(lines):  # the lexer counts lines differently
        return [escape(line) for line in lines]
    return made
