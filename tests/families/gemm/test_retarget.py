"""One spec text for both architectures: only the value of `arch` differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxgen.build import build
from tlxgen.check import numerics
from tlxgen.compile import compile_all
from tlxgen.families import Kernels, kernels_of
from tlxgen.sim import RUNS, load_module, verify_case
from tlxgen.verbs.compile import Kernel as Compiled
from tlxgen.verbs.compile import job_of, judge
from tlxgen.working import Working

TEXT = """
kernel: gemm
name: either
arch: ARCH
problem: {a: {dtype: bf16}, b: {dtype: bf16, layout: col}, c: {dtype: bf16}}
tile: {m: 128, k: 64}
schedule: {group_m: 4}
cache: {a: evict_first, b: evict_last}
epilogue: {ops: [bias, silu], subtiles: 2}
variants:
  axes:
    schedule.kind: [persistent, grid]
    cluster.m: [1, 2]
    epilogue.store: [tma, direct]
    tile.n: [64, 128]
    rings.ab.stages: [2, 4]
    schedule.split_k: [1, 3]
"""
ONLY_HERE = {"sm90": "tlx.async_dot_wait(", "sm100": "tlx.tcgen05_commit("}
ARCHS = tuple(ONLY_HERE)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path, Kernels]]:
    """For each architecture its spec, the folder of its modules, and what these are."""
    made = {}
    for arch in ARCHS:
        spec = tmp_path_factory.mktemp(arch) / "either.yaml"
        spec.write_text(TEXT.replace("ARCH", arch))
        made[arch] = (spec, build(spec, out=spec.parent / "generated").folder, kernels_of(spec))
    return made


def test_the_same_variants_and_structures_come_of_it(built: dict[str, tuple[Path, Path, Kernels]]) -> None:
    sm90, sm100 = ([(s.name, [v.label for v in s.variants]) for s in built[arch][2].structures] for arch in ARCHS)
    assert sm90 == sm100
    assert (len(sm90), sum(len(labels) for _, labels in sm90)) == (8, 64)
    assert not any(kernels.rejected for _, _, kernels in built.values())


def test_the_host_function_is_the_same_for_callers(built: dict[str, tuple[Path, Path, Kernels]]) -> None:
    for structure in built["sm90"][2].structures:
        sources = [(built[arch][1] / f"{structure.name}.py").read_text() for arch in ARCHS]
        for arch, source in zip(ARCHS, sources, strict=True):
            assert [a for a in ARCHS if ONLY_HERE[a] in source] == [arch]
        signatures = [next(x for x in source.splitlines() if x.startswith("def either(")) for source in sources]
        assert signatures == ["def either(a, b, *, bias, out=None, config=None):"] * 2


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("number", range(8))
def test_each_structure_is_clean_in_the_simulator(
    built: dict[str, tuple[Path, Path, Kernels]], arch: str, number: int
) -> None:
    _, folder, kernels = built[arch]
    structure, problem = kernels.structures[number], kernels.family.problem()
    module = load_module(folder / f"{structure.name}.py", arch)
    for i in (0, len(structure.variants) - 1):  # without parts of K, and with
        case = (problem, module, structure.variants[i].spec, (200, 136, 136), module.CONFIGS[i], numerics.compare)
        report = verify_case(*case, RUNS[:3], arch=arch)
        assert not report.seen, str(report)
    assert {c.kwargs["SPLIT_K"] for c in (module.CONFIGS[0], module.CONFIGS[-1])} == {1, 3}


@pytest.mark.compiles
@pytest.mark.parametrize("arch", ARCHS)
def test_half_of_the_structures_compile_as_planned(built: dict[str, tuple[Path, Path, Kernels]], arch: str) -> None:
    """Of either architecture the other half, which has every pair of values of the three axes that are structures'."""
    spec, folder, kernels = built[arch]
    odd = ARCHS.index(arch)
    half = [s for s in kernels.structures if sum(x in s.name for x in ("grid", "m2", "direct")) % 2 == odd]
    compiled = [
        Compiled(Working(spec, folder, folder, {}), s.name, v, launch, job_of(folder / f"{s.name}.py", v, launch))
        for s in half
        for v in s.variants[-1:]
        for launch in (v.plan.launches if v.plan else ())
    ]
    outcomes = compile_all([k.job for k in compiled], workers=1)
    assert [f.text for k, o in zip(compiled, outcomes, strict=True) for f in judge(k, o)] == []
