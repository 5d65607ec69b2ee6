"""Fits the rates of the GEMM model of time to measured kernels, and says how far off it is on shapes left out of it.

    python -m benchmarks.fit_gemm benchmarks/results/gemm_times_h200.json [MORE.json ...] --write

A file has groups: kernels that one run has timed in turns on one shape. What counts is the order within a group, most
of all near its fastest, and less how long all of it took: clocks differ from run to run. `--write` puts the rates where
`build` reads them (tlxgen/families/gemm/rates.json). Needs no GPU; benchmarks/gemm_times.py measures more groups.

For each shape, left out of a fit, this prints how much longer the kernel that the model picks takes than the
fastest of its group (the loss), and how far estimates are off, within a group and in microseconds.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlxgen.families.gemm import cost
from tlxgen.families.gemm.model import Clocks, Cut, Gpu, Kernel, Rates, Types, contiguous, estimate, row_cost, widest

# What is fitted: where the search begins, and what is possible. All other rates are taken as they are (ASSUMED).
FITTED: dict[str, tuple[float, float, float]] = {
    "memory": (4.4e6, 4.0e6, 4.8e6),
    "throttle": (0.35, 0.15, 0.5),
    "launch": (1.2, 0.5, 3.0),
    "start": (1000, 300, 4000),
    "start_alone": (550, 100, 3000),
    "tile": (250, 50, 1500),
    "store": (40, 16, 96),
    "hidden": (0.15, 0.02, 0.6),
    "alone": (1.5, 1.0, 2.5),
    "issue": (46, 24, 64),
    "blunt": (5, 2, 10),
    "slot": (25, 2, 80),
    "narrow": (30, 2, 120),
    "loading": (20, 2, 120),
    "adding": (90, 20, 300),
    "adding_alone": (90, 20, 400),
    "l2": (80, 50, 130),
    "all": (9000, 3000, 30000),
    "line": (1.0, 0.5, 1.2),
    "sector": (1.3, 1.0, 1.5),
    "blend": (5, 2, 12),
    "mix": (2, 1.2, 5),
    "page": (8, 0.5, 60),
    "latency": (1000, 300, 2600),
    "cold": (3000, 500, 8000),
    "meeting": (900, 200, 2500),
    "pair": (20, 2, 150),
    "parts": (8000, 3000, 20000),
    "helped": (2500, 500, 6000),
    "mark": (2000, 300, 6000),
    "stripe": (900, 300, 2500),
    "beyond": (20.0, 8.0, 80.0),
    "remote": (1000, 100, 6000),
    "exchange": (16, 2, 64),
}
ASSUMED = {
    "ghz": 1.98,  # clock_rate of an H200
    "peak": 4.917e6,  # its 6144 bits at 3201 MHz, twice a clock
    "l2_bytes": 40 << 20,  # of 50 MB
    "gap": 1500,
    "added": 128,
    "scaling": 260,  # by ten shapes of block_scales_h200.json and four kernels each, as the next three
    "scaling_alone": 195,
    "hides": 1.64,
    "hides_alone": 0.55,
    "few": 17000,
    "wait": 60,
    "second": 3.0,
    "pointers": 4.5,
    "copied": 24,
    "needless": 1.5,  # by 20x12648x440 and 2x15616x640, whose time was 1.9 and 1.15 times as long as estimated
    "counting": 600,  # of 0 to 1000, by the picks of few rows among 1,035 measured groups, and by gemm_random.py
    "producing": 120,  # of 0 to 200, likewise; 24 CTAs of 64 x 64 x 64 took 276 clocks a slot, of 64 x 64 x 128 346
    "along_k": 1.05,  # of 1 to 1.2 the one whose picks lose least among 924 measured groups
    "box": 33,  # of boxes of 8 to 128 rows that 132 CTAs load from L2, by a kernel that does nothing else
    "hot": 2.2,  # by three shapes of gemm_random.py, whose A is column-major and has 8 rows; files to fit to have few
}
DEVICES = {  # that groups were measured on
    cost.MEASURED.name: cost.MEASURED,
    "NVIDIA H100 80GB HBM3": Gpu("NVIDIA H100 80GB HBM3", 132, 1.98, 3.352e6, 52428800),
}
NEAR = 0.25  # a kernel that takes so much longer than the fastest of its group counts half
ABSOLUTE = 0.15  # weight of how long a group took, beside that of the order in it
PRIOR = 0.03  # weight of where the search begins
PICKED = 4.0  # weight of the time that a pick loses, beside what estimates are off
CLOSE = 0.03  # kernels whose estimates differ by so much count as picked alike
BEATEN = 0.1  # weight of each kernel that is estimated to be faster than the fastest of its space
FOLDS = 8  # of the shapes, each of which is left out of a fit
MANY = 8  # kernels of a group, from which on it says something of picks
REPEATS = 2  # runs of one shape count as so many at most
STEP, ENOUGH = 0.15, 2e-4  # the first step of a search, and the gain that a step must have
MOST = 0.25  # no kernel counts as further off


@dataclass(frozen=True)
class Group:
    """What one run timed in turns on one shape."""

    source: str
    types: Types
    shape: tuple[int, int, int]
    pitches: tuple[float, float]
    kernels: tuple[Kernel, ...]
    us: tuple[float, ...]
    chain: bool = False  # timed with another kernel between two launches
    beaten: tuple[Kernel, ...] = ()  # that were measured, too, and none of which was faster than these
    cuts: tuple[Cut | None, ...] = ()  # how the host function cut tiles then, where it did not ask the model
    gpu: Gpu = cost.MEASURED

    @property
    def weights(self) -> list[float]:
        best = min(self.us)
        return [1 / (1 + ((us / best - 1) / NEAR) ** 2) for us in self.us]


def read(path: Path, *, plain: bool = False) -> list[Group]:
    """The groups of a file, with `plain` also their kernels without tasks, to which no rates but their own are fitted.

    Raises ValueError for a file that was measured on a device of which no rates are known.
    """
    data = json.loads(path.read_text())
    if data["device"] not in DEVICES:
        raise ValueError(f"{path}: measured on {data['device']}, and not on one of {', '.join(DEVICES)}")
    spaces = {name: tuple(_kernel(row)[0] for row in rows) for name, rows in data.get("spaces", {}).items()}
    gpu = DEVICES[data["device"]]
    groups = [entry for entry in data["groups"] if entry["kernels"]]
    return [_group(entry, spaces.get(entry.get("space"), ()), gpu, plain) for entry in groups]


def _group(entry: Mapping[str, Any], space: tuple[Kernel, ...], gpu: Gpu, plain: bool) -> Group:
    types, shape = Types(**entry["types"]), tuple(entry["shape"])
    rows = [row for row in entry["kernels"] if plain or row.get("specialized", True)]
    rows = [row for row in rows if entry.get("fits") or _fits(_kernel(row)[0], shape, gpu)]
    made = [_kernel(row) for row in rows]
    pitches = tuple(entry.get("pitches") or contiguous(types, *shape))
    kernels, us = tuple(k for k, _ in made), tuple(us for _, us in made)
    beaten = tuple(k for k in space if k not in kernels)
    known = any("cut" in row for row in rows)
    cuts = tuple(Cut(*row["cut"]) if "cut" in row else None for row in rows) if known else ()
    return Group(entry["from"], types, shape, pitches, kernels, us, bool(entry.get("chain")), beaten, cuts, gpu)  # type: ignore[arg-type]


def _fits(kernel: Kernel, shape: tuple[int, ...], gpu: Gpu) -> bool:
    """Whether a launch that has as many clusters as SMs have room for has all of them at once."""
    ctas = math.prod(kernel.cluster)
    rows, columns = kernel.tile[1::-1] if kernel.swap else kernel.tile[:2]
    along_m, along_n = (
        -(-extent // (tile * n)) for extent, tile, n in zip(shape[:2], (rows, columns), kernel.cluster[:2], strict=True)
    )
    return ctas <= 2 or along_m * along_n * kernel.split <= gpu.sms * 15 // 16 // ctas


def _kernel(row: Mapping[str, Any]) -> tuple[Kernel, float]:
    fields = {key: value for key, value in row.items() if key in Kernel._fields}
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    return Kernel(**given), float(row.get("us", 0))


def errors(group: Group, rates: Rates) -> list[float]:
    """Logarithms of estimated over measured time of each kernel, all at the clock that a run of all of them has."""
    rows = [row_cost(pitch, rates) for pitch in group.pitches]
    cuts = group.cuts or (None,) * len(group.kernels)
    found = [
        Clocks(kernel, group.types, group.gpu, rates, *map(widest, group.pitches))(*group.shape, *rows, cut)
        for kernel, cut in zip(group.kernels, cuts, strict=True)
    ]
    busy = statistics.fmean(busy / total for total, busy in found)
    mhz = rates.ghz * 1e3 * (1 - rates.throttle * busy)
    return [math.log((total / mhz + rates.launch) / us) for (total, _), us in zip(found, group.us, strict=True)]


def loss(values: Mapping[str, float], groups: Sequence[Group], shares: Mapping[tuple[Any, ...], float]) -> float:
    rates = Rates(**ASSUMED, **values)
    total = sum(PRIOR * math.log(v / FITTED[name][0]) ** 2 for name, v in values.items())
    chains = any(group.chain for group in groups)  # then how long a launch takes is said by them alone
    for group in groups:
        found, weights = errors(group, rates), group.weights
        middle = sum(w * e for w, e in zip(weights, found, strict=True)) / sum(weights)
        absolute = ABSOLUTE if group.chain == chains else 0.0
        off = sum(w * min(abs(e - middle), MOST) ** 2 for w, e in zip(weights, found, strict=True))
        total += shares[group.types, group.shape] * (off + absolute * sum(weights) * middle**2)
        if len(found) >= MANY:
            total += PICKED * shares[group.types, group.shape] * _lost(found, group)
        total += BEATEN * sum(max(0.0, e) ** 2 for e in _overrated(group, rates))
    return total


def _lost(found: Sequence[float], group: Group) -> float:
    """How much longer what is picked takes than the fastest, as a logarithm, where close estimates share the pick."""
    estimates = [error + math.log(us) for error, us in zip(found, group.us, strict=True)]
    least = min(estimates)
    odds = [math.exp((least - x) / CLOSE) for x in estimates]
    best = math.log(min(group.us))
    return sum(p * (math.log(us) - best) for p, us in zip(odds, group.us, strict=True)) / sum(odds)


def _overrated(group: Group, rates: Rates) -> list[float]:
    """By how much the estimate of each kernel that was beaten is below that of the fastest, as logarithms."""
    if not group.beaten:
        return []
    fastest = _alone(group.kernels[group.us.index(min(group.us))], group, rates)
    return [min(math.log(fastest / _alone(k, group, rates)), MOST) for k in group.beaten]


def fit(
    groups: Sequence[Group], begin: Mapping[str, float], restarts: int = 6, only: Sequence[str] = ()
) -> dict[str, float]:
    """The values of the least loss, by going up and down along each in turn, by steps that grow and shrink.

    `only`: of which values; all by default.
    """
    counts: dict[tuple[Any, ...], int] = defaultdict(int)
    for group in groups:
        counts[group.types, group.shape] += 1
    shares = {key: min(count, REPEATS) / count for key, count in counts.items()}
    values = dict(begin)
    least = loss(values, groups, shares)
    for _ in range(restarts):
        before, steps = least, dict.fromkeys(only or begin, STEP)
        while max(steps.values()) > STEP / 10:
            for name in steps:
                for step in (steps[name], -steps[name]):
                    tried = values[name] * math.exp(step)
                    if not FITTED[name][1] <= tried <= FITTED[name][2]:
                        continue
                    found = loss({**values, name: tried}, groups, shares)
                    if found < least - ENOUGH:
                        least, values[name], steps[name] = found, tried, steps[name] * 1.3
                        break
                else:
                    steps[name] *= 0.5
        if before - least < 10 * ENOUGH:
            break
    return values


@dataclass(frozen=True)
class Error:
    """How far off the model is on some groups."""

    losses: list[float]  # time of the picked kernel over that of the fastest, a group each
    overrated: list[float]  # by how much a kernel that was beaten is estimated to be faster than the fastest, at most
    inside: list[float]  # logarithms of estimate over time, off the group's mean
    outside: list[float]  # that mean

    @classmethod
    def of(cls, groups: Iterable[Group], rates: Rates) -> Error:
        losses, overrated, inside, outside = [], [], [], []
        for group in groups:
            found = errors(group, rates)
            middle = statistics.fmean(found)
            outside.append(middle)
            inside += [e - middle for e in found]
            if group.beaten:
                overrated.append(max(0.0, *_overrated(group, rates)))
            if len(found) > 1:
                alone = [_alone(k, group, rates) for k in group.kernels]
                losses.append(group.us[alone.index(min(alone))] / min(group.us))
        return cls(losses, overrated, inside, outside)

    def __add__(self, other: Error) -> Error:
        ours, theirs = vars(self), vars(other)
        return Error(**{name: ours[name] + theirs[name] for name in ours})

    def summary(self) -> dict[str, float]:
        return {
            "groups": len(self.outside),
            "loss_mean": round(math.exp(statistics.fmean(map(math.log, self.losses))), 4),
            "loss_worst": round(max(self.losses), 3),
            "overrated_worst": round(max(self.overrated, default=0.0), 3),
            "within_group": round(math.sqrt(statistics.fmean(e * e for e in self.inside)), 3),
            "absolute": round(math.sqrt(statistics.fmean(e * e for e in self.outside)), 3),
        }


def _alone(kernel: Kernel, group: Group, rates: Rates) -> float:
    rows = [row_cost(pitch, rates) for pitch in group.pitches]
    return estimate(kernel, group.types, group.gpu, rates, *map(widest, group.pitches))(*group.shape, *rows)


def held_out(
    groups: Sequence[Group], begin: Mapping[str, float], only: Sequence[str] = ()
) -> dict[tuple[int, ...], Error]:
    """The error on each shape, of rates (`only` some) that were fitted without it, and every FOLDS-th other one."""
    shapes, found = sorted({group.shape for group in groups}), {}
    for fold in range(min(FOLDS, len(shapes))):
        left_out = set(shapes[fold::FOLDS])
        rates = Rates(**ASSUMED, **fit([g for g in groups if g.shape not in left_out], begin, 1, only))
        found |= {shape: Error.of((g for g in groups if g.shape == shape), rates) for shape in left_out}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--no-cross", action="store_true", help="skip what leaves each shape out")
    parser.add_argument("--begin", action="store_true", help="search from the rates that are there")
    parser.add_argument("--only", default="", help="of these, search for the rates that are named, with commas between")
    arguments = parser.parse_args()
    groups = [group for path in arguments.files for group in read(path)]
    only = tuple(filter(None, arguments.only.split(",")))
    begin = {name: first for name, (first, _, _) in FITTED.items()}
    if arguments.begin or only:
        begin = {name: getattr(cost.RATES, name) for name in FITTED}
    values = fit(groups, begin, only=only)
    rates = Rates(**ASSUMED, **values)
    for name, value in values.items():
        edge = " (at its bound)" if min(abs(math.log(value / b)) for b in FITTED[name][1:]) < 0.01 else ""
        print(f"{name:14} {value:12.4g}{edge}")
    seen = Error.of(groups, rates).summary()
    print(f"{len(groups)} groups, {sum(len(g.us) for g in groups)} times, {len({g.shape for g in groups})} shapes")
    print(f"fitted   {seen}")
    record: dict[str, Any] = {"fitted_to": [path.name for path in arguments.files], "error": seen}
    if not arguments.no_cross:
        left_out = held_out(groups, values, only)
        for shape, error in left_out.items():
            print(f"left out {'x'.join(map(str, shape)):18} {error.summary() if error.losses else ''}")
        record["error_on_shapes_left_out"] = sum(left_out.values(), Error([], [], [], [])).summary()
        print(f"left out {record['error_on_shapes_left_out']}")
    if arguments.write:
        record |= {"gpu": cost.MEASURED._asdict(), "fitted": {n: float(f"{v:.4g}") for n, v in values.items()}}
        cost.RATES_FILE.write_text(json.dumps({**record, "assumed": ASSUMED}, indent=1) + "\n")


if __name__ == "__main__":
    main()
