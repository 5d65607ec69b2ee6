"""Which shipped structures each toolchain compiles, and, with --check, which are right on this GPU.

    python benchmarks/toolchains.py --toolchain fbtriton --toolchain utlx --out rows.jsonl
    python benchmarks/toolchains.py --toolchain utlx=~/utlx --check --seconds 200 --out checked.jsonl

A toolchain is a name that `tlxgen doctor` knows, or NAME=FOLDER with a folder that holds its Triton, for a host without
pip; fbtriton alone is the one of this Python. Without --check, all kernels of the first config of each structure are
compiled, without a GPU. With it, the first config is launched on small shapes, twice each, and compared with the
family's reference. A row is a line of JSON in --out; structures that have one there for this source and toolchain are
not done again. SPEC defaults to all of specs/hopper_*.yaml. benchmarks/toolchains_speed.py compares speeds.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlxgen.bounded import Answer, Child, cpus, run_each
from tlxgen.compile import Outcome, Toolchain, compile_all, named
from tlxgen.compile.toolchain import static_version
from tlxgen.families import Structure, Variant, kernels_of
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
        return static_version(self.folder / "triton") or "unknown"


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
    parser.add_argument("--check", action="store_true", help="run what the toolchain compiles on this GPU")
    parser.add_argument("--shapes", type=int, default=2, help="with --check, so many shapes; each is compiled for")
    parser.add_argument("--seconds", type=float, default=3600.0, help="with --check, begin nothing after so long")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    for toolchain in map(chosen, options.toolchain):
        if options.check:
            checked(options, toolchain, rows)
        for row in () if options.check else compiled(options, toolchain, rows):
            write(options.out, rows, row)
        summarise([row for row in rows if row["toolchain"] == toolchain.name])


def chosen(text: str) -> Toolchain:
    name, _, folder = text.partition("=")
    known = named(name)
    return At(known.name, known.requires, known.text, known.num_stages, folder) if folder else known


_writing = threading.Lock()


def write(out: Path, rows: list[Row], row: Row) -> None:
    """Puts a row in the place of the one for the same structure and toolchain; prints it."""
    with _writing:
        rows[:] = [r for r in rows if _key(r) != _key(row)] + [row]
        beside = out.with_suffix(".part")
        beside.write_text("".join(json.dumps(r) + "\n" for r in rows))
        beside.replace(out)
        text = " ".join(f"{n}={row[n]}" for n in ("registers", "spill", "as_planned", "right") if n in row)
        print(f"{row['toolchain']:12} {row['structure']:60} {row['fails'] or 'ok'} {text}", flush=True)


def summarise(rows: list[Row]) -> None:
    """Prints how many structures are well, and of the others how many there are for each reason."""
    well = [row for row in rows if not row["fails"] and row.get("right", True)]
    print(f"\n{len(well)} of {len(rows)} structures are well ({100 * len(well) / max(1, len(rows)):.1f} %)")
    for reason, count in Counter(row["fails"] or "wrong" for row in rows if row not in well).most_common():
        print(f"{count:4} {reason}")


def _key(row: Row) -> tuple[str, str]:
    return row["toolchain"], row["structure"]


def compiled(options: argparse.Namespace, toolchain: Toolchain, rows: list[Row]) -> Iterator[Row]:
    """A row for each structure that has none for its source yet; so many at a time, that little is lost in between."""
    version = toolchain.check()
    known = {(*_key(r), r["source"]) for r in rows}
    todo = []
    for spec, _, structure in structures(options):
        source = source_of(path_of(options, spec, structure))
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
    return "" if outcome.ok else failure_in(f"{outcome.error}\n{outcome.detail}") or outcome.error[:120]


def failure_in(text: str) -> str:
    """The operation that an error is about, as CAUSES names it; empty for none of them."""
    found = ((re.search(pattern, text), name) for pattern, name in CAUSES)
    return next((match.expand(name) for match, name in found if match), "")


def source_of(module: Path) -> str:
    return hashlib.sha256(module.read_bytes()).hexdigest()


def structures(options: argparse.Namespace) -> Iterator[tuple[Path, int, Structure]]:
    for spec in options.specs:
        for number, structure in enumerate(kernels_of(spec).structures[: options.each]):
            if options.only in structure.name and structure.variants[0].plan.arch.name == "sm90":  # type: ignore[union-attr]
                yield spec, number, structure


def path_of(options: argparse.Namespace, spec: Path, structure: Structure) -> Path:
    return Path(options.generated, spec.stem, f"{structure.name}.py").resolve()


def checked(options: argparse.Namespace, toolchain: Toolchain, rows: list[Row]) -> None:
    """Writes a row with `right` for each structure whose source has none, as it is done; none is begun after --seconds.

    The first structure of every spec comes first, so that a run which is stopped has seen every family.
    """
    version, end = toolchain.check(), time.monotonic() + options.seconds

    def work(child: Child, job: list[Module]) -> None:
        for spec, module, source in job:
            if time.monotonic() > end:
                break
            head = {"toolchain": toolchain.name, "triton": version, "spec": spec.stem, "structure": module.stem}
            request: Row = {"spec": str(spec), "module": str(module), "structure": module.stem}
            request |= {"num_stages": toolchain.num_stages, "shapes": options.shapes}
            request |= {"portable": toolchain.name == "utlx"}
            answer = child.ask(request, options.timeout)
            write(options.out, rows, head | {"source": source} | told(answer))

    def environment(folder: str) -> dict[str, str]:
        return {**os.environ, **toolchain.environment(), "TRITON_CACHE_DIR": f"{folder}/cache", "TMPDIR": folder}

    known = {(*_key(r), r["source"]) for r in rows if "right" in r or r["fails"]}
    each = [
        [m for m in modules(options, spec) if (toolchain.name, m[1].stem, m[2]) not in known] for spec in options.specs
    ]
    children = run_each(
        lambda stop: Child("toolchains_gpu", stop, scratch=environment), ordered(each), work, workers=options.workers
    )
    with contextlib.closing(children) as results:
        for _ in results:
            pass


Module = tuple[Path, Path, str]  # a spec, a generated module and the digest of its source


def modules(options: argparse.Namespace, spec: Path) -> list[Module]:
    """The generated modules of a spec, without planning it."""
    files = sorted(p for p in Path(options.generated, spec.stem).glob("*.py") if not p.name.startswith("_"))
    named = [file for file in files if options.only in file.stem][: options.each]
    return [(spec.resolve(), file.resolve(), source_of(file)) for file in named]


def ordered(each: list[list[Module]]) -> list[list[Module]]:
    """What a child does in one go: the first of every spec, then several of one, those of the largest specs first."""
    firsts = [some[:1] for some in each]
    largest = sorted(each, key=len, reverse=True)
    rest = [some[i : i + AT_ONCE] for some in largest for i in range(1, len(some), AT_ONCE)]
    return [job for job in (*firsts, *rest) if job]


AT_ONCE = 6  # structures of a spec that a child does one after the other


def told(answer: Answer) -> Row:
    """The row of an answer; of a child that was lost, by what it had printed."""
    row: Row | None = next((m["row"] for m in answer.messages if "row" in m), None)
    if row is None:
        failed = failure_in(f"{answer.fate}\n{answer.log}")
        error = f"{answer.fate}: {answer.last_line}"[:600]
        return {"fails": failed, "error": error} if failed else {"fails": "", "right": False, "error": error}
    if row["fails"] == "compile":
        row["fails"] = failure_in(row["error"] + row.pop("log")) or row["error"].partition("\n")[0][:120]
    return row


if __name__ == "__main__":
    main()
