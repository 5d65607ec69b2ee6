"""The child's own work without a GPU: one measurement on CPU tensors, and a compilation that Triton's cache keeps."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.tune.conftest import SPEC, Project  # noqa: E402
from tlxgen.compile import toolchain  # noqa: E402
from tlxgen.families import gemm  # noqa: E402
from tlxgen.tune import candidates, worker  # noqa: E402
from tlxgen.tune.lab import Device, Lab, Limits, local_pools  # noqa: E402
from tlxgen.tune.results import Results  # noqa: E402

SHAPE = (64, 64, 64)


class Cpu:
    """A device whose times are those that the candidates' stand-ins give."""

    device = torch.device("cpu")

    def __init__(self) -> None:
        self.broken, self.timed = False, 0

    def sets(self, bytes_moved: float) -> int:
        return 1

    def roughly(self, run: Callable[[], Any]) -> float:
        return 10.0

    def chain(self, runs: Sequence[Callable[[], Any]], us: float) -> Callable[[], float]:
        self.timed += 1
        return lambda: float(runs[0]()) + 2.5

    def link(self) -> Callable[[], float]:
        return lambda: 2.5

    def conditions(self) -> dict[str, float]:
        return {"sm_mhz": 1.0}

    def dead(self) -> bool:
        return self.broken


@pytest.fixture
def session(project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[list[Any], Cpu]]:
    """Runs a measurement of three candidates; `behave` maps a candidate's place to what its launch does."""
    monkeypatch.setattr(candidates, "_MODULES", {})
    space = project.space
    some = space.candidates[:3]
    device = Device("x", 132, (9, 0), {})
    lab = Lab(space, device, Results(project.root, "x", {}), local_pools(1, 1, "gemm"), limits=Limits())

    def run(
        behave: dict[int, Callable[[Any], Any]], prove: bool = True, rehearsed: bool = False
    ) -> tuple[list[Any], Cpu]:
        places = {json.dumps(c.options, sort_keys=True): i for i, c in enumerate(some)}
        gpu = Cpu()

        def place(config: Any) -> int:
            options = {"kwargs": config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages}
            return places[json.dumps(options, sort_keys=True)]

        def launch(module: Any, spec: Any, shape: Any, t: Any, config: Any) -> Any:
            return behave.get(place(config), lambda c: ({"c": c}, 0))(
                (t["a"].double() @ t["b"].double()).to(torch.bfloat16)
            )

        def call(module: Any, spec: Any, shape: Any, t: Any, config: Any) -> Any:
            return lambda: 20.0 + place(config)

        problem = gemm.Gemm().problem()
        fake = SimpleNamespace(**{n: getattr(problem, n) for n in ("inputs", "reference", "tolerance")}, launch=launch)
        how = SimpleNamespace(call=call, baselines=lambda spec: {"torch": lambda t: lambda: 40.0})
        monkeypatch.setattr(gemm.Gemm, "problem", lambda self: fake)
        monkeypatch.setattr(gemm.Gemm, "benchmark", lambda self: how)
        request = lab._task(some, SHAPE) | {"turns": 4, "prove": prove, "candidates": [lab._data(c) for c in some]}
        messages: list[Any] = []
        measurement = candidates.Session(json.loads(json.dumps(request)), messages.append, gpu)
        if rehearsed:
            measurement.rehearse(some[0].variant.spec)
        else:
            measurement.run()
        return messages, gpu

    return run


def test_triton_names_its_cache_without_hashing_its_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    cache: Any = pytest.importorskip("triton.runtime.cache")
    monkeypatch.setattr(cache, "triton_key", lambda: pytest.fail("hashed"))
    toolchain.name_cache(toolchain.identity())
    assert cache.triton_key() == toolchain.identity()


def faults(messages: list[Any]) -> list[tuple[str, str]]:
    return [(f["fault"], f["text"]) for m in messages for f in m.get("fault", {}).values()]


def test_times_are_of_one_run_with_the_baseline(session: Any) -> None:
    messages, _ = session({})
    done = messages[-1]["done"]
    assert sorted(r["us"] for r in done.values()) == [20.0, 21.0, 22.0]
    assert {(r["baseline"], r["baseline_us"], r["conditions"]["sm_mhz"]) for r in done.values()} == {("torch", 40, 1)}


def test_a_rehearsal_times_the_baseline_and_says_nothing_of_anybody(session: Any) -> None:
    messages, gpu = session({0: lambda c: 1 / 0}, rehearsed=True)
    assert messages == [] and gpu.timed == 1


