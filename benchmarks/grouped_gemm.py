"""Grouped GEMM on the GPU at hand, beside torch and a loop of torch.mm, in sections; by default all but dynamic.

    python benchmarks/grouped_gemm.py [SECTION,...] [--seconds 420] [--json FILE]

Sections: picked, forward, weights, fp8, block, swiglu, dynamic, decode, host, numbers.

Sizes of groups are alike (uniform), or drawn so that one has half of all rows and one none, at any row (skewed). All
candidates are built first and compiled by child processes, as many at a time as there are cores; then this process
times one problem after another, all candidates of a problem in turns, on cold inputs. Every candidate's numbers are
held against float64 before it is timed. What is not timed after `--seconds` is left out; figures are written after each
problem. `ratio` is the speed over torch's own kernel of the same run; a problem's best candidate counts.

picked: the shipped packages, each with its own pick, on the problems of forward, weights, fp8 and decode.
block: fp8 with scales of 1 x 128 and 128 x 128, beside nothing of torch's; fp8_2 of section fp8 has sums as exact.
swiglu: the first layer of experts, beside torch's grouped product and the activation.
dynamic: tiles in every so many-th turn, and drawn from a counter, on skewed sizes; rows that share A's tiles for longer
(schedule.group_m) keep B's columns in L2 for shorter.
decode: the bytes of the weights that are touched over time, beside a copy's read and write rate.
host: microseconds of a warm eager call, and whether a call waits for the GPU.
numbers: 20 repeats with the same bits, C's bytes that no group has, a captured graph replayed with other sizes (of
tiles that are drawn: with the counter that the replay before has left), and torch's own operators on scaled operands.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

Shape = tuple[int, int, int, int]
SHAPES: tuple[Shape, ...] = (
    (8, 2048, 4096, 4096),
    (32, 512, 4096, 4096),
    (64, 256, 2048, 7168),
    (8, 4096, 7168, 4096),
    (256, 64, 2048, 7168),
    (16, 2048, 768, 2048),
)
FP8_SHAPES = SHAPES[:3]
SHIPPED = {  # by section, the package that a user of its problems calls
    "forward": "hopper_grouped_gemm",
    "weights": "hopper_grouped_gemm_weights_split",
    "fp8": "hopper_grouped_gemm_fp8",
    "decode": "hopper_grouped_gemm_given",
}
ROOT = Path(__file__).resolve().parents[1]
# First configs, whose numbers are held against float64, and of which graphs are captured.
NUMBERED = (
    "forward_0",
    "forward_1",
    "weights_0",
    "weights_3",
    "fp8_0",
    "block_0",
    "block_1",
    "swiglu_0",
    "dynamic_1",
    "dynamic_3",
    "dynamic_4",
)
CAPTURED = ("forward_0", "dynamic_1", "dynamic_3")
KINDS = ((2, 70, 264, 40), (2, 70, 700, 96), (1, 1, 1, 8))  # of shapes, each of which is a kernel to compile
DECODE = ((64, 8), (64, 64), (256, 64))  # experts, tokens; N 2048, K 7168
MOST = 64  # rows of a masked matrix
HINTS = {"cache": {"c": "evict_first"}, "rings": {"ab": {"empty": "warp"}}}
TURNS = {"tasks": {"mma": {"split": "pingpong"}}}
SPECS: dict[str, dict[str, Any]] = {
    "forward": {"problem": {"b": {"layout": "col"}}, **HINTS},
    "weights": {"problem": {"vary": "k", "a": {"layout": "col"}}, **HINTS},
    "fp8": {
        **HINTS,
        "problem": {"a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}},
        "epilogue": {"ops": ["scale_rowwise"]},
    },
    "block": {
        **HINTS,
        "problem": {"a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}, "scaling": "block"},
    },
    "swiglu": {"problem": {"b": {"layout": "col"}}, "epilogue": {"ops": ["swiglu"]}, **HINTS},
    "dynamic": {"problem": {"b": {"layout": "col"}}, **HINTS},
    "decode": {"problem": {"b": {"layout": "col"}, "given": "masked_m"}, **HINTS},
}
DRAWN = {"schedule": {"kind": "dynamic"}}
CUT = {"schedule": {"kind": "dynamic", "tail": "split", "fix_up": "last"}}
EXCHANGED = {"tasks": {"mma": {"replicate": 1, "exchange": True}}, "epilogue": {"subtiles": 1}}
AXES: dict[str, tuple[dict[str, Any], ...]] = {  # one spec each
    "forward": (
        {"tile": {"n": 128}, "rings.ab.stages": [4, 6], "schedule.group_m": [8, 16], **TURNS},
        {"tile": {"n": 256}, "rings.ab.stages": [4], "schedule.group_m": [4, 8, 16]},
        {"tile": {"n": 256}, "rings.ab.stages": [4], "cluster": {"m": 2}},
        {"tile": {"m": 64, "n": 256}, "rings.ab.stages": [4], **TURNS},
        {"tile": {"m": 256, "n": 128}, "rings.ab.stages": [4]},
    ),
    "weights": (
        {"tile": {"n": 256}, "rings.ab.stages": [4], "schedule.group_m": [4, 8]},
        {"tile": {"n": 128}, "rings.ab.stages": [6], "schedule.group_m": [8]},
        {"tile": {"m": 256, "n": 128}, "rings.ab.stages": [4], "schedule.group_m": [8]},
        {"tile": {"n": 128}, "rings.ab.stages": [5], **CUT},
        {"tile": {"n": 256}, "rings.ab.stages": [4], **CUT},
    ),
    "fp8": (
        {"tile": {"n": 128, "k": 128}, "rings.ab.stages": [4, 6], **TURNS},
        {"tile": {"n": 256, "k": 128}, "rings.ab.stages": [4]},
        {"tile": {"n": 128, "k": 128}, "rings.ab.stages": [6], "tasks": {"mma": {"promote": True}}},
    ),
    "block": (
        {"tile": {"m": 128}, "rings.ab.stages": [4, 6]},
        {"tile": {"m": 64}, "rings.ab.stages": [4, 6], **TURNS},
    ),
    "swiglu": (
        {"tile": {"n": 128}, "rings.ab.stages": [4, 6], **TURNS},
        {"tile": {"n": 256}, "rings.ab.stages": [4], "schedule.group_m": [8, 16]},
    ),
    "dynamic": (
        {"tile": {"n": 128}, "rings.ab.stages": [5], "schedule.group_m": [8, 64], **TURNS},
        {"tile": {"n": 128}, "rings.ab.stages": [5], "schedule.group_m": [8, 64], **TURNS, **DRAWN},
        {"tile": {"n": 256}, "rings.ab.stages": [4], "schedule.group_m": [8, 64]},
        {"tile": {"n": 256}, "rings.ab.stages": [4], "schedule.group_m": [8, 64], **DRAWN},
        {"tile": {"n": 256}, "problem": {"vary": "k", "a": {"layout": "col"}, "b": {"layout": "row"}}, **DRAWN},
    ),
    "decode": (
        {"tile": {"m": 64, "n": 128}, "rings.ab.stages": [6, 8], "tasks": {"mma": {"replicate": 1}}},
        {"tile": {"m": 64, "n": 64, "k": 128}, "rings.ab.stages": [6, 8], "tasks": {"mma": {"replicate": 1}}},
        {"tile": {"m": 32, "n": 128, "k": 128}, "rings.ab.stages": [4, 5], **EXCHANGED},
        {"tile": {"m": 32, "n": 64, "k": 128}, "rings.ab.stages": [6, 8], **EXCHANGED},
    ),
}


def merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    found = dict(one)
    for key, value in other.items():
        found[key] = merged(found[key], value) if isinstance(value, dict) and key in found else value
    return found


def specs(section: str, folder: Path) -> Iterator[Path]:
    """Spec files of a section's candidates."""
    for i, axes in enumerate(AXES[section]):
        fixed = {key: value for key, value in axes.items() if "." not in key}
        base = {"kernel": "grouped_gemm", "name": f"{section}_{i}", "arch": "sm90"}
        spec = merged(merged(base, SPECS[section]), fixed)
        spec["variants"] = {"axes": {key: value for key, value in axes.items() if "." in key} or {"tile.k": [64]}}
        path = folder / f"{section}_{i}.yaml"
        path.write_text(json.dumps(spec))  # which is YAML
        yield path


