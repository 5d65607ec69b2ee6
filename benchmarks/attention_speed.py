"""Softmax attention of the shipped packages beside FlashAttention 4, cuDNN and FlashAttention 2, on a Hopper GPU.

    python -m benchmarks.attention_speed --json $OUT/attention_speed.json [--seconds 150] [--only REGEX]
        [--rows "backward B17 H16 N880 D192/128 causal" ...]
        [--random 60 --seed 0 [--mixed]] [--also NAME=FOLDER ...] [--resume OLD.json]
    python -m benchmarks.attention_speed --dry      # no GPU: ours on small problems, on the simulator

Each problem is drawn once for all, and every call of it runs in turns, by CUDA-graph replay in a chain with a small
kernel after each, on inputs that are cold in L2; times are medians, less the chain without. A call that cannot be
captured is queued eagerly (marked `eager`). FLOPs are those of seen pairs; a ratio is the peer's time over ours. `det`
is the deterministic backward, two kernels; `together` and `apart` are the two schedules of heads that share K and V.
`--rows` measures rows of these names in the place of the fixed ones.
Decoding stands beside copies of K and V. `--also` times the packages of
other folders, for candidates side by side. `--random` draws the shapes of `tlxgen bench --random`, half of them causal,
with D 64 and 128, beside torch's kernels; `--mixed` has windows, packed sequences and other head dimensions, too.
Child processes compile first. A record that `--resume` names is not measured again. The short tables come last.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import math
import multiprocessing
import os
import random
import re
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.attention_calls import Problem

B16 = (16, 32, 8, 1000, 1000)
ANCHORS = (
    (4, 32, 32, 4096, 4096, 128, 128, False),
    (4, 32, 32, 8192, 8192, 128, 128, False),
    (2, 32, 32, 16384, 16384, 128, 128, False),
    (4, 32, 32, 4096, 4096, 128, 128, True),
    (2, 32, 32, 16384, 16384, 128, 128, True),
    (4, 32, 32, 4096, 4096, 64, 64, False),
    (4, 32, 32, 4096, 4096, 64, 64, True),
    (*B16, 128, 128, True),
    (32, 16, 16, 512, 512, 128, 128, False),
    (1, 32, 8, 8192, 8192, 128, 128, True),
)
WIDE = (
    (2, 16, 16, 4096, 4096, 256, 256, False),
    (2, 16, 16, 4096, 4096, 256, 256, True),
    (4, 16, 16, 4096, 4096, 192, 128, False),
    (4, 16, 16, 4096, 4096, 192, 128, True),
    (4, 32, 32, 4096, 4096, 96, 96, True),
)
ODD = (  # of a forward: other head dimensions, and lengths that are no multiples of a tile
    (17, 16, 16, 880, 880, 192, 128, True),
    (6, 40, 40, 367, 367, 192, 128, True),
    (11, 8, 4, 5500, 5500, 192, 128, True),
    (17, 16, 16, 880, 880, 192, 128, False),
    (4, 32, 32, 4096, 4096, 96, 96, False),
    (17, 16, 16, 880, 880, 96, 96, True),
    (6, 40, 40, 367, 367, 96, 96, True),
    (17, 16, 16, 880, 880, 96, 96, False),
    (28, 64, 64, 262, 262, 64, 64, True),
)
FEW = (  # tiles of keys, of a backward: heads of Q together or apart
    (1, 40, 5, 154, 154, 128, 128, False),
    (1, 40, 5, 154, 154, 128, 128, True),
    (1, 32, 4, 512, 512, 128, 128, True),
    (2, 64, 8, 256, 256, 64, 64, False),
    (1, 64, 8, 1024, 1024, 64, 64, True),
)
SHORT = ((64, 16, 16, 256, 256, 128, 128, False), (8, 16, 16, 1024, 1024, 128, 128, False))  # of a backward, unmasked
PACKED = (8192, 128, 4096, 1024, 256, 2048, 512, 6144, 384, 3072)
DECODE = (
    (16, 32, 4, 1, 32768),
    (4, 64, 8, 8, 65536),
    (1, 32, 4, 16, 131072),
    (1, 32, 8, 1, 131072),
    (2, 64, 8, 16, 32768),
    (8, 32, 4, 1, 4096),
)
PEERS = ("fa4", "cudnn", "flash")
HEADS = ("together", "apart")
COPIES = ("copy", "copy by kernel")
COMPILED = ("cudnn", "flash", *COPIES)  # ahead of time, by others
LARGE = 512 << 20  # bytes of a problem whose next launch finds nothing of itself in L2
WRONG = 0.02  # of a result's norm: far above what rounding differs by
TURNS, TURNS_DRAWN, WARM = 9, 5, 3
Run = Callable[[], Any]


def problems() -> list[Problem]:
    """The rows whose ratios are asked for."""
    made = [Problem("forward", *row) for row in (*ANCHORS, *WIDE, *ODD)]
    made += [Problem("backward", *row) for row in (*ANCHORS, *SHORT, *FEW, *WIDE)]
    for way, d, causal in (("forward", 128, True), ("forward", 64, True), ("backward", 128, True)):
        longest = max(PACKED)
        made.append(Problem(way, len(PACKED), 16, 16, longest, longest, d, d, causal, PACKED))
    return made + [Problem("decode", *row, causal=True) for row in DECODE]


def random_problems(count: int, seed: int, mixed: bool = False) -> list[Problem]:
    """`count` shapes, each in both ways; of `mixed` ones a fifth has windows, one is packed, one of other widths."""
    from tlxgen.families.attention.drawn import drawn

    rng = random.Random(seed)
    found: list[Problem] = []
    while len(found) < 2 * count:
        shape = drawn(None, rng)
        if shape is None:
            continue
        d = rng.choice((64, 128))
        causal = shape[3] == shape[4] and rng.random() < 0.5
        b, h, kv, n, keys = shape
        one = Problem("forward", b, h, kv, n, keys, d, d, causal)
        one = _varied(one, rng) if mixed else one
        found += [one, dataclasses.replace(one, way="backward")]
    return found


ROW = re.compile(
    r"(?P<way>forward|backward) B(?P<batch>\d+) H(?P<heads>\d+)(?:/(?P<kv_heads>\d+))?"
    r" N(?P<n>\d+)(?:x(?P<keys>\d+))? D(?P<d>\d+)(?:/(?P<dv>\d+))?(?P<causal> causal)?(?: window (?P<window>\d+))?"
)


def problem_of(name: str) -> Problem:
    """The problem of a row's name, but for packed sequences. Raises ValueError for another text."""
    found = ROW.fullmatch(name)
    if not found:
        raise ValueError(f"{name!r}: expected such as 'backward B2 H32/8 N8192 D192/128 causal'")
    text = found.groupdict()
    same = {"kv_heads": "heads", "keys": "n", "dv": "d"}
    sizes = {x: int(text[x] or text[same[x]]) for x in ("batch", "heads", "kv_heads", "n", "keys", "d", "dv")}
    window = None if text["window"] is None else int(text["window"])
    return Problem(text["way"], **sizes, causal=text["causal"] is not None, window=window)