def test_every_replay_of_a_candidate_is_announced(session: Any) -> None:
    """So that whoever kills a hanging child knows at whose replay it hung."""
    messages, _ = session({})
    begun = [m["begin"] for m in messages if m.get("begin")]
    assert len(begun) >= 3 * (1 + 1 + 4)


def test_of_two_queued_replays_the_first_is_announced_until_it_has_ended() -> None:
    """Then the second is; a fault shows while one is waited for, or the next one queued."""
    said: list[Any] = []
    running: deque[str] = deque()
    timers = {key: candidates.Noted(key, Waits(said), running, said.append) for key in ("", "x", "y")}
    timers["x"].start()
    timers["y"].start()
    assert said == [{"begin": "x"}, "queued", "queued"]
    timers["x"]()
    timers[""].start()
    assert said[3:] == ["waited", {"begin": "y"}, "queued"]
    timers["y"]()
    timers[""]()
    assert said[6:] == ["waited", "waited"], "something was said of the baseline"


class Waits:
    """A timer that can be queued."""

    def __init__(self, said: list[Any]) -> None:
        self.said = said

    def start(self) -> None:
        self.said.append("queued")

    def __call__(self) -> float:
        self.said.append("waited")
        return 1.0


def test_wrong_numbers_are_rejected_before_anything_is_timed(session: Any) -> None:
    messages, _ = session({1: lambda c: ({"c": c + 1}, 0), 2: lambda c: ({"c": c}, 5)})
    (first, text), (second, strays) = faults(messages)
    assert (first, second) == ("wrong", "wrong")
    assert "error" in text and strays == "5 elements written outside of the outputs"
    assert len(messages[-1]["done"]) == 1


def raising(text: str) -> Callable[[Any], Any]:
    def launch(c: Any) -> Any:
        raise RuntimeError(text)

    return launch


def test_an_error_is_that_candidates_and_running_out_of_memory_has_a_name(session: Any) -> None:
    messages, _ = session({0: raising("CUDA out of memory. Tried"), 2: raising("OutOfResources: shared memory")})
    assert [kind for kind, _ in faults(messages)] == ["memory", "error"]
    assert len(messages[-1]["done"]) == 1


def test_a_dead_context_ends_the_child(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []

    def end(code: int) -> None:
        ended.append(code)
        raise SystemExit

    monkeypatch.setattr(candidates.os, "_exit", end)
    monkeypatch.setattr(Cpu, "dead", lambda self: True)
    with pytest.raises(SystemExit):
        session({1: raising("CUDA error: an illegal memory access was encountered")})
    assert ended == [3]


@pytest.mark.compiles
def test_a_compilation_is_kept_where_the_measuring_child_looks(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One structure with one config and small tiles of each kind, as each is compiled twice; by one child, and without
    a GPU, for which measuring children would start."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    for tail in ("whole", "split", "helped"):
        split = "pingpong" if tail == "helped" else "cooperative"
        axes = {"tasks.mma.split": split, "tile.n": 64, "rings.ab.stages": 3}
        lines = [f"    {axis}: [{value}]\n" for axis, value in axes.items()]
        project.spec.write_text(
            f"{SPEC.partition('    tasks')[0]}{''.join(lines)}schedule: {{tail: {tail}}}\nepilogue: {{subtiles: 2}}\n"
        )
        space = project.space
        lab = Lab(
            space,
            Device("x", 132, (9, 0), {}),
            Results(project.root, "x", {}),
            local_pools(1, 1, "gemm"),
            limits=Limits(workers=1),
        )
        folder = Path(worker.shared_environment()["TRITON_CACHE_DIR"])
        before = set(folder.rglob("*.cubin"))
        best = space.ranked([(512, 512, 1024)], 132)[0]
        assert lab._compile(best, (512, 512, 1024)).result(240) == {"fault": None, "text": ""}
        assert [p.name for p in set(folder.rglob("*.cubin")) - before] == [f"{best.structure}_kernel.cubin"], tail
        broken = space.sources[best.source].replace("tlx.async_dot(", "tlx.no_such_thing(")
        task = lab._task([best], (512, 512, 1024)) | {"candidate": lab._data(best), "limit_s": 120, "workers": 1}
        task |= {"capability": 90, "sms": 132, "sources": {tail: broken}}
        task["candidate"]["source"] = tail
        outcome = worker.compile_task(task)
        assert outcome["fault"] == "compile" and "no_such_thing" in outcome["text"], tail
