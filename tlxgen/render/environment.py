"""The Jinja environment of the templates. It is strict, and it indents what a macro prints like the macro's call.

A template line with nothing but `{{ expression }}` prints the expression's lines at the indentation of that line, and
no line at all if the expression is empty. `{% call %}` blocks do the same. So macros start at column 0.
"""

from __future__ import annotations

import contextlib
import functools
import re
import textwrap
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.ext import Extension

from tlxgen import digest, stamp
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


_IMPORTING = (nodes.Import, nodes.FromImport, nodes.Include)


@dataclass(frozen=True)
class _Text:
    """A template's text: the templates that it imports or includes, those of them with context, each with the names of
    the modules that it has imported before that, and the names that it uses, without those of its modules.

    Other templates than those named by a string are not known, and none is imported so.
    """

    imported: tuple[str, ...]
    with_context: Mapping[str, frozenset[str]]
    names: frozenset[str]

    @staticmethod
    def of(tree: nodes.Template) -> _Text:
        imported = tuple(t for t in meta.find_referenced_templates(tree) if t)
        with_context: dict[str, frozenset[str]] = {}
        names: set[str] = set()
        own: set[str] = set()
        for node in tree.body:
            names |= {n.name for n in node.find_all(nodes.Name)} - own
            for found in (node, *node.find_all(_IMPORTING)):
                if isinstance(found, _IMPORTING) and found.with_context and isinstance(found.template, nodes.Const):
                    before = with_context.get(found.template.value, frozenset(own))
                    with_context[found.template.value] = before & own
            if isinstance(node, nodes.Import):
                own.add(node.target)
        return _Text(imported, with_context, frozenset(names))


class _Template(jinja2.Template):
    """A template that, while one module is rendered, is imported once for equal values of the names that it reads.

    Templates import each other with context along many ways, and what an import executes is pure.
    """

    def make_module(self, vars: Any = None, shared: bool = False, locals: Any = None) -> Any:
        env = self.environment
        made: dict[Any, Any] | None = getattr(_rendering, "made", None)
        if made is None or not isinstance(env, _Environment):
            return super().make_module(vars, shared, locals)
        known = {**(vars or {}), **(locals or {})}
        values = [known.get(name, _ABSENT) for name in env.reads(str(self.name))]
        key = (self, *map(id, values))
        if key not in made:
            made[key] = super().make_module(vars, shared, locals), values  # which live as long as their addresses count
        return made[key][0]


_ABSENT = object()
# Of the rendering of this thread: `made`, the modules of the templates that it has imported, `reads`, their names, and
# `found`, the templates.
_rendering = threading.local()


class _Compiled(jinja2.FileSystemBytecodeCache):
    """Keeps compiled templates in the cache folder, a file each. It is used for the same text and generator only.

    If the folder cannot be written or read, the next process is only slower.
    """

    def get_source_checksum(self, source: str) -> str:
        return digest.of_text(stamp.generator() + source)

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        try:
            super().load_bytecode(bucket)
        except Exception:  # whatever a damaged file makes pickle and marshal raise
            bucket.reset()

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        with contextlib.suppress(OSError):
            Path(self.directory).mkdir(parents=True, exist_ok=True)
            super().dump_bytecode(bucket)


class _Environment(jinja2.Environment):
    """An environment that parses a template once. Its imports are asked for before it is compiled, for each spec."""

    template_class = _Template

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._trees: dict[str, nodes.Template] = {}
        self._texts: dict[str, _Text] = {}

    def text(self, source: str, name: str, filename: str) -> _Text:
        """What is known of the template with the text `source`."""
        if source not in self._texts:
            self._trees[source] = self.parse(source, name, filename)
            self._texts[source] = _Text.of(self._trees[source])
        return self._texts[source]

    def reads(self, name: str) -> tuple[str, ...]:
        """The names that a template, or one that it imports with context, may read from its context.

        There are more of them than it does read: names of its macros' arguments, for example.
        """
        reads: dict[str, tuple[str, ...]] = _rendering.reads
        if name not in reads:
            reads[name] = ()  # for a circle
            assert self.loader
            source, path, _ = self.loader.get_source(self, name)
            text = self.text(source, name, str(path))
            passed = {n for imported, own in text.with_context.items() for n in {*self.reads(imported)} - own}
            reads[name] = tuple(sorted(text.names | passed))
        return reads[name]

    def get_template(self, name: Any, parent: Any = None, globals: Any = None) -> jinja2.Template:
        """A template, whose file is looked at once a rendering: a module asks some 200 times for its templates."""
        found: dict[str, jinja2.Template] | None = getattr(_rendering, "found", None)
        if found is None or globals is not None or not isinstance(name, str):
            return super().get_template(name, parent, globals)
        if name not in found:
            found[name] = super().get_template(name, parent)
        return found[name]

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
        bytecode_cache=_Compiled(str(stamp.cache_folder() / "templates")),
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
            waiting += env.text(source, name, str(path)).imported
    return found


def render(env: jinja2.Environment, template: str, context: Mapping[str, object]) -> str:
    """The text of `template` for `context`. Raises TemplateFault with the template's line."""
    try:
        _rendering.made, _rendering.reads, _rendering.found = {}, {}, {}
        return env.get_template(template).render(context)
    except jinja2.TemplateNotFound as error:
        raise TemplateFault(f"no template {error.name}") from error
    except jinja2.TemplateError as error:
        raise TemplateFault(f"template {template}: {error}", location=_where(error, template)) from error
    finally:
        _rendering.made = _rendering.found = None


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
