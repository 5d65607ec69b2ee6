"""Which cubins a package has: what changes the code decides, whatever the compiler is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tlxgen.compile import Argument, Job
from tlxgen.errors import TlxgenError
from tlxgen.package.specialise import Compiling, Cubin, Row, cubins_of, parameters_of

Code = Callable[[frozenset[str]], str]

ARGUMENTS = (
    Argument("x_desc", "tensordesc<bf16[64, 64]>"),
    Argument("y_ptr", "*bf16"),
    Argument("N", "i32"),
    Argument("stride", "i64"),
    Argument("scale", "fp32"),
    Argument("seed", "i32"),
    Argument("BLOCK", "constexpr"),
)
JOB = Job("a row", "module.py", "kernel", "sm90", ARGUMENTS, {"BLOCK": 64})
ROW = Row(JOB, ("y_ptr", "N", "stride", "scale"))
HEADS = ("B", "H", "N", "M")
OF_HEADS = Row(
    replace(JOB, arguments=(*ARGUMENTS, *(Argument(name, "i32") for name in ("B", "H", "M")))),
    ("y_ptr", "stride", *HEADS),
    single=("B", "H"),
    strides=("stride",),
)


@dataclass(frozen=True)
class Pretended(Compiling):
    """Compiles to what `code` says of the aligned arguments; an empty text is an error."""

    keep: Path = Path()
    code: Code = lambda aligned: "same"

    def compiled(self, jobs: Sequence[Job]) -> list[Cubin | str]:
        asked = [frozenset(job.divisible) | {f"{n} = 1" for n, v in job.constants.items() if v == 1} for job in jobs]
        codes = [(frozenset(job.divisible), self.code(facts)) for job, facts in zip(jobs, asked, strict=True)]
        return [Cubin(aligned, code.encode(), code, 0, {}) if code else "no" for aligned, code in codes]


def chosen(made: Sequence[Cubin], aligned: set[str], ones: Sequence[str] = ()) -> str:
    """The code that a launch takes, as the launcher chooses."""
    return next(cubin.sha256 for cubin in made if cubin.divisible <= aligned and cubin.ones <= {*ones})


def test_where_alignment_changes_nothing_one_cubin_takes_all() -> None:
    [made] = cubins_of([ROW], Pretended())
    assert [(cubin.divisible, cubin.sha256) for cubin in made] == [(frozenset(), "same")]


def test_floats_and_what_is_not_specialized_are_no_matter() -> None:
    assert ROW.aligned == {"y_ptr", "N", "stride"}


@pytest.mark.parametrize(
    "aligned",
    [{"y_ptr", "N", "stride"}, {"y_ptr", "N"}, {"y_ptr", "stride"}, {"y_ptr"}, set[str]()],
    ids=lambda names: "+".join(sorted(names)) or "none",
)
def test_a_launch_gets_the_code_that_triton_would_compile(aligned: set[str]) -> None:
    """For all that is usual: addresses are aligned, and at most one integer is not, or none is."""
    [made] = cubins_of([ROW], Pretended(code=lambda told: "of " + ",".join(sorted(told))))
    assert chosen(made, aligned) == "of " + ",".join(sorted(aligned))


def test_an_argument_without_effect_is_not_asked_for() -> None:
    [made] = cubins_of([ROW], Pretended(code=lambda told: ",".join(sorted(told - {"N"}))))
    assert chosen(made, {"y_ptr", "stride"}) == "stride,y_ptr"
    assert chosen(made, {"y_ptr", "N"}) == "y_ptr"


def test_one_that_asks_for_more_stays_before_a_different_one() -> None:
    """A row whose code does not depend on N, although the kernel's first row says that it counts."""
    other = Row(replace(JOB, id="another", constants={"BLOCK": 32}), ROW.specialized)

    class Both(Pretended):
        def compiled(self, jobs: Sequence[Job]) -> list[Cubin | str]:
            heard = [frozenset(job.divisible) - ({"N"} if job.constants["BLOCK"] == 32 else set()) for job in jobs]
            codes = ["of " + ",".join(sorted(names)) for names in heard]
            return [Cubin(frozenset(j.divisible), b"", code, 0, {}) for j, code in zip(jobs, codes, strict=True)]

    _, made = cubins_of([ROW, other], Both())
    assert chosen(made, {"y_ptr", "N", "stride"}) == "of stride,y_ptr"
    assert chosen(made, {"y_ptr", "stride"}) == "of stride,y_ptr"


