"""All that is measured of norms on a Hopper GPU, in one call of less than 500 s.

    python benchmarks/norm_all.py --out DIR [--only host,check,forward,backward]

The host's time a call, the numbers of all shipped specs, the forward's candidates and the backward's beside torch,
torch.compile and quack, one step after the other. A step that takes longer than its share is ended, and the next one
begins; logs and figures are in --out, those of a step that was ended as far as it came. `norm_speed.py --dry` needs no
GPU, and loads what the last two steps time.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SPECS = sorted((ROOT / "specs").glob("hopper_*_norm*.yaml"))


@dataclass(frozen=True)
class Step:
    """A command, and the seconds that it may take."""

    name: str
    command: Sequence[str]
    seconds: float


def steps(out: Path) -> list[Step]:
    """Short ones first."""
    python, specs = sys.executable, [str(path.relative_to(ROOT)) for path in SPECS]
    check = ["-m", "tlxgen", "check", *specs, "--repeats", "3", "--workers", "16", "--timeout", "120"]
    speed = [python, "benchmarks/norm_speed.py"]
    return [
        Step("host", [python, "benchmarks/host_side.py", "times", "--json", str(out / "host_side.json")], 60),
        Step("check", [python, *check, "--json", str(out / "norm_check.json")], 140),
        Step("forward", [*speed, "forward", "--seconds", "80", "--json", str(out / "norm_fwd.json")], 170),
        Step("backward", [*speed, "backward", "--seconds", "55", "--json", str(out / "norm_bwd.json")], 115),
    ]


def run(todo: Sequence[Step], out: Path) -> int:
    """Runs the steps, each in a session of its own, which ends with it. How many did not end well by themselves."""
    out.mkdir(parents=True, exist_ok=True)
    failed, environment = 0, os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    for step in todo:
        begin, path = time.monotonic(), out / f"{step.name}.log"
        with path.open("w") as log:
            child = subprocess.Popen(
                step.command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
            try:
                ended = f"exit {child.wait(step.seconds)}"
            except subprocess.TimeoutExpired:
                ended = f"ended after its {step.seconds:.0f} s"
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # its children, too
            child.wait()
        failed += ended != "exit 0"
        print(f"\n{step.name}: {ended}, {time.monotonic() - begin:.0f} s\n{path.read_text()[-3000:]}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="where figures and logs go")
    parser.add_argument("--only", type=lambda text: text.split(","), help="only these steps")
    given = parser.parse_args()
    out = given.out.resolve()
    return int(run([s for s in steps(out) if not given.only or s.name in given.only], out) > 0)


if __name__ == "__main__":
    sys.exit(main())
