"""Colours for severities, on a terminal without NO_COLOR (https://no-color.org)."""

from __future__ import annotations

import os
import re
from typing import TextIO

BOLD, END = "\x1b[1m", "\x1b[0m"
COLOURS = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "note": "\x1b[1;36m"}

_HEAD = re.compile(r"^(\s*)(error|warning|note)\b(?=[: ])", re.MULTILINE)
_PLACE = re.compile(r"^(\s*)(\S+:\d+:\d+:)(?= )", re.MULTILINE)
_CARET = re.compile(r"^( +)\^$", re.MULTILINE)


def is_coloured(stream: TextIO) -> bool:
    """Whether output is coloured: on a terminal, unless NO_COLOR is set and not empty, or TERM is dumb."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def emphasised(text: str, stream: TextIO) -> str:
    """A message with coloured severities and bold places, if the stream is coloured."""
    if not is_coloured(stream):
        return text
    text = _HEAD.sub(lambda found: f"{found[1]}{COLOURS[found[2]]}{found[2]}{END}", text)
    text = _PLACE.sub(lambda found: f"{found[1]}{BOLD}{found[2]}{END}", text)
    return _CARET.sub(lambda found: f"{found[1]}{COLOURS['error']}^{END}", text)
