"""Generated modules without a record are clean: those that changed of late, and a sample that the commit's hash draws.

What is run has right numbers and no finding, on ragged and tiny problems and on every kind of schedule. A module that
has a record, by `tlxgen verify --changed`, is run by nobody here (tests/proof/test_shipped.py): .ci/verify audits
records. So the suite does not grow with the families.
"""

from __future__ import annotations

import json

import pytest

from tests.sim import support
from tests.sim.support import RECENT, SAMPLE, kernels, run_case, source, to_run, unproven
from tlxgen import lock
from tlxgen.sim import RUNS, SMS

RAGGED = (300, 264, 200)


@pytest.mark.parametrize(("name", "structure"), to_run())
def test_a_generated_module_without_a_record_is_clean(name: str, structure: str) -> None:
    """The first config on a ragged problem of several tiles a CTA, the last one on a small one."""
    family, variants = kernels(name).family, kernels(name).structure(structure).variants
    for config, which in ((0, 1), (len(variants) - 1, 0)):
        plan = variants[config].plan
        assert plan
        constants = dict(plan.launches[0].constants)
        shapes = tuple(family.problem().simulated_shapes(variants[config].spec, constants, SMS))
        report = run_case(f"{name}/{structure}", source(f"{name}/{structure}"), config, shapes[which])
        assert not report.seen, "\n".join(map(str, report.seen))
        assert report.runs == len(RUNS)


def test_what_is_run_of_the_modules_without_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    some = list(unproven())
    monkeypatch.setattr(support, "git", lambda *arguments, **_: "")
    assert to_run() == some  # no repository

    def git(head: str, device: str) -> None:
        """A repository with this commit, `device` being the digest that all modules had RECENT commits ago."""

        def answer(*arguments: str, given: str = "") -> str:
            if arguments[0] == "log":
                assert arguments[1] == f"-{RECENT + 1}"
                return f"{head}\nabc\n"
            names = [line.removeprefix("abc:generated/").removesuffix("/lock.json") for line in given.split()]
            locks = [json.dumps({"structures": was(name, device), "title": "Σ"}, ensure_ascii=False) for name in names]
            return "".join(f"0123 blob {len(text.encode())}\n{text}\n" for text in locks)

        monkeypatch.setattr(support, "git", answer)

    def was(name: str, device: str) -> dict[str, dict[str, str]]:
        entries = lock.read(support.ROOT / "generated" / name)["structures"]
        return {structure: {"device": device or entry["device"]} for structure, entry in entries.items()}

    git("one", "")
    drawn = to_run()
    assert len(drawn) == min(SAMPLE, len(some)) and {*drawn} <= {*some} and to_run() == drawn
    git("two", "")
    assert to_run() != drawn or len(some) <= SAMPLE
    git("one", "another")
    assert to_run() == some  # all have changed


def test_a_seed_is_a_run_and_another_seed_another() -> None:
    at = "hopper_gemm/hopper_gemm_pingpong"
    first, again, other = (run_case(at, source(at), 0, RAGGED, (("starved", seed),)).steps for seed in (5, 5, 6))
    assert first == again != other


def test_few_sms_make_persistent_kernels_loop() -> None:
    at = "hopper_gemm/hopper_gemm_cooperative"
    report = run_case(at, source(at), 0, (1400, 520, 72), (("random", 0), ("lazy", 0)))
    assert not report.seen
