"""The Jinja environment of the templates. It is strict, and it indents what a macro prints like the macro's call.

A template line with nothing but `{{ expression }}` prints the expression's lines at the indentation of that line, and
no line at all if the expression is empty. `{% call %}` blocks do the same. So macros start at column 0.
"""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.ext import Extension

from tlxgen import stamp
from tlxgen.errors import Location, TemplateFault

_OUTPUT = re.compile(r"^(?P<indent>[ \t]*)\{\{(?P<expr>(?:(?!\}\}).)*)\}\}[ \t]*$(?P<tail>(?=\n\{%-))?", re.MULTILINE)
_CALL = re.compile(r"^(?P<indent>[ \t]*)(?P<tag>\{% call (?:(?!%\}).)*%\})[ \t]*$", re.MULTILINE)
_ENDCALL = re.compile(r"^[ \t]*\{% endcall %\}[ \t]*$", re.MULTILINE)


class BlockIndent(Extension):
    """Rewrites lone outputs and call blocks so that their lines get the indentation of the template's line.

    The empty comment at the end makes trim_blocks remove the line's newline, since `block` prints its own. A lone
    output in column 0 before `{%-` is left unchanged, so that a macro can print a part of a line.
    """

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        source = _OUTPUT.sub(_as_block, source)
        source = _CALL.sub(lambda m: f"{{% filter block({len(m['indent'])}) %}}{m['tag']}", source)
        return _ENDCALL.sub("{% endcall %}{% endfilter %}", source)


def _as_block(match: re.Match[str]) -> str:
    if match["tail"] is not None and not match["indent"]:
        return match[0]
    return f"{{{{ ({match['expr'].strip()}) | block({len(match['indent'])}) }}}}{{##}}"


def block(text: object, width: int) -> str:
    """`text` without trailing blank lines, each line indented by `width` columns. Empty text stays empty."""
    stripped = str(text).strip("\n")
    return textwrap.indent(stripped, " " * width) + "\n" if stripped.strip() else ""


def as_tuple(items: Iterable[object]) -> str:
    """The text of a tuple, from the texts of its items, without a trailing comma, at which black would split lines."""
    texts = [str(item) for item in items]
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def prose(text: object) -> str:
    """Wraps text for a docstring at the line length of code. Continuation lines are indented."""
    wrapper = textwrap.TextWrapper(116, subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(wrapper.fill(line) for line in str(text).split("\n"))


def strings(text: object) -> str:
    """A string literal of `text`, in parts that fit on lines of code."""
    return "\n".join(f'"{part}"' for part in textwrap.wrap(str(text), 110, drop_whitespace=False))


class _Environment(jinja2.Environment):
    """An environment that parses a template once. Its imports are asked for before it is compiled, for each spec."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._trees: dict[str, nodes.Template] = {}
        self._imported: dict[str, tuple[str, ...]] = {}

    def imported(self, source: str, name: str, filename: str) -> tuple[str, ...]:
        """The templates that `source` imports or includes."""
        if source not in self._imported:
            self._trees[source] = self.parse(source, name, filename)
            self._imported[source] = tuple(t for t in meta.find_referenced_templates(self._trees[source]) if t)
        return self._imported[source]

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        return self._trees.pop(source, None) or super()._parse(source, name, filename)


@functools.cache
def environment(root: Path) -> _Environment:
    """The environment for the templates under `root`. Templates that are not there, such as `lib/`, are tlxgen's own.

    Undefined names are errors.
    """
    env = _Environment(
        loader=jinja2.FileSystemLoader([root, stamp.templates()]),
        undefined=jinja2.StrictUndefined,
        extensions=[BlockIndent],
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    env.filters |= {
        "block": block,
        "dedent": lambda text: textwrap.dedent(str(text)).strip("\n"),
        "literal": repr,
        "names": lambda items: [f'"{item}"' for item in items],
        "prose": prose,
        "strings": strings,
        "tuple": as_tuple,
    }
    return env


def closure(root: Path, template: str) -> dict[str, Path]:
    """Name -> file of `template` and of every template that it imports or includes, directly or not."""
    env = environment(root)
    assert env.loader
    found: dict[str, Path] = {}
    waiting = [template]
    while waiting:
        name = waiting.pop()
        if name not in found:
            source, path, _ = env.loader.get_source(env, name)
            found[name] = Path(str(path))
            waiting += env.imported(source, name, str(path))
    return found


def render(env: jinja2.Environment, template: str, context: Mapping[str, object]) -> str:
    """The text of `template` for `context`. Raises TemplateFault with the template's line."""
    try:
        return env.get_template(template).render(context)
    except jinja2.TemplateNotFound as error:
        raise TemplateFault(f"no template {error.name}") from error
    except jinja2.TemplateError as error:
        raise TemplateFault(f"template {template}: {error}", location=_where(error, template)) from error


def _where(error: BaseException, template: str) -> Location | None:
    """The innermost template line of the traceback. Jinja2 adds the templates' lines to tracebacks."""
    found, trace = None, error.__traceback__
    while trace:
        name = trace.tb_frame.f_code.co_filename
        if name.endswith((".j2",)):
            found = Location(Path(name).name, trace.tb_lineno, 1)
        trace = trace.tb_next
    if isinstance(error, jinja2.TemplateSyntaxError):
        return Location(error.name or template, error.lineno, 1)
    return found
