from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.tune import fake_child_times
from tlxgen.spec import load
from tlxgen.tune import space as spaces
from tlxgen.tune import worker
from tlxgen.tune.space import Candidate, Space, space_of
from tlxgen.verbs import tune as verb

MODULE = "tests.tune.fake_child"
SPEC = """\
kernel: gemm
name: g
arch: sm90
variants:
  axes:
    tasks.mma.split: [cooperative, pingpong]
    tile.n: [128, 256]
    rings.ab.stages: [3, 4, 5, 6]
    schedule.group_m: [1, 4, 8, 16]
"""


@dataclass
class Project:
    """A spec, a cache of its own, and fake children that do what `faults` says."""

    root: Path

    @property
    def spec(self) -> Path:
        return self.root / "specs" / "g.yaml"

    @property
    def space(self) -> Space:
        return space_of(load(self.spec, tuned=False))

    @property
    def table(self) -> Path:
        return self.root / "tuned" / "fake_h200" / "g.yaml"

    def faults(self, faults: dict[str, str]) -> None:
        (self.root / "faults.json").write_text(json.dumps(faults))

    @property
    def log(self) -> list[str]:
        path = self.root / "log"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def begun(self) -> list[str]:
        """What the children were told to prepare, and which of them."""
        path = self.root / "log.begun"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def ready(self) -> list[str]:
        """The children that are prepared."""
        path = self.root / "log.ready"
        return path.read_text().splitlines() if path.exists() else []

    def tune(self, *shapes: tuple[int, ...], **options: object) -> dict[str, object]:
        """Runs the verb and gives the file as data."""
        chosen = {"shapes": shapes or ((4096, 4096, 4096),), "module": MODULE, "timeout_s": 60.0, **options}
        assert verb.run(self.spec, verb.Options(**chosen)) == 0  # type: ignore[arg-type]
        data: dict[str, object] = YAML(typ="safe", pure=True).load(self.table.read_text())
        return data

    def best(self, *shape: int) -> Candidate:
        """The fastest of all by the fake times."""
        return min(self.space.candidates, key=lambda c: fake_child_times.us(c.key, list(shape)))


ENUMERATE, PROCESSES = spaces._enumerated, spaces._processes
KNOWN: dict[str, bytes] = {}


def enumerated(document: Any, family: Any) -> Space:
    """The space of a document by all that its file in a cache is named for: enumerated once a process, though each test
    has a cache of its own."""
    kept = spaces._kept(document, family)
    if kept is None:
        return ENUMERATE(document, family)
    if kept.name not in KNOWN:
        space = ENUMERATE(document, family)
        KNOWN[kept.name] = pickle.dumps((space.name, space.candidates, space.sources, space.rejected))
    return Space(document, family, *pickle.loads(KNOWN[kept.name]))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("FAKE_FAULTS", str(tmp_path / "faults.json"))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    monkeypatch.setattr(spaces, "_enumerated", enumerated)
    monkeypatch.setattr(spaces, "PARALLEL_FROM", 1000)  # modules: the few of a test are rendered in this process
    monkeypatch.setattr(spaces, "_processes", lambda: None)  # of which each would import all that this one has
    made = Project(tmp_path)
    made.faults({})
    (tmp_path / "specs").mkdir()
    made.spec.write_text(SPEC)
    yield made
    worker.SLOTS.close()


@pytest.fixture
def anew(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has spaces enumerated as they are wherever nothing is known of them."""
    monkeypatch.setattr(spaces, "_enumerated", ENUMERATE)
