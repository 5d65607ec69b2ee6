"""The times that the fake child reports."""

from __future__ import annotations

import hashlib


def us(key: str, shape: list[int]) -> float:
    """10 to 110 microseconds, the same every time."""
    return 10 + int(hashlib.sha256(f"{key} {shape}".encode()).hexdigest()[:6], 16) % 10000 / 100
