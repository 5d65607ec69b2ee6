"""All that is measured of norms on a Hopper GPU, in one call of less than 500 s.

    python benchmarks/norm_all.py prepare --work DIR     (needs no GPU: builds what is to be timed)
    python benchmarks/norm_all.py dry --work DIR         (needs no GPU: loads everything that run needs)
    python benchmarks/norm_all.py run --work DIR --out DIR [--only host,check,speed,backward]

run: the host's time a call, the numbers of all shipped specs, the forward's candidates and the backward's beside torch,
torch.compile and quack, one step after the other. A step that takes longer than its share is ended, and the next one
begins; logs and figures are in --out, those of a step that was ended as far as it came.
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
BACKWARD = [path for path in SPECS if path.stem in ("hopper_layer_norm_bwd", "hopper_rms_norm_bwd")]
HOST = "gemm_tuned", "attention_fwd", "attention_bwd", "layer_norm", "layer_norm_bwd"  # what host_side calls


@dataclass(frozen=True)
class Step:
    """A command, and the seconds that it may take."""

    name: str
    command: Sequence[str]
    seconds: float


def steps(work: Path, out: Path) -> list[Step]:
    """Short ones first."""
    python, specs = sys.executable, [str(path.relative_to(ROOT)) for path in SPECS]
    check = ["-m", "tlxgen", "check", *specs, "--repeats", "3", "--workers", "16", "--timeout", "120"]
    speed = ["rms,layer", "--work", str(work), "--prepared", "--seconds", "115", "--turns", "15"]
    backward = [*(str(path.relative_to(ROOT)) for path in BACKWARD), "--seconds", "95"]
    return [
        Step("host", [python, "benchmarks/host_side.py", "times", "--json", str(out / "host_side.json")], 60),
        Step("check", [python, *check, "--json", str(out / "norm_check.json")], 140),
        Step("speed", [python, "benchmarks/norm_speed.py", *speed, "--json", str(out / "norm_speed.json")], 170),
        Step("backward", [python, "benchmarks/norm_backward.py", *backward, "--json", str(out / "norm_bwd.json")], 115),
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


def prepare(work: Path) -> None:
    """What norm_speed times is built in `work`; what the other steps need is checked in."""
    import norm_speed

    norm_speed.build(["rms", "layer"], list(norm_speed.SHAPES), work)
    print(f"{len(list((work / 'specs').glob('*.yaml')))} candidates in {work}")


def dry(work: Path) -> None:
    """Loads what the steps load: scripts, specs, modules, baselines. Raises what they would raise."""
    import host_side
    import norm_backward
    import norm_speed

    from tlxgen.bench import comparison, gpu, spec  # noqa: F401
    from tlxgen.check import checker, on_gpu  # noqa: F401
    from tlxgen.families import kernels_of
    from tlxgen.families.norm_fwd import benchmark

    for name in HOST:
        missing = [f for f in ("_host.py", "lock.json") if not (host_side.GENERATED / f"hopper_{name}" / f).exists()]
        if missing:
            raise FileNotFoundError(f"generated/hopper_{name}: no {', '.join(missing)}")
    host_side.gemm(), host_side.attention(), host_side.layer_norm_operator()
    loaded = 0
    for norm in ("rms", "layer"):
        for shape in norm_speed.SHAPES:
            found = list(norm_speed.made(norm, shape, work))
            if not found:
                raise FileNotFoundError(f"{work}: no candidates for {norm} {shape}; say prepare first")
            for name, path in found:
                parsed, _ = norm_speed.caller(name, path, work)
                loaded += 1
            benchmark.baselines(parsed)
    for path in BACKWARD:
        subject = norm_backward.Subject(path)
        for shape in subject.family.shapes:
            subject.names(shape)
    variants = sum(len(structure.variants) for path in SPECS for structure in kernels_of(path).structures)
    print(f"{loaded} candidates of norms, {variants} variants of {len(SPECS)} specs to check; everything loads")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("prepare", "dry", "run"))
    parser.add_argument("--work", type=Path, required=True, help="the folder of what is built before")
    parser.add_argument("--out", type=Path, help="where figures and logs go")
    parser.add_argument("--only", type=lambda text: text.split(","), help="only these steps")
    given = parser.parse_args()
    sys.path[:0] = [str(HERE), str(ROOT)]
    work = given.work.resolve()
    if given.what != "run":
        (prepare if given.what == "prepare" else dry)(work)
        return 0
    if given.out is None:
        parser.error("run needs --out")
    out = given.out.resolve()
    return int(run([s for s in steps(work, out) if not given.only or s.name in given.only], out) > 0)


if __name__ == "__main__":
    sys.exit(main())
