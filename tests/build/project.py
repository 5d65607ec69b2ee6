"""A folder with specs to build, and what the tests look at in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tlxgen.build import Built, build

HEAD = "kernel: gemm\nname: {name}\narch: sm90\ntile: {{n: 128}}\n"
TWO = "variants:\n  axes: {tasks.mma.in_flight: [0, 1]}\n"  # two structures
EIGHT = (
    "tasks: {mma: {split: pingpong}}\nvariants:\n  axes:\n    tasks.mma.in_flight: [0, 1]\n"
    "    tasks.mma.order: [named, mbarrier]\n    rings.ab.full: [shared, separate]\n"
)


@dataclass(frozen=True)
class Project:
    """`specs/NAME.yaml` and `generated/NAME/` below `root`."""

    root: Path

    def spec(self, name: str, text: str = TWO) -> Path:
        """Writes a spec of that name and gives its path."""
        path = self.root / "specs" / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD.format(name=name) + text)
        return path

    def build(self, name: str) -> Built:
        return build(self.root / "specs" / f"{name}.yaml")

    def folder(self, name: str) -> Path:
        return self.root / "generated" / name

    def files(self) -> dict[str, bytes]:
        """Every file below `root`, by its path."""
        return {p.relative_to(self.root).as_posix(): p.read_bytes() for p in self.root.rglob("*") if p.is_file()}

    def times(self) -> dict[str, tuple[int, int]]:
        """When and where on the disk each generated file was written: a file that was replaced has another inode."""
        generated = self.root / "generated"
        found = {p.relative_to(generated).as_posix(): p.stat() for p in generated.rglob("*") if p.is_file()}
        return {name: (stat.st_mtime_ns, stat.st_ino) for name, stat in found.items()}
