"""How fast a GPU copies, by how it is asked: what rates of other kernels are held against.

    python benchmarks/copy_rate.py [--json FILE]      on a GPU, in less than 20 s

`copy_` of a contiguous tensor is a memcpy of the driver; `neg` reads and writes the same bytes by a kernel. Both run
eagerly and as replays of a graph, on fresh memory and on memory that was written before. Rates count the bytes read
and written, in TB/s; the best of five.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import torch

MIB = (64, 128, 256, 512, 1024)


def seconds(run: Callable[[], object], times: int) -> float:
    """Of one run, the best of five series."""
    found = []
    for _ in range(5):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(times):
            run()
        end.record()
        end.synchronize()
        found.append(begin.elapsed_time(end) / times / 1e3)
    return min(found)


def captured(run: Callable[[], object], times: int) -> Callable[[], object]:
    """A graph of so many runs."""
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            run()
    return graph.replay


def rates(mib: int) -> dict[str, float]:
    """TB/s by what copies."""
    elements = mib * 2**18
    fresh = (
        torch.empty(elements, dtype=torch.int32, device="cuda"),
        torch.empty(elements, dtype=torch.int32, device="cuda"),
    )
    written = torch.randint(1 << 30, (elements,), dtype=torch.int32, device="cuda"), torch.zeros_like(fresh[0])
    found: dict[str, float] = {}
    for memory, (source, target) in (("fresh", fresh), ("written", written)):
        for name, run in (
            ("memcpy", lambda s=source, t=target: t.copy_(s)),
            ("kernel", lambda s=source, t=target: torch.neg(s, out=t)),
        ):
            eager = seconds(run, 20)
            graph = seconds(captured(run, 20), 1) / 20
            for how, time in (("eager", eager), ("graph", graph)):
                found[f"{name} {how} {memory}"] = 2 * mib * 2**20 / time / 1e12
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = [{"mib": mib, **rates(mib)} for mib in MIB]
    for row in rows:
        print({name: round(value, 2) for name, value in row.items()}, flush=True)
    if given.json:
        head = {"command": "python benchmarks/copy_rate.py", "device": torch.cuda.get_device_name()}
        given.json.write_text(json.dumps(head | {"torch": torch.__version__, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