class Candidate:
    """One config of one module."""

    def __init__(self, spec: Path, made: Path, config: int) -> None:
        self.spec, self.made, self.config = spec, made, config

    @property
    def name(self) -> str:
        return f"{self.spec.stem}:{self.config}"

    def load(self) -> tuple[Any, Any, Any]:
        """Module, spec of the variant and config."""
        from tlxgen.families import kernels_of
        from tlxgen.loading import load_file

        structure = kernels_of(self.spec).structures[0]
        module = load_file(self.made / self.spec.stem / f"{structure.name}.py")
        return module, structure.variants[self.config].spec, module.CONFIGS[self.config]


class Shipped(Candidate):
    """A package of generated/, whose function picks the structure and the config."""

    def __init__(self, name: str, structure: str = "") -> None:
        super().__init__(ROOT / "specs" / f"{name}.yaml", ROOT / "generated", -1)
        self.structure = structure

    @property
    def name(self) -> str:
        return f"{self.spec.stem}, its own pick"

    def load(self) -> tuple[Any, Any, Any]:
        """The functions that a call needs, the spec of the first variant, and no config."""
        from tlxgen.families import kernels_of
        from tlxgen.loading import load_file

        structures = kernels_of(self.spec).structures
        structure = next(s for s in structures if s.name.endswith(self.structure))
        spec = structure.variants[0].spec
        assert spec is not None
        if str(ROOT / "generated") not in sys.path:
            sys.path.insert(0, str(ROOT / "generated"))
        outputs = load_file(self.made / self.spec.stem / f"{structure.name}.py").outputs
        name = f"{spec.name}_{self.structure}" if self.structure else spec.name
        function = getattr(importlib.import_module(self.spec.stem), name)
        return SimpleNamespace(**{spec.name: function, "outputs": outputs}), spec, None


