"""`tlxgen check`: prints a line for each structure, then every failed case, and writes all results as JSON."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path

from tlxgen import __version__
from tlxgen.check import Job, Result, check_all, require_device
from tlxgen.compile import check_torch, check_triton
from tlxgen.families import kernels_of
from tlxgen.files import require_outputs, write_atomic
from tlxgen.review.tables import Table, show
from tlxgen.working import of_spec


def run(
    specs: list[Path], repeats: int, workers: int, timeout_s: float, seed: int, peers: bool, results: Path | None
) -> int:
    """Checks the present modules of the specs and prints a table. Returns 0 when all cases pass, else 1."""
    require_outputs({"--json": results})
    check_torch()
    arches = {spec: kernels_of(spec).some().structures[0].plan.arch for spec in specs}
    for arch in dict.fromkeys(arches.values()):
        device = require_device(arch.name, arch.capability)
    check_triton()
    jobs = []
    with ExitStack() as copies:
        for spec in specs:
            work = copies.enter_context(of_spec(spec))
            if work.generated.is_dir() and (line := work.difference("what is there is not checked")):
                print(line, flush=True)
            names = [s.name for s in kernels_of(spec).structures]
            jobs += [Job(spec, work.folder, name, repeats, seed, peers=peers) for name in names]
        cases = check_all(jobs, workers=workers, timeout_s=timeout_s, on_done=_progress)
    _print(cases)
    if results:
        write_atomic(results, _record(cases, device).encode())
    return int(any(not c["passed"] for c in cases))


def _progress(cases: list[Result]) -> None:
    passed = sum(c["passed"] for c in cases)
    print(f"{cases[0]['structure']}: {passed} of {len(cases)} cases right", flush=True)


def _print(cases: list[Result]) -> None:
    failed = Table("Wrong", ("structure", "config", "shape", "what"))
    for c in cases:
        if not c["passed"]:
            failed.add(c["structure"], c["config"], "x".join(map(str, c["shape"])), c["text"])
    show([failed])
    good = sum(c["passed"] for c in cases)
    largest = max((c["error"] for c in cases if c["passed"]), default=0.0)
    print(f"{good} of {len(cases)} cases right; largest error {largest:.2e}")
    ratios = [errors["ratio"] for c in cases for errors in c.get("peers", {}).values()]
    if ratios:
        print(f"{len(ratios)} outputs beside torch's own: at most {max(ratios):.2f} times its error")


def _record(cases: list[Result], device: str) -> str:
    import torch

    head = {
        "command": "tlxgen " + " ".join(Path(a).name if a.startswith("/") else a for a in sys.argv[1:]),
        "device": device,
        "versions": {
            "tlxgen": __version__,
            "fbtriton": metadata.version("fbtriton"),
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
        },
    }
    rows = ",\n  ".join(json.dumps(row) for row in _by_config(cases))
    return json.dumps(head, indent=1)[:-2] + ',\n "configs": [\n  ' + rows + "\n ]\n}\n"


def _by_config(cases: list[Result]) -> list[Result]:
    """One row for each config: its error on each shape, the errors of torch's kernels, and the reasons of failures."""
    rows: dict[tuple[str, str], Result] = {}
    for c in cases:
        head = {"structure": c["structure"], "config": c["config"], "repeats": c["repeats"], "errors": {}, "failed": {}}
        row = rows.setdefault((c["structure"], c["config"]), head)
        shape = "x".join(map(str, c["shape"]))
        if c["passed"]:
            row["errors"][shape] = float(f"{c['error']:.2e}")
        else:
            row["failed"][shape] = c["text"]
        if beside := c.get("peers"):
            row.setdefault("peers", {})[shape] = {
                name: {whose: float(f"{error:.2e}") for whose, error in errors.items()}
                for name, errors in beside.items()
            }
    return list(rows.values())