def test_what_changes_code_only_together_counts() -> None:
    [made] = cubins_of([ROW], Pretended(code=lambda told: "slow" if not told else "fast"))
    assert chosen(made, {"y_ptr", "N"}) == "fast"
    assert chosen(made, set()) == "slow"


def told(facts: frozenset[str]) -> str:
    """Code that differs by every fact but the alignment of heads and batch entries."""
    return "of " + ", ".join(sorted(facts - {"B", "H"}))


@pytest.mark.parametrize("ones", [(), ("B",), ("H",), ("B", "H")], ids=lambda ones: "+".join(ones) or "none")
@pytest.mark.parametrize(
    "aligned",
    [{"y_ptr", "N", "M", "stride"}, {"y_ptr", "M", "stride"}, {"y_ptr", "N", "stride"}, {"y_ptr", "stride"}, {"y_ptr"}],
    ids=lambda names: "+".join(sorted(names)),
)
def test_an_integer_that_is_1_is_what_triton_makes_of_it(aligned: set[str], ones: tuple[str, ...]) -> None:
    """Any of those that often are, beside aligned arguments, all but one extent, all but extents, addresses alone."""
    [made] = cubins_of([OF_HEADS], Pretended(code=told))
    assert chosen(made, aligned | ({"B", "H"} - {*ones}), ones) == told(frozenset(aligned | {f"{n} = 1" for n in ones}))


def test_some_that_are_1_are_no_parameters() -> None:
    """One batch entry of many heads, and one head of keys."""
    [made] = cubins_of([replace(OF_HEADS, single=("B", "H", "N"))], Pretended(code=told))
    assert chosen(made, {"y_ptr", "stride"}, ["B", "N"]) == told(frozenset({"y_ptr", "stride", "B = 1", "N = 1"}))


def test_a_1_is_no_parameter() -> None:
    jobs: list[Job] = []

    class Listening(Pretended):
        def compiled(self, jobs_: Sequence[Job]) -> list[Cubin | str]:
            jobs.extend(jobs_)
            return super().compiled(jobs_)

    [made] = cubins_of([OF_HEADS], Listening(code=told))
    [both] = {
        job.id: job
        for job in jobs
        if job.constants.get("B") == job.constants.get("H") == 1 and {"M", "N"} <= {*job.divisible}
    }.values()
    assert parameters_of(both) == [128, 4, 4, 8, 8, 8, 4, 8, 4, 4, 4, 8, 8]  # of ARGUMENTS and M: neither B nor H
    assert "B, H of 1" in both.id and not {"B", "H"} & {*both.divisible}
    assert {cubin.ones for cubin in made} == {frozenset(), frozenset("B"), frozenset("H"), frozenset("BH")}


def test_where_a_1_does_not_compile_the_parameter_stays() -> None:
    [made] = cubins_of([OF_HEADS], Pretended(code=lambda facts: "" if "B = 1" in facts else told(facts)))
    assert {cubin.ones for cubin in made} == {frozenset(), frozenset("H")}


def test_a_kernel_that_needs_alignment_has_no_cubin_without() -> None:
    [made] = cubins_of([ROW], Pretended(code=lambda told: "code" if "y_ptr" in told else ""))
    assert made
    assert all("y_ptr" in cubin.divisible for cubin in made)


def test_a_kernel_that_does_not_compile_is_an_error() -> None:
    with pytest.raises(TlxgenError, match="a row: no"):
        cubins_of([ROW], Pretended(code=lambda told: ""))


def test_parameters_are_those_of_a_cubin() -> None:
    assert parameters_of(JOB) == [128, 4, 4, 8, 8, 8, 4, 8, 4, 4, 8, 8]


def test_a_scalar_that_no_launcher_passes_is_refused() -> None:
    job = Job("j", "module.py", "kernel", "sm90", (Argument("x", "fp16"),), {})
    with pytest.raises(TlxgenError, match="kernel: x is of fp16"):
        parameters_of(job)
