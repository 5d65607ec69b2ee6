"""Runs kernels of other repositories in the simulator, and writes what came of it.

    python -m benchmarks.foreign FOLDER                  every kernel; says what the table would say, and writes nothing
    python -m benchmarks.foreign FOLDER NAME --write     the kernels of NAME.about.yaml; the others keep their rows

FOLDER has a folder OWNER+NAME for each repository, checked out at the commit that the *.about.yaml here name: a clone,
or its files. Of a repository at several commits it has OWNER+NAME@COMMIT, 12 digits of it. Every kernel's own files are
held against that commit by their content. The cases are run by `tlxgen verify`.
--write makes benchmarks/results/foreign.json and docs/foreign.md.

Exit status 1: a finding that is not explained, or explained as a false alarm, or an explanation of what was not found;
2: a kernel could not be run to its end, or the folder has other files.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.foreign._folder import FOLDER, place
from benchmarks.foreign.about import SUFFIX, About, Kernel
from benchmarks.foreign.page import as_markdown
from tlxgen.cases import load
from tlxgen.files import write_atomic

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RECORD, PAGE = ROOT / "benchmarks" / "results" / "foreign.json", ROOT / "docs" / "foreign.md"
STATEMENT = re.compile(
    r"^( +\d+ +[A-Z:| ]+? +\d+)  (?! ).*?(  \[.*\])?$"
)  # of a witness: step, parties, line; what; on what
Row = dict[str, Any]


def verified(name: str, folder: Path, cases: Sequence[str], options: Sequence[str]) -> dict[str, Row]:
    """What `tlxgen verify` says of each case of NAME.verify.yaml."""
    targets = [f"{HERE / name}.py:{case}" for case in cases]
    with tempfile.TemporaryDirectory() as scratch:
        record = Path(scratch) / "record.json"
        command = [sys.executable, "-m", "tlxgen", "verify", *targets, "--json", str(record), "--all", *options]
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, FOLDER: str(folder)}, text=True, capture_output=True, check=False
        )
        if not record.exists():
            raise SystemExit(done.stdout + done.stderr)
        found = json.loads(record.read_text())
    return {target["target"].rpartition(":")[2]: target for target in found["targets"]}


def row_of(title: str, name: str, about: About, kernel: Kernel, results: Mapping[str, Row], folder: Path) -> Row:
    """A kernel's row: its runs over all cases, and each finding with its judgment, once."""
    targets = {case: results[case] for case in kernel.cases}
    findings: dict[tuple[Any, ...], Row] = {}
    for case, target in targets.items():
        for finding in target["findings"]:
            places = [relative(p, about, folder) for p in finding["places"]]
            key = (finding["id"], *((p["path"], p["line"]) for p in places))
            known = kernel.explained(finding)
            judged = {"judgment": known.judgment, "why": known.why} if known else {"judgment": "unexplained", "why": ""}
            row = {k: finding[k] for k in ("id", "severity", "message", "schedule", "seed")}
            row["message"] = without(row["message"], about, folder)
            row |= {"case": case, "places": places, **judged}
            row |= {k: without(finding[k], about, folder) for k in ("replay",) if k in finding}
            if "witness" in finding:
                row["witness"] = unquoted(without(finding["witness"], about, folder))
            if key not in findings or ("witness" in row and "witness" not in findings[key]):
                findings[key] = row
    errors = {case: t["error"]["message"] for case, t in targets.items() if "error" in t}
    verdict = "not run to its end" if errors else "findings" if findings else "clean"
    row = {"kernel": title, "repository": about.repository, "commit": about.commit, "files": dict(kernel.files)}
    row |= {"made_by": kernel.made_by, "declared": name, "cases": list(kernel.cases), "verdict": verdict}
    row |= {k: sum(t[k] for t in targets.values()) for k in ("runs", "steps")}
    row |= {"note": about.note} if about.note else {}
    return row | {"findings": list(findings.values())} | ({"errors": errors} if errors else {})


