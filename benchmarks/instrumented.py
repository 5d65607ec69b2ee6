"""What stamps of the clock cost: of instrumented twins the SASS beside the plain kernels', and the time on a GPU.

    python benchmarks/instrumented.py sass --out benchmarks/results/instrumented-sass.md    # no GPU; some minutes
    python benchmarks/instrumented.py gpu --out OUT       # on an H200, in less than 500 s; a folder for what comes out

`gpu` holds the figures against the bars: at most 5 % slower, intervals that add up to a task's time within 2 %.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tlxgen import stamp
from tlxgen.compile import Job, Resources, compile_all
from tlxgen.families import kernels_of
from tlxgen.profile.compiled import SAME, differences, job_of_twin
from tlxgen.profile.folder import files_of, twins, write
from tlxgen.review.tables import Table
from tlxgen.verbs import profile
from tlxgen.verbs.compile import job_of
from tlxgen.working import of_spec

SPECS = Path(__file__).parents[1] / "specs"
COMPILED = [
    ("hopper_gemm", "hopper_gemm_cooperative"),
    ("hopper_gemm", "hopper_gemm_pingpong"),
    ("hopper_attention_fwd", "hopper_attention_fwd_none"),
    ("hopper_attention_fwd", "hopper_attention_fwd_causal"),
    ("hopper_attention_bwd", "hopper_attention_bwd_none_together"),
    ("hopper_attention_bwd", "hopper_attention_bwd_causal_together"),
    ("hopper_rms_norm", "hopper_rms_norm_persistent"),
    ("hopper_grouped_gemm", "hopper_grouped_gemm_row_pingpong"),
    ("blackwell_gemm", "blackwell_gemm_persistent"),
]
SHOWN = ("HGMMA", "UTCHMMA", "UTMALDG", "UTMASTG", "UTMAREDG", "BAR", "SYNCS")
MEASURED = [
    ("hopper_gemm", "hopper_gemm_cooperative", "8192x8192x4096"),
    ("hopper_gemm", "hopper_gemm_pingpong", "8192x8192x4096"),
    ("hopper_attention_fwd", "hopper_attention_fwd_none", "4x16x16x4096x4096"),
    ("hopper_attention_fwd", "hopper_attention_fwd_causal", "4x16x16x4096x4096"),
    ("hopper_attention_bwd", "hopper_attention_bwd_none_together", "4x16x16x4096x4096"),
    ("hopper_attention_bwd", "hopper_attention_bwd_causal_together", "4x16x16x4096x4096"),
]
SLOWER, SUM, TIME_S = 0.05, 0.02, 480


def _compiled(spec: str, name: str, workers: int) -> tuple[Resources, Resources]:
    """The last config of a structure, plain and with stamps. Raises RuntimeError where one does not compile."""
    path = SPECS / f"{spec}.yaml"
    structure = kernels_of(path).structure(name)
    with of_spec(path) as work, tempfile.TemporaryDirectory() as folder:
        write(files_of(work, twins(work, [structure])), Path(folder))
        variant = structure.variants[-1]
        assert variant.plan
        plain = job_of(work.path(name), variant, variant.plan.launches[0])
        jobs: list[Job] = [plain, job_of_twin(plain, Path(folder) / f"{name}.py")]
        cache = stamp.cache_folder() / "compiled"
        found = []
        for outcome in compile_all(jobs, workers=workers, timeout_s=300, cache=cache):
            if outcome.resources is None:
                raise RuntimeError(f"{outcome.job}: {outcome.error}")
            found.append(outcome.resources)
        return found[0], found[1]


def _sass_rows(workers: int) -> Iterator[tuple[object, ...]]:
    for spec, name in COMPILED:
        plain, twin = _compiled(spec, name, workers)
        wrong = "; ".join(differences(plain, twin)) or "nothing"
        for what, kernel in (("plain", plain), ("twin", twin)):
            sass = kernel.sass or {}
            stamps = sass.get("STG", 0) - (plain.sass or {}).get("STG", 0)
            counts = [sass.get(opcode, 0) for opcode in (*SHOWN, "total")]
            moves = ", ".join(f"{action} {count}" for action, count in kernel.setmaxnreg) or "none"
            yield name, what, *counts, stamps, kernel.spill_store_bytes, kernel.smem_bytes, moves, wrong


def sass(out: Path, workers: int) -> int:
    of_each = (*SHOWN, "all", "STG more", "spill B", "SMEM B", "setmaxnreg")
    columns = ("kernel", "which", *of_each, "differs in")
    table = Table("SASS of instrumented twins beside the plain kernels", columns)
    held = ", ".join(SAME)
    table.note = f"The last config of each. Held against each other: setmaxnreg, barriers, warps, spills, {held}."
    for row in _sass_rows(workers):
        table.add(*row[:-1], row[-1] if row[1] == "twin" else "")
        print(*row[:2], row[-1], file=sys.stderr, flush=True)
    out.write_text(table.markdown())
    return 0


def gpu(out: Path) -> int:
    out.mkdir(parents=True, exist_ok=True)
    columns = ("kernel", "shape", "plain us", "twin us", "slower %", "told %", "bars")
    table = Table("Instrumented kernels on a GPU", columns)
    start, failed = time.monotonic(), False
    for spec, name, shape in MEASURED:
        if time.monotonic() - start > TIME_S:
            print(f"{name}: no time left", file=sys.stderr)
            failed = True
            continue
        files = {"trace": out / f"{name}.trace.json", "json": out / f"{name}.json"}
        options = profile.Options(shapes=(shape,), structure=name, simulate=False, ctas=2, **files)  # type: ignore[arg-type]
        profile.run(SPECS / f"{spec}.yaml", options)
        found = json.loads(files["json"].read_text())
        told = [task["told"] for task in found["tasks"]]
        worst = max(told, key=lambda share: abs(share - 1))
        met = found["cost"]["more"] <= SLOWER and abs(worst - 1) <= SUM and not found["full"]
        failed |= not met
        us = [f"{found['cost'][which]:.1f}" for which in ("plain_us", "twin_us")]
        more, sums = f"{100 * found['cost']['more']:.2f}", f"{100 * worst:.2f}"
        table.add(name, shape, *us, more, sums, "met" if met else "missed")
        (out / "instrumented.md").write_text(table.markdown())
    print(table.markdown())
    return int(failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("sass", "gpu"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    return sass(given.out, given.workers) if given.what == "sass" else gpu(given.out)


if __name__ == "__main__":
    raise SystemExit(main())
