"""The result of a candidate on one shape, and a cache of results by content, so that nothing is measured twice.

The key is a digest of the candidate, the shape, the length of the measurement, the device, the versions and the method.
A damaged entry is measured again.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from tlxgen import digest
from tlxgen.bench.timing import METHOD
from tlxgen.files import write_atomic

Fault = Literal["compile", "hang", "crash", "memory", "wrong", "error"]


@dataclass(frozen=True)
class Result:
    """Either a time, with the baseline's in the same run, or a fault with its text.

    `us` and `baseline_us` are median microseconds a launch; `conditions` clocks, power and temperature at the time.
    """

    us: float | None = None
    spread: float = 0.0
    noisy: bool = False
    baseline: str = ""
    baseline_us: float | None = None
    conditions: Mapping[str, float] = field(default_factory=dict)
    fault: Fault | None = None
    text: str = ""

    @property
    def score(self) -> float:
        """The time relative to the baseline of the same run, which is comparable between runs. Less is better."""
        assert self.us is not None
        return self.us / self.baseline_us if self.baseline_us else self.us

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Result:
        """The inverse of `to_json`. Raises TypeError for other data."""
        return cls(**data)


class Results:
    """A folder with the results of one device and one set of versions."""

    def __init__(self, folder: Path, device: str, versions: Mapping[str, str]) -> None:
        self.folder = folder
        self._about = json.dumps([METHOD, device, dict(versions)], sort_keys=True)

    def load(self, candidate: str, shape: tuple[int, ...], turns: int) -> Result | None:
        """The result of the candidate with that key; None if there is none."""
        name = self._name(candidate, shape, turns)
        try:
            entry = json.loads(self._path(name).read_text(encoding="utf-8"))
            return Result.from_json(entry["result"]) if entry["name"] == name else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def store(self, candidate: str, shape: tuple[int, ...], turns: int, result: Result) -> None:
        """Stores a result. If the folder cannot be written, a later run measures again."""
        name = self._name(candidate, shape, turns)
        with contextlib.suppress(OSError):
            write_atomic(self._path(name), json.dumps({"name": name, "result": result.to_json()}).encode())

    def _name(self, candidate: str, shape: tuple[int, ...], turns: int) -> str:
        return digest.of_text(json.dumps([self._about, candidate, shape, turns]))

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / f"{name}.json"