def unquoted(witness: str) -> list[str]:
    """The lines of a witness without the statements that they quote, which are others' code."""
    return [STATEMENT.sub(lambda m: m[1] + (m[2] or ""), line) for line in witness.splitlines()]


def relative(place: Row, about: About, folder: Path) -> Row:
    return {"path": without(place["path"], about, folder), "line": place["line"]}


def without(text: str, about: About, folder: Path) -> str:
    """Text without the paths of this machine."""
    for prefix in (folder.absolute(), folder.resolve()):
        text = text.replace(f"{place(prefix, about.repository, about.commit)}/", "")
    return text.replace(f"{ROOT}/", "")


def unexpected(row: Row, kernel: Kernel) -> list[str]:
    """What contradicts what is known of a kernel."""
    lines = [
        f"{row['kernel']}: {f['judgment']} {f['id']} {', '.join(str(p['line']) for p in f['places'])}: {f['message']}"
        for f in row["findings"]
        if f["judgment"] in ("unexplained", "false alarm")
    ]
    unseen = [e for e in kernel.findings if not any(e.why == f["why"] for f in row["findings"])]
    return lines + [f"{row['kernel']}: no {e.id} was found at {list(e.lines) or 'all'}" for e in unseen]


def parsed(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="has the repositories, OWNER+NAME each")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of NAME.about.yaml; default: all")
    parser.add_argument("--kernel", metavar="TEXT", default="", help="only kernels whose title has this text")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of each schedule with chance in it (default 5)")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the record and the page")
    options = parser.parse_args(arguments)
    if options.write and options.kernel:
        parser.error("--write takes whole files: not with --kernel")
    passed = ["--seeds", str(options.seeds), "--workers", str(options.workers), "--timeout", "3600", "--memory", "24"]
    return options, passed


def write(rows: Sequence[Row], names: Sequence[str]) -> None:
    """The record and the page, in which what was not run now keeps its rows."""
    before = json.loads(RECORD.read_text())["kernels"] if RECORD.exists() else []
    kept = [row for row in before if row["declared"] not in names]
    every = sorted([*kept, *rows], key=lambda row: (row["repository"], row["declared"], row["kernel"]))
    write_atomic(RECORD, (json.dumps({"kernels": every}, indent=1) + "\n").encode())
    write_atomic(PAGE, as_markdown(every).encode())


def main(arguments: Sequence[str] | None = None) -> int:
    options, passed = parsed(arguments)
    folder = options.folder
    names = options.names or sorted(p.name.removesuffix(SUFFIX) for p in HERE.glob(f"*{SUFFIX}"))
    abouts = {name: About.read(HERE / f"{name}{SUFFIX}") for name in names}
    if differing := [line for about in abouts.values() for line in about.differing(folder)]:
        print("\n".join(differing), file=sys.stderr)
        return 2
    rows, wrong = [], []
    for name, about in abouts.items():
        kernels = {title: k for title, k in about.kernels.items() if options.kernel in title}
        cases = list(dict.fromkeys(case for k in kernels.values() for case in k.cases))
        if missing := set(cases) - {case.name for case in load(HERE / f"{name}.verify.yaml")}:
            raise SystemExit(f"{name}.verify.yaml has no case {', '.join(sorted(missing))}")
        results = verified(name, folder.absolute(), cases, passed) if cases else {}
        for title, kernel in kernels.items():
            row = row_of(title, name, about, kernel, results, folder)
            rows.append(row)
            wrong += unexpected(row, kernel)
            found = ", ".join(f"{f['id']} ({f['judgment']})" for f in row["findings"])
            print(f"{title}: {row['verdict']}, {row['runs']} runs, {row['steps']} steps{'; ' * bool(found)}{found}")
            for case, error in row.get("errors", {}).items():
                print(f"    {case}: {error}")
    print(*wrong, sep="\n", file=sys.stderr)
    if options.write:
        write(rows, names)
    return 2 if any("errors" in row for row in rows) else int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