def built(sections: list[str], work: Path) -> dict[str, list[Candidate]]:
    """The candidates of each section that fit."""
    from tlxgen.build import build
    from tlxgen.families import kernels_of

    found: dict[str, list[Candidate]] = {}
    for section in sections:
        found[section] = []
        for spec in specs(section, work):
            build(spec, out=work / "made")
            structures = kernels_of(spec).structures
            assert len(structures) == 1, f"{spec.stem}: {len(structures)} structures"
            found[section] += [Candidate(spec, work / "made", i) for i in range(len(structures[0].variants))]
    return found


def compiled(candidates: list[Candidate], work: Path, seconds: float) -> None:
    """Has child processes launch each candidate once, on a small problem, so that Triton's cache has it."""

    def one(candidate: Candidate) -> None:
        command = [sys.executable, __file__, "--work", str(work), "--launch", candidate.name]
        try:
            subprocess.run(command, timeout=seconds, capture_output=True, check=True)
        except subprocess.SubprocessError as error:
            text = getattr(error, "stderr", b"") or b""
            print(f"{candidate.name}: {error}\n{text.decode(errors='replace')[-800:]}", flush=True)

    with ThreadPoolExecutor(min(12, os.cpu_count() or 2)) as pool:
        list(pool.map(one, candidates))


