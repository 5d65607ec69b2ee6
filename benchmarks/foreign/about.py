"""NAME.about.yaml: where kernels come from, which cases run them, and what their findings mean."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from ruamel.yaml import YAML

from benchmarks.foreign._folder import place

Judgment = Literal["real", "harmless", "false alarm"]
SUFFIX = ".about.yaml"


class Explained(BaseModel):
    """What is known of the findings `id`, of those at `lines` where it says some.

    real: the kernel is wrong on some order of events, or outside of what its host code admits. harmless: what the
    finding says is so, and nothing comes of it. false alarm: it is not so, and the simulator is wrong.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str
    lines: tuple[int, ...] = ()
    judgment: Judgment
    why: str

    def fits(self, finding: Mapping[str, Any]) -> bool:
        lines = {place["line"] for place in finding["places"]}
        return finding["id"] == self.id and (not self.lines or not lines.isdisjoint(self.lines))


class Kernel(BaseModel):
    """One kernel. `files` are its own, each with the name that git gives its content; `cases` of NAME.verify.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    files: dict[str, str]
    cases: tuple[str, ...]
    made_by: str = "hand"
    findings: tuple[Explained, ...] = ()

    def explained(self, finding: Mapping[str, Any]) -> Explained | None:
        """What is known of a finding: of its lines first, then of all of its kind."""
        known = sorted(self.findings, key=lambda e: not e.lines)
        return next((e for e in known if e.fits(finding)), None)


class About(BaseModel):
    """The kernels of one repository at one commit. `note`: how the files were had, where no clone has them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    repository: str
    commit: str
    note: str = ""
    kernels: dict[str, Kernel]

    @classmethod
    def read(cls, path: Path) -> About:
        return cls.model_validate(YAML(typ="safe").load(path))

    def differing(self, folder: Path) -> Iterator[str]:
        """What in `folder` is not as at the commit, a line each."""
        root = place(folder, self.repository, self.commit)
        for path, expected in sorted({f: h for k in self.kernels.values() for f, h in k.files.items()}.items()):
            file = root / path
            if not file.is_file():
                yield f"{file}: not there ({self.repository} at {self.commit[:12]})"
            elif blob(file.read_bytes()) != expected:
                yield f"{file}: not as in {self.repository} at {self.commit[:12]}"


def blob(data: bytes) -> str:
    """The name that git gives a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