def _varied(one: Problem, rng: random.Random) -> Problem:
    """The problem, or with a window, as packed sequences, or of other head dimensions."""
    what = rng.choice(("same", "same", "window", "packed", "wide"))
    if what == "window":  # ours of D 64 have none in the forward
        return dataclasses.replace(
            one, keys=max(one.n, one.keys), d=128, dv=128, causal=False, window=rng.choice((128, 512, 1024))
        )
    if what == "packed":
        lengths = tuple(rng.randint(max(1, one.n // 8), one.n) for _ in range(one.batch))
        longest = max(lengths)
        return dataclasses.replace(one, n=longest, keys=longest, lengths=lengths, causal=rng.random() < 0.5)
    if what == "wide":
        d, dv = rng.choice(((96, 96), (192, 128), (256, 256)))
        return dataclasses.replace(one, d=d, dv=dv)
    return one


# --- calls ----------------------------------------------------------------------------------------------------


def contenders(problem: Problem, also: dict[str, Path], drawn: bool) -> dict[str, Callable[[Any], Run]]:
    """Who takes part in a row: by name, what makes the call for given inputs."""
    from benchmarks import attention_calls as calls

    made: dict[str, Callable[[Any], Run]] = {"ours": calls.ours}
    made |= {name: _from(calls.ours, folder) for name, folder in also.items()}
    if drawn:
        return made | {"cudnn": calls.cudnn, "flash": calls.flash}
    if problem.way == "backward":
        made["det"] = calls.ours_deterministic
        if problem.heads > problem.kv_heads:
            made |= {heads: functools.partial(calls.ours_heads, heads=heads) for heads in HEADS}
        made |= {f"{name} det": _from(calls.ours_deterministic, folder) for name, folder in also.items()}
    made["fa4"] = calls.fa4
    if problem.way == "decode" or problem.lengths:
        made["flash"] = calls.flash
    else:
        made["cudnn"] = calls.cudnn
    if problem.way == "decode":
        made |= {"copy": calls.copy_by_driver, "copy by kernel": calls.copy_by_kernel}
    return made


def _from(make: Callable[..., Run], folder: Path) -> Callable[[Any], Run]:
    return lambda inputs: make(inputs, folder)


def inputs_of(problem: Problem, device: Any, seed: int = 0) -> Any:
    from benchmarks import attention_calls as calls

    made = calls.drawn(problem, device, seed)
    return calls.with_gradient(made) if problem.way == "backward" else made


# --- compiling ------------------------------------------------------------------------------------------------


def compile_ahead(jobs: Sequence[tuple[Problem, str]], also: dict[str, Path], drawn: bool, end: float) -> None:
    """Has child processes make each call once; what several need alike, one does."""
    alike = {(problem.kind, name): (problem, name, also, drawn) for problem, name in jobs}
    if not alike:
        return
    with multiprocessing.get_context("spawn").Pool(min(14, os.cpu_count() or 2, len(alike))) as pool:
        waiting = [pool.apply_async(_called, job) for job in alike.values()]
        for one in waiting:
            try:
                if text := one.get(max(0.1, end - time.monotonic())):
                    print(text, flush=True)
            except multiprocessing.TimeoutError:
                print("compiling ahead took too long", flush=True)
                break


def _called(problem: Problem, name: str, also: dict[str, Path], drawn: bool) -> str:
    try:
        import torch

        contenders(problem, also, drawn)[name](inputs_of(problem, torch.device("cuda")))()
        torch.cuda.synchronize()
    except LookupError:
        return ""
    except Exception as error:
        return f"{problem.name}, {name}: {' '.join(f'{type(error).__name__}: {error}'.split())[:200]}"
    return ""


# --- timing ---------------------------------------------------------------------------------------------------


class Queued:
    """As `gpu.Replay`, of launches that are queued one by one: for what a graph cannot capture."""

    def __init__(self, runs: Sequence[Run], link: Run, launches: int) -> None:
        self.runs, self.link, self.launches = runs, link, launches
        self.events: list[Any] = []

    def start(self) -> None:
        import torch

        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for i in range(self.launches):
            self.runs[i % len(self.runs)]()
            self.link()
        end.record()
        self.events.append((begin, end))

    def __call__(self) -> float:
        begin, end = self.events.pop(0)
        end.synchronize()
        return float(begin.elapsed_time(end)) * 1e3 / self.launches


def in_turns(timers: dict[str, Any], turns: int = TURNS) -> dict[str, float]:
    """Median microseconds of each. A turn has all of them, in an order of its own, and none waits for the host."""
    order, rng = list(timers), random.Random(0)
    taken: dict[str, list[float]] = {name: [] for name in timers}
    queue = [name for _ in range(WARM + turns) for name in rng.sample(order, len(order))]
    timers[queue[0]].start()
    for place, name in enumerate(queue):
        if place + 1 < len(queue):
            timers[queue[place + 1]].start()
        taken[name].append(timers[name]())
    return {name: statistics.median(times[WARM:]) for name, times in taken.items()}


def timer(gpu: Any, runs: Sequence[Run]) -> tuple[Any, bool]:
    """One of a chain, and whether it is queued eagerly."""
    us = max(5.0, gpu.roughly(runs[0]))
    try:
        return gpu.chain(runs, us), False
    except Exception:
        import torch

        torch.cuda.synchronize()
        return Queued(runs, gpu._link(), gpu.launches(len(runs), us)), True


def measure(gpu: Any, problem: Problem, also: dict[str, Path], drawn: bool) -> dict[str, Any]:
    """A row of the record: microseconds and errors of all who could, and why the others could not."""
    large = problem.way != "decode" and problem.bytes_moved > LARGE
    made = [inputs_of(problem, gpu.device, seed) for seed in range(1 if large else gpu.sets(problem.bytes_moved))]
    timers: dict[str, Any] = {"link": gpu.link()}
    row: dict[str, Any] = {"errors": {}, "missing": {}, "eager": []}
    exact = None
    for name, make in reversed(contenders(problem, also, drawn).items()):  # torch's first: what others are held against
        try:
            runs = [make(inputs) for inputs in made]
            found = runs[0]()
            if found:
                exact = exact or [x.float() for x in found]
                row["errors"][name] = float(f"{error_of(found, exact):.2g}")
            timers[name], eager = timer(gpu, runs)
            row["eager"] += [name] * eager
        except Exception as error:
            row["missing"][name] = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    us = in_turns(timers, TURNS_DRAWN if drawn else TURNS)
    link = us.pop("link")
    row["us"] = {name: round(time_ - link, 2) for name, time_ in us.items() if row["errors"].get(name, 0) < WRONG}
    row["wrong"] = [name for name, error in row["errors"].items() if not error < WRONG]
    row |= {"flops": problem.flops, "bytes": problem.bytes_moved, "drawn": drawn, "way": problem.way}
    return row


def error_of(found: Sequence[Any], exact: Sequence[Any]) -> float:
    """The largest relative error, in the norm, of results in half precision."""
    pairs = [(f, e) for f, e in zip(found, exact, strict=False) if f.shape == e.shape and f.element_size() == 2]
    return max(float((f.float() - e).norm() / (e.norm() + 1e-9)) for f, e in pairs)


# --- tables ---------------------------------------------------------------------------------------------------


def ratios(row: dict[str, Any], of: str = "ours") -> dict[str, float]:
    """How much longer each other takes."""
    us = row["us"]
    return {name: us[name] / us[of] for name in us if name != of and of in us}


def line(name: str, row: dict[str, Any]) -> str:
    us = row["us"]
    if "ours" not in us:
        peers = ", ".join(f"{peer} {row['flops'] / t / 1e6:.0f} TF" for peer, t in us.items())
        return f"{name:46} ours {'wrong' if 'ours' in row['wrong'] else 'missing'}; {peers}"
    if row["way"] == "decode":
        return decode_line(name, row)
    cells = [f"{peer} {ratio:.2f}" for peer, ratio in ratios(row).items()]
    marks = f" wrong: {row['wrong']}" * bool(row["wrong"]) + f" eager: {row['eager']}" * bool(row["eager"])
    return f"{name:46} {us['ours']:9.1f} us {row['flops'] / us['ours'] / 1e6:5.0f} TF  {'  '.join(cells)}{marks}"


def decode_line(name: str, row: dict[str, Any]) -> str:
    """Rates of K and V once, and of a copy twice, in TB/s."""
    us, moved = row["us"], row["bytes"]
    copy = max((2 * moved / us[c] for c in COPIES if c in us), default=math.nan)
    cells = [f"{who} {moved / t / 1e6:.2f} ({moved / t / copy:.2f})" for who, t in us.items() if who not in COPIES]
    return f"{name:46} {moved / 1e6:5.0f} MB  copy {copy / 1e6:.2f} TB/s  {'  '.join(cells)}"


def summary(rows: dict[str, dict[str, Any]]) -> list[str]:
    """Geometric means and least ratios by way and peer; of drawn problems, against the better of torch's kernels."""
    found = []
    fixed = [row for row in rows.values() if not row["drawn"] and row["way"] != "decode"]
    drawn = [row for row in rows.values() if row["drawn"]]
    for way in ("forward", "backward"):
        for peer in PEERS:
            found.append(_spread(f"{way} over {peer}", [ratios(r).get(peer) for r in fixed if r["way"] == way]))
        best = [min((ratios(r)[p] for p in PEERS if p in ratios(r)), default=None) for r in drawn if r["way"] == way]
        found.append(_spread(f"random {way} over the better of torch's", best))
    found.append(_spread("det over ours", [1 / ratios(r)["det"] for r in fixed if "det" in ratios(r)]))
    return [text for text in found if text]


def _spread(what: str, given: Sequence[float | None]) -> str:
    values = sorted(x for x in given if x is not None)
    if not values:
        return ""
    return (
        f"{what:46} {len(values)} rows, geometric mean {statistics.geometric_mean(values):.3f}, least {values[0]:.3f}"
    )


# --- the command ----------------------------------------------------------------------------------------------


def dry() -> None:
    """Ours on small problems on the simulator, against fp32."""
    import torch

    from benchmarks import attention_calls as calls
    from tlxgen.sim import DEVICE, Session, load_module

    calls._package = lambda folders, name: load_module(folders / name / "__init__.py")  # type: ignore[assignment]
    for problem in (Problem("forward", 1, 2, 1, 130, 130, causal=True), Problem("backward", 1, 2, 1, 70, 70)):
        with Session("eager", 0).active():
            inputs = calls.drawn(problem, DEVICE)
            q, k, v = (inputs.tensors[x].float().requires_grad_() for x in "qkv")
            wide_k, wide_v = (x.repeat_interleave(2, dim=1) for x in (k, v))
            scores = q @ wide_k.mT * problem.d**-0.5
            if problem.causal:
                hidden = torch.ones(scores.shape[-2:], device=scores.device).tril() == 0
                scores = scores.masked_fill(hidden, -math.inf)
            out = scores.softmax(-1) @ wide_v
            exact: Sequence[Any] = (out.detach(), scores.logsumexp(-1))
            names = ["ours"]
            if problem.way == "backward":
                dout = torch.randn(out.shape, device=out.device).to(torch.bfloat16)
                exact = torch.autograd.grad(out, (q, k, v), dout.float())
                more = {"out": out.detach().to(torch.bfloat16), "lse": scores.logsumexp(-1).detach(), "dout": dout}
                inputs = calls.Inputs(problem, inputs.tensors | more)
                names.append("det")
            for name in names:
                off = error_of(contenders(problem, {}, False)[name](inputs)(), exact)
                print(f"{problem.name}, {name}: error {off:.1e}")
                assert off < WRONG


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path("attention_speed.json"))
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", nargs="*", default=[], type=problem_of, metavar="NAME")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--also", nargs="*", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--dry", action="store_true")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    if given.dry:
        dry()
        return
    end = time.monotonic() + given.seconds
    also = {name: Path(folder).resolve() for name, _, folder in (text.partition("=") for text in given.also)}
    fixed = [p for p in given.rows or problems() if re.search(given.only, p.name)]
    drawn = [p for p in random_problems(given.random, given.seed, given.mixed) if re.search(given.only, p.name)]
    record = json.loads(given.resume.read_text()) if given.resume else {"rows": {}}
    for random_ones, all_ in ((False, fixed), (True, drawn)):
        todo = [p for p in all_ if p.name not in record["rows"]]
        if not todo or time.monotonic() > end:
            continue
        names = [(p, name) for p in todo for name in contenders(p, also, random_ones)]
        compile_ahead([job for job in names if job[1] not in COMPILED], also, random_ones, end - given.seconds / 6)
        print(f"compiled {given.seconds - end + time.monotonic():.0f} s after the begin", flush=True)
        for problem in todo:
            if time.monotonic() > end:
                print(f"left out, for want of time: {problem.name}")
                continue
            record["rows"][problem.name] = row = measure(gpu(record), problem, also, random_ones)
            gpu(record).release()
            if random_ones:
                print(line(problem.name, row), flush=True)
            given.json.write_text(json.dumps(record, indent=1) + "\n")
        print(f"measured {given.seconds - end + time.monotonic():.0f} s after the begin", flush=True)
    record["seed"] = given.seed
    given.json.write_text(json.dumps(record, indent=1) + "\n")
    report(record)


@functools.cache
def _gpu() -> Any:
    from tlxgen.bench.gpu import Gpu

    return Gpu()


def gpu(record: dict[str, Any]) -> Any:
    """The GPU, taken when the children are done with it; the record says which it is."""
    found = _gpu()
    if "device" not in record:
        record |= {"device": found.name, "versions": found.versions(), "conditions": found.conditions()}
    return found


def report(record: dict[str, Any]) -> None:
    """The tables, and what was missing."""
    rows = record["rows"]
    for name, row in rows.items():
        unexpected = {who: why for who, why in row["missing"].items() if not why.startswith("LookupError")}
        if unexpected:
            print(f"{name}: {unexpected}")
    print(f"\n{record.get('device', 'nothing was measured')}; a ratio is the other's time over ours")
    print("\n".join(line(name, row) for name, row in rows.items() if not row["drawn"]))
    print("\n".join(summary(rows)), flush=True)


if __name__ == "__main__":
    main()