def launched(name: str, work: Path) -> None:
    """What such a child does."""
    import torch

    from tlxgen.families.grouped_gemm import benchmark, problem

    stem, _, config = name.partition(":")
    candidate = Candidate(work / f"{stem}.yaml", work / "made", int(config))
    module, spec, chosen = candidate.load()
    for shape in ((2, 128, 512, 512), *(KINDS if stem in NUMBERED and chosen is module.CONFIGS[0] else ())):
        tensors = problem.inputs(spec, shape, torch.device("cuda", 0))
        benchmark.call(module, spec, shape, tensors, chosen)()
        torch.cuda.synchronize()


# --- problems ---------------------------------------------------------------------------------------------------------


def sizes(shape: Shape, vary: str, skewed: bool) -> Any:
    import torch

    from tlxgen.families.grouped_gemm import problem

    g, mean = shape[0], dict(zip("mnk", shape[1:], strict=True))[vary]
    return problem.sizes(g, g * mean) if skewed else torch.full((g,), mean)


def timed(section: str, shape: Shape, skewed: bool, candidates: list[Candidate], turns: int) -> list[dict[str, Any]]:
    """All candidates and baselines of one problem, in turns."""
    import torch

    from tlxgen.bench.comparison import Case, Problem, time_problem
    from tlxgen.bench.gpu import Gpu
    from tlxgen.check import numerics
    from tlxgen.families.grouped_gemm import GroupedGemm, benchmark, problem

    device, loaded = Gpu(), [(c, *c.load()) for c in candidates]
    first, family, g = loaded[0][2], GroupedGemm(), shape[0]
    extents = dict(zip("mnk", shape[1:], strict=True))
    torch.manual_seed(0)
    mine = sizes(shape, first.problem.vary, skewed)

    def inputs() -> Any:
        return problem.filled(first, g, extents, mine, device.device)

    def wrong(tensors: Any, out: Any) -> str:
        expected = problem.reference(first, tensors)
        for name, made in benchmark.results(first, tensors, out).items():
            verdict = numerics.compare(made, *expected[name], 2 * problem.tolerance(first, name))
            if not verdict.passed:
                return f"{name}: {verdict.text}"
        return ""

    flops = 2.0 * math.prod(shape[1:]) / extents[first.problem.vary] * float(mine.sum())
    of = Problem(shape, flops, family.bytes_moved(first, shape), inputs, wrong)
    cases = [Case(name, make, baseline=True) for name, make in baselines(section, first).items()]
    for candidate, module, spec, config in loaded:
        cases.append(Case(candidate.name, caller(benchmark.call, module, spec, shape, config)))
    rows = [row.to_json() for row in time_problem(of, cases, device, turns=turns)]
    return [row | {"section": section, "sizes": "skewed" if skewed else "uniform"} for row in rows]


def caller(call: Any, module: Any, spec: Any, shape: Shape, config: Any) -> Callable[[Any], Any]:
    return lambda tensors: call(module, spec, shape, tensors, config)


def baselines(section: str, spec: Any) -> dict[str, Callable[[Any], Any]]:
    """torch's own kernel first, then a loop."""
    import torch

    from tlxgen.families.grouped_gemm import benchmark

    if section == "swiglu":
        return {"torch._grouped_mm, silu * up": gated}
    if section != "fp8":
        return dict(benchmark.baselines(spec))

    def scaled(fast: bool) -> Callable[[Any], Any]:
        def make(t: Any) -> Any:
            arguments = (t["a"], t["b"], t["scale_a"], t["scale_b"], t["offs"])
            return lambda: torch._scaled_grouped_mm(*arguments, out_dtype=torch.bfloat16, use_fast_accum=fast)

        return make

    return {"torch._scaled_grouped_mm": scaled(True), "torch._scaled_grouped_mm exact": scaled(False)}


def gated(t: Any) -> Callable[[], Any]:
    import torch

    def run() -> Any:
        wide = torch._grouped_mm(t["a"], t["b"], offs=t["offs"])
        return torch.nn.functional.silu(wide[:, ::2]) * wide[:, 1::2]

    return run


