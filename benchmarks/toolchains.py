"""Which shipped structures each toolchain compiles, and, with --check, which are right on this GPU and how fast.

    python benchmarks/toolchains.py --toolchain fbtriton --toolchain utlx --out rows.jsonl
    python benchmarks/toolchains.py --toolchain utlx=~/utlx --check --out rows.jsonl

A toolchain is a name that `tlxgen doctor` knows, or NAME=FOLDER with a folder that holds its Triton, for a host without
pip; fbtriton alone is the one of this Python. All kernels of the first
config of each structure are compiled, without a GPU. A row is a line of JSON in --out; structures that have one there
for this source and toolchain are not done again. SPEC defaults to all of specs/hopper_*.yaml.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlxgen.bounded import cpus
from tlxgen.compile import Outcome, Toolchain, compile_all, environments, named
from tlxgen.families import Structure, Variant, kernels_of
from tlxgen.loading import load_file
from tlxgen.plan.budget import register_split
from tlxgen.verbs.compile import job_of

Row = dict[str, Any]

# What an error says of the operation that the compiler has not; the first that matches.
CAUSES = (
    (r"uTLX: '([\w.]+)' is not registered", r"\1"),  # printed, and the operation left out: such a kernel "compiles"
    (r"(tlx\.\w+) needs ", r"\1"),
    (r"has no attribute '(\w+)'", r"tlx.\1"),
    (r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", r"tlx.\1(\2=)"),
    (r"Layout has (\d+) warps per CTA, but the context requires (\d+)", r"tensors in a task of \2 warps, not \1"),
    (r"already has a (set_buffer_overlap)", r"a second \1"),
    (r"(builtin\.unrealized_conversion_cast)", r"layout of a buffer (\1)"),
)


@dataclass(frozen=True)
class At(Toolchain):
    """A toolchain in a folder that somebody made."""

    where: str = ""

    @property
    def folder(self) -> Path:
        return Path(self.where).expanduser().resolve()

    def check(self) -> str:
        if not (self.folder / "triton" / "__init__.py").is_file():
            sys.exit(f"no triton in {self.folder}")
        return environments.installed.static_version(self.folder / "triton") or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", type=Path, default=sorted(Path("specs").glob("hopper_*.yaml")))
    parser.add_argument("--toolchain", action="append", metavar="NAME[=FOLDER]", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--generated", type=Path, default=Path("generated"))
    parser.add_argument("--only", default="", help="structures whose names contain it")
    parser.add_argument("--each", type=int, help="so many structures of each spec")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds a kernel, or with --check a structure")
    parser.add_argument("--workers", type=int, default=cpus())
    parser.add_argument("--check", action="store_true", help="run what compiles on this GPU, and time it")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)  # module, the structure's number, num_stages
    options = parser.parse_args()
    if options.child:
        print(json.dumps(on_gpu(options.specs[0], Path(options.child[0]), *map(int, options.child[1:]))))
        return
    rows = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    for toolchain in map(chosen, options.toolchain):
        for row in compiled(options, toolchain, rows):
            write(options.out, rows, row)
        for row in checked(options, toolchain, rows) if options.check else ():
            write(options.out, rows, row)


def chosen(text: str) -> Toolchain:
    name, _, folder = text.partition("=")
    known = named(name)
    return At(known.name, known.requires, known.text, known.num_stages, folder) if folder else known


def write(out: Path, rows: list[Row], row: Row) -> None:
    """Puts a row in the place of the one for the same structure and toolchain; prints it."""
    rows[:] = [r for r in rows if _key(r) != _key(row)] + [row]
    beside = out.with_suffix(".part")
    beside.write_text("".join(json.dumps(r) + "\n" for r in rows))
    beside.replace(out)
    text = " ".join(f"{n}={row[n]}" for n in ("registers", "spill", "as_planned", "right", "us") if n in row)
    print(f"{row['toolchain']:12} {row['structure']:60} {row['fails'] or 'ok'} {text}", flush=True)


def _key(row: Row) -> tuple[str, str]:
    return row["toolchain"], row["structure"]


def compiled(options: argparse.Namespace, toolchain: Toolchain, rows: list[Row]) -> Iterator[Row]:
    """A row for each structure that has none for its source yet; so many at a time, that little is lost in between."""
    version = toolchain.check()
    known = {(*_key(r), r["source"]) for r in rows}
    todo = []
    for spec, _, structure in structures(options):
        source = hashlib.sha256(path_of(options, spec, structure).read_bytes()).hexdigest()
        if (toolchain.name, structure.name, source) not in known:
            todo.append((spec, structure, source))
    for i in range(0, len(todo), 4 * options.workers):
        some = todo[i : i + 4 * options.workers]
        variants = [s.variants[0] for _, s, _ in some]
        jobs = [
            (n, job_of(path_of(options, spec, s), variants[n], launch))
            for n, (spec, s, _) in enumerate(some)
            for launch in (variants[n].plan.launches if variants[n].plan else ())  # type: ignore[union-attr]
            if launch.launched
        ]
        found = compile_all(
            [job for _, job in jobs], workers=options.workers, timeout_s=options.timeout, toolchain=toolchain
        )
        for n, (spec, s, source) in enumerate(some):
            mine = [o for (at, _), o in zip(jobs, found, strict=True) if at == n]
            head = {"toolchain": toolchain.name, "triton": version, "spec": spec.stem, "structure": s.name}
            yield head | {"source": source, "variant": variants[n].label} | row_of(variants[n], mine)


def row_of(variant: Variant, outcomes: list[Outcome]) -> Row:
    """What became of a config's kernels: `fails` names the operation; the figures are of the first, the planned one."""
    fails = next(filter(None, map(failure, outcomes)), "")
    if fails:
        return {"fails": fails, "error": next((o.error for o in outcomes if o.error), "")[:300]}
    first = outcomes[0].resources
    assert first and variant.plan
    row: Row = {
        "fails": "",
        "registers": first.registers,
        "spill": first.spill_store_bytes,
        "as_planned": tuple(first.setmaxnreg) == register_split(variant.plan).setmaxnreg,
        "named_barriers": first.named_barriers,
        "serialized": "wgmma.mma_async instructions are serialized" in outcomes[0].detail,
        "seconds": round(sum(o.seconds for o in outcomes), 1),
    }
    return row | ({"sass": {n: c for n, c in first.sass.items() if n in SHOWN}} if first.sass else {})


