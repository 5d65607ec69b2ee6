"""What mkdocs does not find in docs/: pages that lie elsewhere, files that pages link to, and the page of all keys.

A link of a document is relative to where it lies in the repository. On the site it leads to the same document: pages of
`MOVED` have an address of their own, other files are copied under `repository/`. A link to a folder becomes plain text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from markdown import Extension, Markdown
from mkdocs.structure.files import File, Files

from tlxgen import families
from tlxgen.explain import Key, keys_of

ROOT = Path(__file__).parents[1]
MOVED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "tlxgen/explain/words.md": "words.md",
}
KEYS = "keys.md"
FENCE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def on_config(config: Any) -> None:
    config.markdown_extensions.insert(0, ShallowLists())


def on_files(files: Files, config: Any) -> None:
    """Adds the moved pages, whatever a page links to outside of docs/, and the page of keys."""
    known = {file.src_uri: f"docs/{file.src_uri}" for file in files.documentation_pages()}
    todo = [*MOVED, *known.values()]
    seen = set(todo)
    for path in todo:  # it grows while documents are found
        if not path.startswith("docs/"):
            files.append(File.generated(config, address(path), abs_src_path=str(ROOT / path)))
        if path.endswith(".md"):
            new = [p for p in links((ROOT / path).read_text(), path) if p not in seen and not p.startswith("docs/")]
            todo += [p for p in dict.fromkeys(new) if (ROOT / p).is_file()]
            seen.update(new)
    files.append(File.generated(config, KEYS, content=keys(families.loaded()[0].values())))


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    uri = page.file.src_uri
    return markdown if uri == KEYS else relinked(markdown, source(uri))


def address(path: str) -> str:
    """The address on the site of a file of the repository."""
    if path in MOVED:
        return MOVED[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"repository/{path.lstrip('.')}"  # mkdocs leaves out folders that begin with a dot


def source(uri: str) -> str:
    """The file of the repository that has an address on the site."""
    back = {moved: path for path, moved in MOVED.items()}
    return back.get(uri) or (uri.removeprefix("repository/") if uri.startswith("repository/") else f"docs/{uri}")


def links(markdown: str, path: str) -> Iterator[str]:
    """The files of the repository that a document there links to."""
    for _, _, target, _ in LINK.findall(FENCE.sub("", markdown)):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def relinked(markdown: str, path: str) -> str:
    """A document of the repository with its links as they are on the site; the text of a link may be code."""
    code: list[str] = []

    def hide(found: re.Match[str]) -> str:
        code.append(found[0])
        return f"\0{len(code) - 1}\0"

    def link(found: re.Match[str]) -> str:
        image, text, target, anchor = found.groups()
        to = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if (ROOT / to).is_dir():
            return str(text)
        relative = posixpath.relpath(address(to), posixpath.dirname(address(path)) or ".")
        return f"{image}[{text}]({relative}{anchor or ''})"

    return re.sub(r"\0(\d+)\0", lambda found: code[int(found[1])], LINK.sub(link, FENCE.sub(hide, markdown)))


def keys(known: Iterable[families.Family]) -> str:
    """The page of all keys, from what the JSON Schema of specs says of them."""
    lines = [
        "# Every key of a spec",
        "",
        "This page is made of the JSON Schema of specs, which editors read, too.",
        "`tlxgen explain KEY` prints the same texts.",
    ]
    for family in sorted(known, key=lambda f: f.name):
        lines += ["", f"## {family.name}", ""]
        lines += [line for key in keys_of(family) for line in _of_key(key)]
    return "\n".join(lines) + "\n"


def _of_key(key: Key) -> Iterator[str]:
    depth = "###" if "." not in key.path else "####"
    yield f"{depth} {key.path} {{#{key.family}-{key.path}}}"
    yield ""
    yield escaped(key.text)
    yield ""
    defaults = dict.fromkeys(key.defaults.values())
    if key.kind:
        yield f"- Value: {key.kind}"
    if len(defaults) == 1:
        yield f"- Default: `{next(iter(defaults))}`"
    elif defaults:
        yield from (f"- Default for {arch}: `{value}`" for arch, value in key.defaults.items())
    if key.parameter:
        yield f"- On an axis it changes a constant: `{key.parameter}`"
    yield ""
    if key.values:
        yield "| value | meaning |"
        yield "|---|---|"
        yield from (f"| `{value}` | {escaped(text)} |" for value, text in key.values)
        yield ""


def escaped(text: str) -> str:
    """Text as Markdown that shows it as it is."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", text)


class ShallowLists(Extension):
    """Lists inside of lists are indented by two columns, as GitHub takes them, and not by four."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.tab_length = 2
        md.build_parser()
