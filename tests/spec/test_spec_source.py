"""Every kind of bad file gives one error at its place; no bytes give a traceback."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spec_demo import HEAD, at, write

from tlxgen.errors import SpecError
from tlxgen.spec import read

BOMB = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(20)
)

BAD = {
    "empty": (b"", 1, 1, "empty"),
    "only comments": (b"# nothing\n# here\n", 1, 1, "empty"),
    "only a document start": (b"---\n", 1, 1, "empty"),
    "list": (b"# c\n- a\n", 2, 1, "a spec is a mapping of keys, this is a list"),
    "text": (b"hello\n", 1, 1, "a spec is a mapping of keys, this is text"),
    "number": (b"3\n", 1, 1, "this is the integer 3"),
    "duplicate key": (b"a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", 5, 3, "duplicate key 'c', first given on line 3"),
    "duplicate key in flow": (b"a: {x: 1, x: 2}\n", 1, 11, "duplicate key 'x'"),
    "unclosed flow": (b"a: [1, 2\nb: 3\n", 2, 2, "not valid YAML"),
    "nested value": (b"a: b: c\n", 1, 5, "mapping values are not allowed here"),
    "unclosed quote": (b"a: 'x\n", 2, 1, "end of stream"),
    "tab": (b"a:\n\tb: 1\n", 2, 1, "a tab is used for indentation"),
    "tab behind spaces": (b"a:\n  b: 1\n \tc: 1\n", 3, 2, "a tab is used for indentation"),
    "not UTF-8": ("a: 1\nb: \xe9".encode() + b"x\xff\n", 2, 6, "not UTF-8 (byte 0xff)"),
    "not UTF-8 behind a BOM": (b"\xef\xbb\xbfa: \xff\n", 1, 4, "not UTF-8"),
    "NUL": (b"a: 1\nb: \x00\n", 2, 4, "control character U+0000"),
    "escape": (b"a: \x1b[31m\n", 1, 4, "control character U+001B"),
    "two documents": (b"a: 1\n---\nb: 1\n", 2, 1, "more than one YAML document"),
    "alias bomb": (BOMB.encode(), 5, 0, "more than 20,000 values"),
    "recursive alias": (b"a: &a [1, *a]\n", 1, 11, "*a contains itself"),
    "unknown alias": (b"a: *x\n", 1, 4, "*x names no anchor"),
    "number as key": (b"a:\n  1: x\n", 2, 3, "a key must be text, this is the integer 1"),
    "bool as key": (b"true: x\n", 1, 1, "a key must be text, this is true"),
    "list as key": (b"? [a]\n: b\n", 1, 3, "a key must be text, this is a list"),
    "merge key": (b"a: &a {x: 1}\nb:\n  <<: *a\n", 3, 3, "merge keys"),
    "python tag": (b"a: 1\nb: !!python/object/apply:os.system [x]\n", 2, 4, "!!python/object/apply:os.system is not"),
    "custom tag": (b"a: !mine 3\n", 1, 4, "the tag !mine is not supported"),
    "wrong core tag": (b"a: !!int x\n", 1, 4, "the text 'x' is not a !!int"),
    "deep flow": (b"a: " + b"[" * 100_000, 1, 67, "nested more than 64 levels"),
    "deep block": (b"".join(b" " * i + b"a:\n" for i in range(300)), 65, 65, "nested more than 64 levels"),
    "huge integer": (b"a: " + b"9" * 5000, 1, 4, "does not fit 64 bits"),
    "code point": (b'a: "\\U99999999"\n', 1, 1, "not valid YAML"),
    "surrogate": (b'a: "\\ud800"\n', 1, 4, "surrogate"),
    "many values": (b"a: [" + b"1," * 30_000 + b"]", 1, 0, "more than 20,000 values"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_file(case: str, tmp_path: Path) -> None:
    content, line, column, words = BAD[case]
    gc.freeze()  # collecting what other tests have left is not part of reading a file
    started = time.process_time()
    with pytest.raises(SpecError) as caught:
        read(write(tmp_path, content))
    took = time.process_time() - started
    gc.unfreeze()
    assert took < 2
    error = caught.value
    assert words in error.message and "\n" not in error.message
    assert error.location is not None and error.location.path == (tmp_path / "s.yaml").as_posix()
    assert at(error) == (line, column or at(error)[1])


def test_deep_alias_chain(tmp_path: Path) -> None:
    text = "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} {'[' * 40}*a{i - 1}{']' * 40}\n" for i in range(1, 5))
    with pytest.raises(SpecError, match="nested more than 64 levels") as caught:
        read(write(tmp_path, text))
    assert at(caught.value)[0] == 3


@pytest.mark.parametrize(
    ("name", "words"), [("none.yaml", "no such file"), (".", "directory"), ("a\0b", "cannot read")]
)
def test_unreadable(name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=words) as caught:
        read(tmp_path / name)
    assert at(caught.value) == (1, 1)


def test_large_file_is_refused_unread(tmp_path: Path) -> None:
    path = write(tmp_path, b"a: 1\n" * 2_000_000)
    started = time.process_time()
    with pytest.raises(SpecError, match="larger than 256 KiB"):
        read(path)
    assert time.process_time() - started < 0.05


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.yaml")
    for path in (tmp_path / "s.yaml", Path("/dev/null")):
        with pytest.raises(SpecError, match="this is a pipe or a device, not a spec file"):
            read(path)


def test_values_and_places(tmp_path: Path) -> None:
    text = (
        "\ufeffi: 010\nh: 0x1F\no: 0o17\nf: -1.5e3\ninf: -.inf\nyes: on\nn: ~\nnone:\nt: '1'\nb: True\n"
        "l:\n  - x\n  - {k: &s [1, 2]}\nal: *s\ns: !!str 5\nd: 2020-01-01\nu: 1_000\nm: {}\n"
    )
    source = read(write(tmp_path, text))
    assert source.data == {
        "i": 10,
        "h": 31,
        "o": 15,
        "f": -1500.0,
        "inf": float("-inf"),
        "yes": "on",
        "n": None,
        "none": None,
        "t": "1",
        "b": True,
        "l": ["x", {"k": [1, 2]}],
        "al": [1, 2],
        "s": "5",
        "d": "2020-01-01",
        "u": "1_000",
        "m": {},
    }
    places = {
        ("i",): (1, 4),
        ("none",): (8, 1),
        ("l", 0): (12, 5),
        ("l", 1, "k"): (13, 9),
        ("l", 1, "k", 1): (13, 16),
        ("al",): (14, 5),
        ("al", 0): (13, 13),
        (): (1, 1),
        ("nothing", "here"): (1, 1),
        ("l", 7): (11, 1),
    }
    for path, place in places.items():
        location = source.where(path)
        assert (location.line, location.column) == place, path
    assert (source.where(("l", 1, "k"), key=True).column, source.where(("l", 1, "k")).text) == (6, "  - {k: &s [1, 2]}")


PIECES = st.sampled_from(
    [
        *"abc:-[]{}#&*!|>'\"%@`,? \n\t\r",
        *["a: ", "- ", "&a ", "*a", "\n  ", "\n    - ", "<<: ", "!!int ", "!!python/x ", "? ", ": ", "---\n", "...\n"],
        *[
            "%YAML 1.1\n",
            "'\\",
            '"\\x',
            '"\\U00110000"',
            "\ufeff",
            "\x85",
            "\u2028",
            "0x",
            ".nan",
            "1e999",
            "\x00",
            "~",
        ],
        *["null", "|2-\n", ">+\n"],
    ]
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=40).map(lambda parts: "".join(parts).encode())))
def test_no_bytes_give_a_traceback(tmp_path: Path, content: bytes) -> None:
    _read_or_error(tmp_path, content)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_damage_gives_a_traceback(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray((HEAD + "variants:\n  axes: {tile.m: [64, &x 128]}\n  require: ['tile.m < 3']\n").encode())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        content[start : start + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    _read_or_error(tmp_path, bytes(content))


def _read_or_error(folder: Path, content: bytes) -> None:
    try:
        source = read(write(folder, content))
    except SpecError as error:
        assert error.location is not None and "\n" not in error.message
        assert 1 <= error.location.column <= len(error.location.text) + 1 or not error.location.text
        str(error).encode()
    else:
        assert isinstance(source.data, dict)
        for key in source.data:
            assert source.where((key,), key=True).line >= 1
