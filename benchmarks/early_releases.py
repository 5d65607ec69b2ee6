"""The rule on releases over shipped kernels and the wheel's tutorials, and over kernels with an early release planted.

    python -m benchmarks.early_releases FOLDER --json benchmarks/results/early_releases.json

Compiles the first config of each structure of specs/ as generated/ has it, and what the host code of each tutorial
launches. FOLDER keeps PTX and cubins: a kernel that is there is not compiled again, so that a run may be stopped. Then
a release is moved in the PTX of some of them, ptxas of the wheel assembles them again, and the rule must find each.
Needs no GPU. `--only TEXT` takes kernels whose name has the text, `--first` one structure a spec, `--no-compile` what
is in FOLDER.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.planted_ptx import BEHIND, Plant, plants
from tlxgen.build import folder_of
from tlxgen.compile import Resources, compiler, read, tools
from tlxgen.families import kernels_of
from tlxgen.sass import Releases, check
from tlxgen.verbs.compile import job_of
from tlxgen.working import Working

SPECS = Path(__file__).parents[1] / "specs"


def shipped(first: bool) -> Iterator[tuple[str, Callable[[], Resources]]]:
    """Each kernel of specs/ in its first config, by spec, structure and kernel: how it is compiled."""
    for spec in sorted(SPECS.glob("*.yaml")):
        work = Working(spec, folder_of(spec, None), folder_of(spec, None), {})
        structures = kernels_of(spec).some().structures
        for structure in structures[:1] if first else structures:
            plan = structure.variants[0].plan
            for launch in plan.launches if plan else ():
                if launch.launched:
                    job = job_of(work.path(structure.name), structure.variants[0], launch)
                    yield f"{spec.stem}+{structure.name}+{launch.kernel}", lambda job=job: compiler._compile(job)


def tutorials() -> Iterator[tuple[str, Callable[[], Resources]]]:
    """Each kernel that the tutorials' own host code launches, with config 0 where it is autotuned."""
    from benchmarks.tutorials import attention, gemm
    from benchmarks.tutorials.row import load
    from tlxgen.launched.recorder import Recorder

    for row in (*attention.ROWS, *gemm.ROWS):
        session = Recorder(arch=row.arch, only=0)
        try:
            with session.active():
                row.run(load(row.module, row.arch), session)
        except Exception as error:  # of host code that looks at what was never computed
            print(f"{row.name}: {type(error).__name__}: {error}", file=sys.stderr)
        for number, found in enumerate(session.recorded.values()):
            yield f"tutorial+{row.name.replace(' ', '_').replace('/', '_')}+{number}_{found.kernel.name}", found.compile


def compile_into(path: Path, compiling: Callable[[], Resources]) -> None:
    """Leaves a kernel's PTX and cubin beside `path`, or a file .error."""

    def keep(ptx: str, cubin: bytes, metadata: Any, report: str, *, with_sass: bool = True) -> Resources:
        path.with_suffix(".ptx").write_text(ptx)
        path.with_suffix(".cubin").write_bytes(cubin)
        return read.resources(ptx, cubin, metadata, report, with_sass=with_sass)

    with mock.patch.object(compiler, "resources", keep), tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        try:
            compiling()
        except Exception as error:
            path.with_suffix(".error").write_text(f"{type(error).__name__}: {error}")
        finally:
            shutil.rmtree(cache, ignore_errors=True)
            Path(cache).mkdir()


def disassembled(cubin: Path) -> str:
    """As `compile` does it."""
    text = read.disassembled(cubin.read_bytes())
    assert text is not None, "the wheel has no nvdisasm"
    return text


def row(path: Path) -> dict[str, Any]:
    """What the rule says of a kernel that was compiled."""
    origin, structure, kernel = path.stem.split("+")
    found = check(disassembled(path)).to_json()
    return {"of": origin, "structure": structure, "kernel": kernel, **found}