def decode(experts: int, tokens: int, candidates: list[Candidate], turns: int) -> list[dict[str, Any]]:
    """Few tokens over many experts: the bytes of the weights that are touched over time, over those of a copy."""
    import torch

    from tlxgen.bench.gpu import Gpu
    from tlxgen.bench.timing import interleave
    from tlxgen.families.grouped_gemm import benchmark, problem

    device, loaded = Gpu(), [(c, *c.load()) for c in candidates]
    torch.manual_seed(0)
    mine = torch.bincount(torch.randint(experts, (tokens,)), minlength=experts).clamp(max=MOST)
    touched = int((mine > 0).sum()) * 2048 * 7168 * 2
    extents = {"m": MOST // 2, "n": 2048, "k": 7168}
    tensors = problem.filled(loaded[0][2], experts, extents, mine, device.device)
    source = torch.empty(512 << 20, dtype=torch.uint8, device=device.device)
    target = torch.empty_like(source)
    runs: dict[str, Any] = {"copy": lambda: target.copy_(source)}
    for candidate, module, spec, config in loaded:
        runs[candidate.name] = benchmark.call(module, spec, (experts, MOST // 2, 2048, 7168), tensors, config)
    timers = {name: device.timer([run], max(device.roughly(run), 50.0)) for name, run in runs.items()}
    figures = interleave(timers, turns=turns)
    rate = 2 * source.numel() / figures["copy"].us / 1e3  # GB/s, read and written
    rows = []
    for name, figure in figures.items():
        gbps = rate if name == "copy" else touched / figure.us / 1e3
        about = {"section": "decode", "shape": [experts, tokens, 2048, 7168], "touched_mb": touched / 1e6}
        rows.append(
            about | {"name": name, "us": figure.us, "gbps": gbps, "of_copy": gbps / rate, "noisy": figure.noisy}
        )
    return rows


# --- host and numbers -------------------------------------------------------------------------------------------------


def host(candidates: list[Candidate]) -> list[dict[str, Any]]:
    """Microseconds of a warm eager call that allocates its result, ours and torch's; a call that waits raises."""
    import torch

    from tlxgen.bench.gpu import Gpu
    from tlxgen.families.grouped_gemm import problem

    device = Gpu()
    module, spec, config = candidates[0].load()
    function = getattr(module, spec.name)
    t = problem.inputs(spec, (8, 64, 512, 512), device.device)
    function(**t, config=config)
    runs = {
        "ours": lambda: function(t["a"], t["b"], t["offs"]),
        "torch._grouped_mm": lambda: torch._grouped_mm(t["a"], t["b"], offs=t["offs"]),
    }
    rows: list[dict[str, Any]] = [
        {"section": "host", "name": name, "us": statistics.median(device.host_us(run) for _ in range(5))}
        for name, run in runs.items()
    ]
    torch.cuda.set_sync_debug_mode("error")
    try:
        waits = ""
        function(t["a"], t["b"], t["offs"])
    except RuntimeError as error:
        waits = str(error)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return [*rows, {"section": "host", "name": "waits for the GPU", "error": waits}]


def numbers(candidates: list[Candidate]) -> list[dict[str, Any]]:
    """Each first config on ragged problems, 20 repeats; and one graph on other sizes than it was captured with."""

    from tlxgen.check import on_gpu
    from tlxgen.families.grouped_gemm import problem

    rows = []
    for candidate in candidates:
        module, spec, config = candidate.load()
        for shape in problem.SHAPES:
            try:
                found = on_gpu.run(problem, module, spec, shape, config, 20, 0)
            except Exception as error:
                found = {"passed": False, "text": f"{type(error).__name__}: {error}"[:300]}
            rows.append({"section": "numbers", "name": candidate.name, "shape": shape, **found})
    for candidate in candidates:
        rows += replayed(candidate) if candidate.spec.stem in CAPTURED else []
        rows += operators(candidate) if candidate.spec.stem == "fp8_0" else []
    return rows


def operators(candidate: Candidate) -> list[dict[str, Any]]:
    """Scaled operands by the operator with torch's arguments, and by torch's own."""
    import torch

    from tlxgen.families.grouped_gemm import problem

    module, spec, _ = candidate.load()
    t = problem.inputs(spec, (4, 130, 528, 512), torch.device("cuda", 0))
    end, recipe = int(t["offs"][-1]), torch.nn.functional.ScalingType.RowWise
    host = getattr(module, spec.name)
    given = (t["a"], t["b"], t["scale_a"], t["scale_b"])
    runs = {
        "torch._scaled_grouped_mm": lambda of: of(*given, t["offs"], use_fast_accum=True),
        "scaled_grouped_mm": lambda of: of(
            t["a"], t["b"], given[2], recipe, given[3], recipe, offs=t["offs"], use_fast_accum=True
        ),
    }
    own = {"torch._scaled_grouped_mm": module.aten_scaled_grouped_mm, "scaled_grouped_mm": module.scaled_grouped_mm}
    theirs = {
        "torch._scaled_grouped_mm": torch._scaled_grouped_mm,
        "scaled_grouped_mm": torch.nn.functional.scaled_grouped_mm,
    }
    found = []
    for name, run in runs.items():
        made, wanted = (run(of)[:end].double() for of in (own[name](host), theirs[name]))
        error = float((made - wanted).norm() / wanted.norm())
        found.append({"section": "numbers", "name": name, "passed": error < 1e-2, "error": error})
    return found


def replayed(candidate: Candidate) -> list[dict[str, Any]]:
    """One graph on other sizes than it was captured with."""
    import torch

    from tlxgen.families.grouped_gemm import problem

    rows = []
    module, spec, config = candidate.load()
    device, function = torch.device("cuda", 0), getattr(module, spec.name)
    some = problem.inputs(spec, (6, 100, 512, 512), device)
    offs, out = some["offs"].clone(), torch.empty(some["a"].shape[0], 512, dtype=torch.bfloat16, device=device)
    function(some["a"], some["b"], offs, out=out, config=config)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function(some["a"], some["b"], offs, out=out, config=config)
    for seed in range(5):
        torch.manual_seed(seed)
        other = some | {"offs": problem.sizes(6, 500 + seed).cumsum(0).to(device=device, dtype=torch.int32)}
        offs.copy_(other["offs"])
        out.fill_(float("nan"))
        graph.replay()
        expected = problem.reference(spec, other)
        errors = [
            float((c.double() - expected[name][0]).norm()) / expected[name][1]
            for name, c in problem.of_groups(spec, other, out).items()
        ]
        beyond = int((~torch.isnan(out[int(other["offs"][-1]) :])).sum())
        passed = max(errors) < problem.tolerance(spec, "c") and not beyond
        about = {"section": "numbers", "name": f"{candidate.name}: graph replayed, sizes {seed}"}
        rows.append(about | {"passed": passed, "error": max(errors)})
    return rows


# --- what is printed --------------------------------------------------------------------------------------------------


def shown(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        shape = "x".join(map(str, row.get("shape", ())))
        about = f"{row['section']:8} {shape:20} {row.get('sizes', ''):8} {row['name']:34}"
        if row.get("latency"):
            speed = f"{row['latency'] * 1e3:9.1f} us {row['tflops']:6.0f} TFLOP/s  ratio {row['speedup'] or 0:.3f}"
            print(f"{about} {speed}  host {row['host_us']:.1f}{'  noisy' if row['noisy'] else ''}")
        else:
            rest = {k: v for k, v in row.items() if k not in ("section", "shape", "name", "sizes")}
            print(about, {k: v for k, v in rest.items() if v not in (None, "")})
    sys.stdout.flush()


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Per section and kind of sizes: each problem's best ratio to torch, and their geometric mean."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        if row.get("speedup") and not row["name"].startswith(("torch", "loop")):
            best = found.setdefault((row["section"], row["sizes"]), {})
            shape = "x".join(map(str, row["shape"]))
            best[shape] = max(best.get(shape, 0.0), row["speedup"])
    return [
        {"section": section, "sizes": kind, "ratios": best, "geometric_mean": statistics.geometric_mean(best.values())}
        for (section, kind), best in found.items()
    ]


def tasks(found: dict[str, list[Candidate]], turns: int) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """What is measured, the first first."""
    numbered = [c for of in found.values() for c in of if c.config == 0 and c.spec.stem in NUMBERED]
    if "numbers" in found and numbered:
        yield lambda: numbers(numbered)
    if "host" in found and "forward" in found:
        yield lambda: host(found["forward"])
    for skewed in (False, True):
        for section, shapes in (
            ("forward", SHAPES),
            ("weights", SHAPES),
            ("fp8", FP8_SHAPES),
            ("block", FP8_SHAPES),
            ("swiglu", SHAPES),
        ):
            for shape in shapes if section in found else ():
                yield lambda a=(section, shape, skewed, found[section], turns): timed(*a)  # type: ignore[misc]
        for section, shapes in (("forward", SHAPES), ("weights", SHAPES), ("fp8", FP8_SHAPES)):
            for shape in shapes if "picked" in found else ():
                one: list[Candidate] = [Shipped(SHIPPED[section])]
                yield lambda a=(section, shape, skewed, one, turns): timed(*a)  # type: ignore[misc]
    for experts, tokens in DECODE if "picked" in found else ():
        one = [Shipped(SHIPPED["decode"], "masked_m")]
        yield lambda a=(experts, tokens, one, turns): decode(*a)  # type: ignore[misc]
    rows = [c for c in found.get("dynamic", ()) if c.spec.stem != "dynamic_4"]
    for shape in SHAPES if rows else ():
        yield lambda a=("dynamic", shape, True, rows, turns): timed(*a)  # type: ignore[misc]
        sums = [c for c in found["dynamic"] if c not in rows] + found.get("weights", [])
        yield lambda a=("weights", shape, True, sums, turns): timed(*a)  # type: ignore[misc]
    for experts, tokens in DECODE if "decode" in found else ():
        yield lambda a=(experts, tokens, found["decode"], turns): decode(*a)  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="?", default="numbers,forward,weights,fp8,block,swiglu,decode,host")
    parser.add_argument("--seconds", type=float, default=420.0, help="after which nothing more is begun")
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", type=Path, help="where specs and modules lie, or are to; by default a new folder")
    parser.add_argument("--prepare", action="store_true", help="only build what is to be timed, which needs no GPU")
    parser.add_argument("--launch", help=argparse.SUPPRESS)
    given = parser.parse_args()
    begin, work = time.monotonic(), (given.work or Path(tempfile.mkdtemp(prefix="grouped_gemm_"))).resolve()
    work.mkdir(parents=True, exist_ok=True)
    if given.launch:
        launched(given.launch, work)
        return
    sections = given.sections.split(",")
    found = built([s for s in sections if s in SPECS], work) | {s: [] for s in sections if s not in SPECS}
    print(f"{sum(map(len, found.values()))} candidates built in {time.monotonic() - begin:.0f} s", flush=True)
    if given.prepare:
        return
    compiled([c for of in found.values() for c in of], work, 100.0)
    print(f"compiled after {time.monotonic() - begin:.0f} s", flush=True)
    rows: list[dict[str, Any]] = []
    for task in tasks(found, given.turns):
        if time.monotonic() - begin > given.seconds:
            print("out of time: the rest is left out")
            break
        try:
            made = task()
        except Exception as error:
            made = [{"section": "error", "name": type(error).__name__, "error": str(error)[:500]}]
        shown(made)
        rows += made
        if given.json:
            given.json.write_text(
                json.dumps({"command": " ".join(sys.argv), "summary": summary(rows), "rows": rows}, indent=1)
            )
    for line in summary(rows):
        print(json.dumps(line))
    print(f"done in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
