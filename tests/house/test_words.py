"""Text for people: what a terminal would obey is escaped, and nouns agree with their counts."""

from __future__ import annotations

import pytest

from tlxgen.errors import Location, SpecError
from tlxgen.words import counted, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 中 ✓", "plain é 中 ✓"),
        ("\x1b[2J\x07\x9b", r"\x1b[2J\x07\x9b"),
        ("a\u202eb\u200b\ufeff", r"a\u202eb\u200b\ufeff"),  # letters turned round, and such as nobody sees
        ("a\xa0b\u3000c", r"a\xa0b\u3000c"),
        ("\udcff", r"\udcff"),  # of a path that is not UTF-8
        ("two\nlines", r"two\nlines"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable("two\nlines", keep="\n") == "two\nlines"


def test_an_error_escapes_path_message_line_and_remedy() -> None:
    where = Location("a\x1b.yaml", 1, 3, "k\x1b: 1")
    lines = str(SpecError("bad \x1b", location=where, remedy="not \x1b\nnor \x1b")).splitlines()
    assert lines == [r"a\x1b.yaml:1:3: bad \x1b", r"    k\x1b: 1", "         ^", r"    not \x1b", r"nor \x1b"]


def test_counted() -> None:
    assert [counted(n, "module") for n in (0, 1, 2)] == ["0 modules", "1 module", "2 modules"]