def planted(given: tuple[Path, Plant]) -> dict[str, Any]:
    """What the rule says of a kernel in which a release was moved."""
    path, plant = given
    arch = plant.ptx.partition("\n.target ")[2].split()[0].rstrip(",")
    found = _assembled(plant.ptx, arch)
    return {
        "kernel": path.stem.split("+")[-1], "loads": plant.loads, "release": plant.release, "planted": plant.where,
        "found": [early.where for early in found.early],
    }  # fmt: skip


def _assembled(ptx: str, arch: str) -> Releases:
    found = tools()
    assembler = found.ptxas_blackwell if "100" in arch else found.ptxas
    assert assembler is not None, "the wheel has no ptxas"
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "k.ptx"), Path(folder, "k.cubin")
        source.write_text(ptx)
        subprocess.run([assembler, f"-arch={arch}", source, "-o", cubin], check=True, capture_output=True)
        return check(disassembled(cubin))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--no-specs", action="store_true")
    return parser.parse_args()


def compile_all(options: argparse.Namespace) -> None:
    """Compiles what the folder lacks."""
    os.environ.update(TRITON_ALWAYS_COMPILE="1", TRITON_DISABLE_LINE_INFO="1")
    options.folder.mkdir(parents=True, exist_ok=True)
    sources = [tutorials()] if options.no_specs else [shipped(first=True), tutorials(), shipped(options.first)]
    for source in sources:
        for name, compiling in source:
            path = options.folder / f"{name}.cubin"
            if options.only in name and not path.exists() and not path.with_suffix(".error").exists():
                print(name, file=sys.stderr, flush=True)
                with contextlib.redirect_stdout(sys.stderr):
                    compile_into(path, compiling)


PLANTED_IN = (
    "blackwell_attention_fwd+blackwell_attention_fwd_none+",
    "blackwell_gemm_2cta+blackwell_gemm_2cta_leader_persistent+",
    "blackwell_gemm+blackwell_gemm_persistent+",
    "hopper_attention_fwd+hopper_attention_fwd_none+",
)


def main() -> int:
    """Exit status 1 when the rule has a finding in a kernel as it is, or none in one with an early release."""
    options = _arguments()
    if not options.no_compile:
        compile_all(options)
    cubins = sorted(path for path in options.folder.glob("*.cubin") if options.only in path.stem)
    errors = {path.stem: path.read_text().splitlines()[0] for path in sorted(options.folder.glob("*.error"))}
    sources = [path.with_suffix(".ptx") for path in cubins if path.stem.startswith(PLANTED_IN)]
    with ThreadPoolExecutor(options.workers) as pool:  # of which each waits for ptxas and nvdisasm
        kernels = list(pool.map(row, cubins))
        changed = list(
            pool.map(planted, [(source, plant) for source in sources for plant in plants(source.read_text())])
        )
    hits = [k for k in kernels if k["early"] or k.get("unseen")]
    for one in changed:
        if not one["found"] and one["planted"] == BEHIND:
            one["why not"] = "ptxas puts the arrive behind uses of the loads: none is in flight in the machine code"
    missed = [p for p in changed if not p["found"] and "why not" not in p]
    totals = {key: sum(k[key] for k in kernels) for key in ("loads", "releases")}
    summary = {"kernels": len(kernels), **totals, "hits": len(hits), "planted": len(changed), "missed": len(missed)}
    print(json.dumps(summary), *map(json.dumps, hits), *map(json.dumps, missed), sep="\n")
    if options.json:
        lists = {"hits": hits, "missed": missed, "not compiled": errors, "planted": changed, "kernels": kernels}
        parts = [f'"summary": {json.dumps(summary)}']
        for name, items in lists.items():
            if isinstance(items, dict):
                parts.append(f"{json.dumps(name)}: {json.dumps(items)}")
            else:
                parts.append(f"{json.dumps(name)}: [\n  " + ",\n  ".join(map(json.dumps, items)) + "\n ]")
        options.json.write_text("{\n " + ",\n ".join(parts) + "\n}\n")
    return int(bool(hits or missed))


if __name__ == "__main__":
    raise SystemExit(main())
