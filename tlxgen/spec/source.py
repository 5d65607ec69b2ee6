"""One YAML file, read into plain data with the place of every key and value.

Works on ruamel.yaml's events rather than on its loaded objects: those have lost explicit tags, the marks of scalars in
lists and the places of aliases, and only events let depth and size be bounded while parsing.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
)

from tlxgen.errors import Location, SpecError
from tlxgen.spec.scalars import ScalarFault, scalar, type_name

MAX_BYTES = 256 * 1024
MAX_NODES = 20_000
MAX_DEPTH = 64

DataPath = tuple[str | int, ...]

_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # line ends of ruamel
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAB_INDENT = re.compile(r" *\t[ \t]*(?=\S)")
_QUOTED_PART = re.compile(r"""(?:^|[-\[,:]\s*)('[^']*'\s+|"[^"]*"\s+)([^\s,\]}#'"][^,\]}#]*)""")
_CONFLICT = re.compile(r"<{7} |={7}$|>{7} ")
_PREFIX = "tag:yaml.org,2002:"


@dataclass
class Node:
    """A YAML node. `line` and `column` count from 0; `size` counts it and all below it with aliases expanded."""

    line: int
    column: int
    value: Any = None
    size: int = 1
    height: int = 1
    entries: dict[str | int, Entry] = field(default_factory=dict)


@dataclass
class Entry:
    """One key of a mapping or item of a list: the positions of its key (or dash) and of its value, and the value."""

    key: tuple[int, int]
    place: tuple[int, int]
    node: Node


@dataclass(frozen=True)
class Source:
    """A YAML file: `path` as given (posix), `text`, and `data` (plain dict, list, str, int, float, bool, None).

    Aliases share objects in `data`.
    """

    path: str
    text: str
    data: dict[str, Any]
    _root: Node = field(repr=False, compare=False)
    _lines: list[str] = field(repr=False, compare=False)

    def has(self, path: DataPath) -> bool:
        """Whether this file itself gives a value at `path`."""
        return self._descend(path)[1] == len(path)

    def below(self, path: DataPath) -> Source:
        """The same file with the mapping at `path` as its top level. The mapping must exist."""
        entry, depth = self._descend(path)
        assert entry is not None and depth == len(path)
        return Source(self.path, self.text, entry.node.value, entry.node, self._lines)

    def where(self, path: DataPath, *, key: bool = False) -> Location:
        """The location of the value at `path`, or of its key. If there is none, that of the nearest parent."""
        entry, depth = self._descend(path)
        if entry is None:
            return self._location(self._root.line, self._root.column)
        # A missing child is a fault of the whole parent, so the location is that of the parent's key.
        return self._location(*(entry.key if key or depth < len(path) else entry.place))

    def _descend(self, path: DataPath) -> tuple[Entry | None, int]:
        node, entry = self._root, None
        for depth, part in enumerate(path):
            child = node.entries.get(part)
            if child is None:
                return entry, depth
            node, entry = child.node, child
        return entry, len(path)

    def _location(self, line: int, column: int) -> Location:
        return _location(self.path, self._lines, line, column)


def read(path: Path, *, shown: str | None = None) -> Source:
    """Reads the YAML mapping in the file at `path`; `shown` replaces the path in messages.

    Raises SpecError, with file, line and column, if the file is not one plain YAML 1.2 mapping with text keys.
    """
    name = path.as_posix() if shown is None else shown
    return parse(name, _decode(name, _read_bytes(path, name)))


def parse(name: str, text: str) -> Source:
    """Parses `text` as a YAML mapping; `name` is the path in messages. Raises SpecError, as `read` does."""
    lines = _LINE_BREAK.split(text)
    bad = _UNPRINTABLE.search(text)
    if bad:
        before = _LINE_BREAK.split(text[: bad.start()])
        place = _location(name, lines, len(before) - 1, len(before[-1]))
        raise SpecError(f"the control character U+{ord(bad.group()):04X} is not allowed in YAML", location=place)
    root = _Composer(name, lines).compose(text)
    return Source(name, text, root.value, root, lines)


def holds(data: Any, part: str | int) -> bool:
    """Whether `data[part]` exists."""
    if isinstance(data, Mapping):
        return part in data
    return isinstance(data, (list, tuple)) and isinstance(part, int) and 0 <= part < len(data)


