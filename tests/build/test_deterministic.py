"""The same bytes from every process, hash seed, working directory and clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GIVEN = os.environ.get("TLXGEN_DETERMINISM_RUNS")  # the bar is 20, of all shipped specs
RUNS = int(GIVEN or 2)  # two differ in hash seed, working directory and path
SPECS = sorted(p.name for p in (ROOT / "specs").glob("*.yaml")) if GIVEN else ["hopper_gemm.yaml"]


def build_in_clone(folder: Path, number: int) -> dict[str, bytes]:
    """Copies the tool and the specs to `folder`, builds there from some other place, and gives what came out."""
    for name in ("tlxgen", "templates"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "specs").mkdir()
    for name in SPECS:
        shutil.copy(ROOT / "specs" / name, folder / "specs")
    away = number % 2 == 1
    cwd = folder / "away" if away else folder
    cwd.mkdir(exist_ok=True)
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "PYTHONHASHSEED": str(number * 7919),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TLXGEN_CACHE_DIR": str(folder / "cache"),
    }
    specs = [str(folder / "specs" / n) if away else f"specs/{n}" for n in (reversed(SPECS) if away else SPECS)]
    command = [sys.executable, "-m", "tlxgen", "build", *specs]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    made = (folder / "generated").rglob("*")
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in made if p.is_file()}


def test_every_clone_makes_the_same_bytes_and_those_that_are_checked_in(tmp_path: Path) -> None:
    builds = []
    for number in range(RUNS):
        folder = tmp_path / f"clone{number}" / ("deeper" * (number % 3))
        folder.mkdir(parents=True)
        builds.append(build_in_clone(folder, number))
    first = builds[0]
    assert len(first) >= 3 * len(SPECS)
    for other in builds[1:]:
        assert {name for name in first | other if first.get(name) != other.get(name)} == set()
    modules = {name: data for name, data in first.items() if name.endswith(".py")}  # checked-in locks know compiles
    assert {name for name, data in modules.items() if (ROOT / name).read_bytes() != data} == set()