SHOWN = ("HGMMA", "QGMMA", "WARPGROUP", "BAR", "SYNCS", "LDS", "STS", "SHFL", "total")


def failure(outcome: Outcome) -> str:
    """The operation that stopped a compile, as CAUSES names it; empty where all is well."""
    text = f"{outcome.error}\n{outcome.detail}"
    if outcome.ok and "error: uTLX" not in text:
        return ""
    found = ((re.search(pattern, text), name) for pattern, name in CAUSES)
    return next((match.expand(name) for match, name in found if match), outcome.error[:120])


def structures(options: argparse.Namespace) -> Iterator[tuple[Path, int, Structure]]:
    for spec in options.specs:
        for number, structure in enumerate(kernels_of(spec).structures[: options.each]):
            if options.only in structure.name and structure.variants[0].plan.arch.name == "sm90":  # type: ignore[union-attr]
                yield spec, number, structure


def path_of(options: argparse.Namespace, spec: Path, structure: Structure) -> Path:
    return Path(options.generated, spec.stem, f"{structure.name}.py").resolve()


def checked(options: argparse.Namespace, toolchain: Toolchain, rows: list[Row]) -> Iterator[Row]:
    """The row of each structure that compiles and has not been run yet, with `right`, `error` and `us`."""
    by = {_key(r): r for r in rows}
    for spec, number, structure in structures(options):
        row = by.get((toolchain.name, structure.name))
        if row is None or row["fails"] or "right" in row:
            continue
        command = [sys.executable, __file__, "--toolchain", "fbtriton", "--out", os.devnull]
        command += ["--child", str(path_of(options, spec, structure)), str(number), str(toolchain.num_stages)]
        command += ["--", str(spec)]
        paths = os.pathsep.join(filter(None, sys.path))
        environment = os.environ | toolchain.environment() | {"PYTHONPATH": paths}
        try:
            run = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=options.timeout, check=False
            )
            told = run.stdout if run.returncode == 0 else run.stderr
            said = told.strip().splitlines()[-1:] or [f"ended with status {run.returncode}"]
            yield row | (json.loads(said[0]) if run.returncode == 0 else {"right": False, "error": said[0][:300]})
        except subprocess.TimeoutExpired:
            yield row | {"right": False, "error": f"timed out after {options.timeout:.0f} s"}


def on_gpu(spec: Path, module: Path, number: int, num_stages: int) -> Row:
    """In a child process: the check on the first two shapes, three repeats each, then microseconds on the first shape
    that `bench` has, the median of a second of replays."""
    environments.enter()
    import torch

    from tlxgen.bench.gpu import Gpu
    from tlxgen.check import on_gpu as case

    kernels = kernels_of(spec)
    variant: Variant = kernels.structures[number].variants[0]
    problem, loaded = kernels.family.problem(), load_file(module)
    config = loaded.CONFIGS[0]
    config.num_stages = num_stages
    for shape in problem.shapes(variant.spec)[:2]:
        found = case.run(problem, loaded, variant.spec, shape, config, 3, 0)
        if not found["passed"]:
            return {"right": False, "error": found["text"]}
    gpu, shape = Gpu(), kernels.family.shapes[0]
    run = kernels.family.benchmark().call(
        loaded, variant.spec, shape, problem.inputs(variant.spec, shape, torch.device("cuda")), config
    )
    timer = gpu.timer([run], gpu.roughly(run))
    end, times = time.monotonic() + 1, list[float]()
    while time.monotonic() < end:
        times.append(timer())
    return {"right": True, "error": "", "shape": shape, "us": round(sorted(times)[len(times) // 2], 2)}


if __name__ == "__main__":
    main()
