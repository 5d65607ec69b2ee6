"""The register model against what fbtriton writes into the PTX of real kernels."""

from __future__ import annotations

import pytest

from tlxgen.compile import Argument, Job, Outcome, compile_all
from tlxgen.plan.registers import RegisterSplit, split_registers

from .conftest import KERNELS

Tasks = tuple[int, int, "int | None"]  # warps, replicas, registers
Case = tuple[int, Tasks, Tasks, bool]  # default warps, first, second, exclusive

CASES: list[Case] = [
    (4, (4, 1, 232), (4, 1, 232), False),  # Hopper GEMM
    (4, (4, 1, 240), (4, 1, 240), False),  # the default task is left with exactly 24
    (4, (4, 2, 152), (1, 2, 24), False),  # Blackwell attention
    (4, (1, 1, 24), (1, 1, 24), False),  # Blackwell GEMM: padding of 2 warps
    (4, (1, 1, 48), (1, 1, 24), False),  # a warpgroup takes the larger request
    (4, (4, 1, 24), (4, 2, 152), False),
    (4, (2, 2, 88), (1, 1, 24), False),  # 5 warps: padding of 2 and 1, the 2 ahead of the single warp
    (4, (1, 5, 64), (1, 1, 128), False),  # 6 single warps: the padding goes first and moves them along
    (8, (4, 1, 24), (4, 1, 208), False),
    (8, (4, 1, 232), (1, 1, 40), False),
    (4, (8, 1, 168), (1, 1, 56), False),
    (4, (8, 1, 96), (4, 2, 96), False),
    (4, (4, 1, 232), (4, 1, 232), True),  # no hand-back at the end
    (4, (4, 2, 152), (1, 2, 24), True),
    (16, (4, 1, 40), (1, 1, 56), False),
    (4, (4, 1, 248), (4, 1, 248), False),  # from here on: dropped without a word. 8 registers are left
    (4, (4, 2, 152), (4, 1, 232), False),  # over the register file
    (4, (4, 3, 168), (1, 1, 24), False),  # nothing is left
    (4, (4, 1, None), (4, 1, None), False),  # nobody asked
]


def split(case: Case) -> RegisterSplit:
    default, *tasks, exclusive = case
    partitions = [(warps, registers) for warps, replicas, registers in tasks for _ in range(replicas)]
    return split_registers(default, partitions, exclusive=exclusive)


def job(case: Case, number: int) -> Job:
    default, first, second, exclusive = case
    names = [f"{which}_{what}" for which in ("FIRST", "SECOND") for what in ("WARPS", "REPLICAS", "REGISTERS")]
    constants = dict(zip(names, (*first, *second), strict=True)) | {"EXCLUSIVE": exclusive}
    module, out = str(KERNELS / "tiny.py"), Argument("out", "*i32")
    return Job(str(number), module, "tasks", "sm90", (out,), constants, (), default)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    """Cubins are kept, as SASS, of which nothing is asked here, takes several times as long as all else."""
    kept = tmp_path_factory.mktemp("cubins")
    return compile_all([job(case, number) for number, case in enumerate(CASES)], keep=kept)


@pytest.mark.compiles
@pytest.mark.parametrize("number", range(len(CASES)), ids=[str(c) for c in CASES])
def test_the_model_says_what_the_compiler_does(number: int, outcomes: list[Outcome]) -> None:
    expected, found = split(CASES[number]), outcomes[number].resources
    assert found is not None, outcomes[number].detail
    assert found.setmaxnreg == expected.setmaxnreg
    assert found.maxnreg == (expected.maxnreg if expected.applied else None)
    assert bool(found.setmaxnreg) == expected.applied


@pytest.mark.compiles
def test_tlx_itself_refuses_registers_for_some_tasks_only() -> None:
    case: Case = (4, (4, 1, 24), (4, 1, None), False)
    assert "all or none" in split(case).reason
    outcome = compile_all([job(case, 0)])[0]
    assert "ALL or NONE" in outcome.error


def test_the_shares_are_given_in_the_callers_order() -> None:
    found = split_registers(4, [(1, 24), (4, 152), (1, 40), (4, 152)])
    assert found.partitions == (40, 152, 40, 152)  # the single warps share a warpgroup, and its larger request
    assert (found.maxnreg, found.default, found.applied, found.reason) == (128, 168, True, "")


@pytest.mark.parametrize(
    ("default", "partitions", "words"),
    [
        (4, [(4, 248), (4, 248)], "63488 of the 64512 registers that 12 warps x 168 have"),
        (4, [(4, 248), (4, 248)], "leaves the default task 8 a thread where it needs 24"),
        (4, [(4, 16)], "16 registers is not a multiple of 8 in 24..256"),
        (4, [(4, 100)], "100 registers"),
        (2, [(4, 104)], "2 warps"),
        (4, [(4, None)], "no task asks"),
        (4, [(4, 24), (1, None)], "1 of 2 tasks"),
    ],
)
def test_a_split_that_does_not_happen_says_why(
    default: int, partitions: list[tuple[int, int | None]], words: str
) -> None:
    found = split_registers(default, partitions)
    assert not found.applied and words in found.reason
    assert found.default is None and set(found.partitions) == {found.maxnreg} and found.setmaxnreg == ()