def _location(path: str, lines: list[str], line: int, column: int) -> Location:
    line = min(line, len(lines) - 1)
    return Location(path, line + 1, min(column, len(lines[line])) + 1, lines[line])


def _read_bytes(path: Path, name: str) -> bytes:
    start = Location(name, 1, 1)
    try:
        if path.is_dir():
            raise SpecError("this is a directory, not a spec file", location=start)
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):  # a pipe would block, and can be read only once
            raise SpecError("this is a pipe or a device, not a spec file", location=start)
        too_large = about.st_size > MAX_BYTES
        with path.open("rb") as file:  # the file may grow meanwhile
            content = b"" if too_large else file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise SpecError("no such file", location=start) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SpecError(f"cannot read the file: {reason}", location=start) from None
    if too_large or len(content) > MAX_BYTES:
        raise SpecError(f"the file is larger than {MAX_BYTES // 1024} KiB", location=start)
    return content


def _decode(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        content = error.object  # without the BOM, as error.start counts
        lines = _LINE_BREAK.split(content[: error.start].decode("utf-8"))
        rest = _LINE_BREAK.split(content[error.start :].decode("utf-8", "replace"))[0]
        place = Location(name, len(lines), len(lines[-1]) + 1, lines[-1] + rest)
        raise SpecError(f"the file is not UTF-8 (byte 0x{content[error.start]:02x})", location=place) from None


@dataclass
class _Frame:
    """A collection being composed; `pending` is the key that waits for its value."""

    node: Node
    mapping: bool
    anchor: str | None
    pending: tuple[str, tuple[int, int]] | None = None


class _Composer:
    """Builds the nodes of one document from ruamel's events, without recursion."""

    def __init__(self, path: str, lines: list[str]) -> None:
        self.path = path
        self.lines = lines
        self.stack: list[_Frame] = []
        self.anchors: dict[str, Node | None] = {}  # None while the anchored collection is still open
        self.root: Node | None = None
        self.documents = 0

    def compose(self, text: str) -> Node:
        """The top-level mapping of `text`. Raises SpecError for the first fault."""
        place = (0, 0)
        try:
            for event in YAML(typ="safe", pure=True).parse(text):
                place = (event.start_mark.line, event.start_mark.column)
                self._event(event, place)
        except YAMLError as error:
            self._syntax_error(error, place)
        except (SpecError, MemoryError):
            raise
        except Exception as error:  # ruamel's scanner raises others, too, such as OverflowError for "\U99999999"
            self._fail(f"not valid YAML: {_one_line(str(error))}", place)
        root = self.root
        if root is None or (root.value is None and not root.entries):
            self._fail("the spec is empty", (0, 0))
        if not isinstance(root.value, dict):
            self._fail(f"a spec is a mapping of keys, this is {type_name(root.value)}", (root.line, root.column))
        return root

    def _fail(self, message: str, place: tuple[int, int], remedy: str = "") -> NoReturn:
        raise SpecError(message, location=_location(self.path, self.lines, *place), remedy=remedy) from None

    def _syntax_error(self, error: YAMLError, place: tuple[int, int]) -> NoReturn:
        if not isinstance(error, MarkedYAMLError):
            self._fail(f"not valid YAML: {_one_line(str(error))}", place)
        conflict = next((i for i, line in enumerate(self.lines) if _CONFLICT.match(line)), None)
        if conflict is not None:
            self._fail("a merge has left a conflict here", (conflict, 0))
        mark = error.problem_mark or error.context_mark
        at = (mark.line, mark.column) if mark else place
        tab = _TAB_INDENT.match(self.lines[min(at[0], len(self.lines) - 1)])
        if tab and at[1] <= tab.end():
            column = tab.group().index("\t")
            self._fail("a tab is used for indentation", (at[0], column), "YAML indents with spaces only.")
        parts = [_one_line(part) for part in (error.problem, error.context) if part]
        self._fail("not valid YAML: " + " ".join(parts), at, self._quoted_whole(at))

    def _quoted_whole(self, at: tuple[int, int]) -> str:
        """A remedy for text behind a closing quote; empty for other faults."""
        line = self.lines[min(at[0], len(self.lines) - 1)]
        quoted = _QUOTED_PART.search(line)
        if quoted is None or quoted.start(2) != at[1]:
            return ""
        whole = quoted[1].rstrip() + " " + quoted[2].strip()
        other = "'" if '"' in whole else '"'
        return f"Text that begins with a quote ends at the next one. Put quotes around all of it: {other}{whole}{other}"

    def _event(self, event: Any, place: tuple[int, int]) -> None:
        if isinstance(event, DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                self._fail("the file holds more than one YAML document", place, "Give each spec its own file.")
        elif isinstance(event, ScalarEvent):
            self._scalar(event, place)
        elif isinstance(event, AliasEvent):
            self._alias(str(event.anchor), place)
        elif isinstance(event, CollectionStartEvent):
            self._open(event, place)
        elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            frame = self.stack.pop()
            if frame.anchor:
                self.anchors[frame.anchor] = frame.node
            self._add(frame.node, (frame.node.line, frame.node.column))

    def _open(self, event: CollectionStartEvent, place: tuple[int, int]) -> None:
        mapping = isinstance(event, MappingStartEvent)
        if event.tag not in (None, "!", _PREFIX + ("map" if mapping else "seq")):
            self._fail(f"the tag {_short_tag(str(event.tag))} is not supported", place)
        self._check_key("a mapping" if mapping else "a list", place)
        if len(self.stack) >= MAX_DEPTH:
            self._fail(f"nested more than {MAX_DEPTH} levels deep", place)
        if event.anchor:
            self.anchors[event.anchor] = None
        self.stack.append(_Frame(Node(*place, value={} if mapping else []), mapping, event.anchor))

    def _scalar(self, event: ScalarEvent, place: tuple[int, int]) -> None:
        tag = None if event.tag is None else str(event.tag)
        if tag is not None and tag != "!" and not tag.startswith(_PREFIX):
            self._fail(f"the tag {_short_tag(tag)} is not supported", place)
        plain = event.style is None and event.implicit[0]
        try:
            value = scalar(event.value, plain=plain, tag=tag.removeprefix(_PREFIX) if tag else None)
        except ScalarFault as fault:
            self._fail(str(fault), place)
        frame = self.stack[-1] if self.stack else None
        if frame and frame.mapping and frame.pending is None:
            self._key(frame, value, plain, place)
            return
        if frame and frame.pending and plain and not event.value:
            place = frame.pending[1]  # an absent value has no position; ruamel gives that of the next token
        node = Node(*place, value=value)
        if event.anchor:
            self.anchors[event.anchor] = node
        self._add(node, place)

    def _key(self, frame: _Frame, value: object, plain: bool, place: tuple[int, int]) -> None:
        if not isinstance(value, str):
            self._fail(f"a key must be text, this is {type_name(value)}", place, "Put the key in quotes.")
        if value == "<<" and plain:
            self._fail("merge keys (<<) are not supported", place, "Use `extends: other.yaml`, or repeat the keys.")
        known = frame.node.entries.get(value)
        if known:
            self._fail(f"duplicate key {value!r}, first given on line {known.key[0] + 1}", place)
        frame.pending = (value, place)

    def _alias(self, name: str, place: tuple[int, int]) -> None:
        self._check_key("an alias", place)
        if name not in self.anchors:
            self._fail(f"the alias *{name} names no anchor", place)
        node = self.anchors[name]
        if node is None:
            self._fail(f"the alias *{name} contains itself", place)
        self._add(node, place)

    def _check_key(self, what: str, place: tuple[int, int]) -> None:
        if self.stack and self.stack[-1].mapping and self.stack[-1].pending is None:
            self._fail(f"a key must be text, this is {what}", place)

    def _add(self, node: Node, place: tuple[int, int]) -> None:
        if not self.stack:
            self.root = node
            return
        frame = self.stack[-1]
        parent = frame.node
        parent.size += node.size
        parent.height = max(parent.height, node.height + 1)
        # A collection is added to its parent when it closes, so the sum over open ones is the document's size so far.
        if sum(f.node.size for f in self.stack) > MAX_NODES:
            self._fail(f"more than {MAX_NODES:,} values with aliases expanded", place)
        if len(self.stack) + node.height > MAX_DEPTH + 1:
            self._fail(f"nested more than {MAX_DEPTH} levels deep", place)
        if frame.pending:
            name, key = frame.pending
            parent.entries[name] = Entry(key, place, node)
            parent.value[name] = node.value
            frame.pending = None
        else:
            parent.entries[len(parent.value)] = Entry(place, place, node)
            parent.value.append(node.value)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


def _short_tag(tag: str) -> str:
    return (tag.replace(_PREFIX, "!!", 1) if tag.startswith(_PREFIX) else tag)[:80]
