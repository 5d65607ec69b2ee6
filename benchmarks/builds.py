"""How long whole processes take: help, a build with nothing to do, builds from nothing, and lists of the largest specs.

    python benchmarks/builds.py [--runs 5]

Medians of wall time and of processor time, in seconds, with a cache of their own. On a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
THOUSAND = (
    "kernel: gemm\nname: k\narch: sm90\nvariants:\n  axes:\n    rings.ab.stages: [2, 3, 4, 5]\n    schedule.group_m: "
)


def tlxgen(*arguments: str, cwd: Path) -> None:
    subprocess.run([sys.executable, "-m", "tlxgen", *arguments], cwd=cwd, stdout=subprocess.DEVNULL, check=True)


def seconds(run: Callable[[], None], before: Callable[[], None], runs: int) -> tuple[float, float]:
    """Wall time and processor time of `run`, each time after `before`."""
    walls, works = [], []
    for _ in range(runs):
        before()
        start, used = time.perf_counter(), os.times()
        run()
        now = os.times()
        walls.append(time.perf_counter() - start)
        works.append(now.children_user + now.children_system - used.children_user - used.children_system)
    return statistics.median(walls), statistics.median(works)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        project = Path(name).resolve()
        os.environ["TLXGEN_CACHE_DIR"] = str(project / "cache")
        (project / "specs").mkdir()
        shutil.copy(ROOT / "specs" / "hopper_gemm.yaml", project / "specs")
        (project / "specs" / "k.yaml").write_text(f"{THOUSAND}{[*range(1, 251)]}\n")

        def clear() -> None:
            shutil.rmtree(project / "generated", ignore_errors=True)
            shutil.rmtree(project / "cache", ignore_errors=True)

        def nothing() -> None:
            pass

        gemm, thousand = "specs/hopper_gemm.yaml", "specs/k.yaml"
        rows = [
            ("help", seconds(lambda: tlxgen("--help", cwd=project), nothing, runs)),
            ("build hopper_gemm from nothing", seconds(lambda: tlxgen("build", gemm, cwd=project), clear, runs)),
            ("build hopper_gemm again", seconds(lambda: tlxgen("build", gemm, cwd=project), nothing, runs)),
            ("build 1000 configs from nothing", seconds(lambda: tlxgen("build", thousand, cwd=project), clear, runs)),
        ]
        for spec in ("hopper_gemm_tuned", "hopper_gemm_fp8_tuned", "hopper_gemm_fp8_exact_tuned"):
            path = f"specs/{spec}.yaml"
            rows.append((f"list {spec}", seconds(lambda path=path: tlxgen("list", path, cwd=ROOT), nothing, runs)))  # type: ignore[misc]
    print(f"{'':34} wall s   processor s")
    for what, (wall, work) in rows:
        print(f"{what:34} {wall:6.2f} {work:13.2f}")


if __name__ == "__main__":
    main()
