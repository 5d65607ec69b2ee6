"""Protocols of the modules of a family. docs/plugins.md lists the same, and a test compares the two.

Tensors are torch's, and arguments of a host function are passed by name. `spec` is an instance of the family's model.
This module does not import torch.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, Protocol

from tlxgen.coverage import Waiver
from tlxgen.plan import Plan

Shape = tuple[int, ...]
Tensors = Mapping[str, Any]
Call = Callable[[], Any]


class PlanModule(Protocol):
    """`plan`: derives the plan of a spec. It imports neither torch nor triton."""

    def build(self, spec: Any, *, guards: Mapping[str, bool], baked: Mapping[str, Any], **common: Any) -> Plan:
        """The plan of one variant. It is pure and does not fail: a variant that cannot be built has a reason in its
        plan. `guards` has each guard's state, `baked` the parameters that are constants of the source, and `common`
        what `Family.common` returned.
        """


class ProblemModule(Protocol):
    """`problem`: inputs, reference and launch of a problem, for verify, check, tune and bench. May import torch."""

    def inputs(self, spec: Any, shape: Shape, device: Any) -> Tensors:
        """Fresh random arguments of the host function, by name. Results are not among them."""

    def reference(self, spec: Any, tensors: Tensors) -> Mapping[str, tuple[Any, float]]:
        """For each result its exact values in float64, and the norm (> 0) that an error is relative to."""

    def launch(self, module: ModuleType, spec: Any, shape: Shape, tensors: Tensors, config: Any) -> tuple[Tensors, int]:
        """Calls the host function of a generated module with results that hold NaN. Returns the results by name, and
        the number of elements that were written outside of them.
        """

    def tolerance(self, spec: Any, output: str) -> float:
        """The largest relative error of a correct result; the spec's `check.rtol` where that is a number."""

    def shapes(self, spec: Any) -> Sequence[Shape]:
        """The problems that `check` runs: the spec's `check.shapes`, and shapes that find the usual faults."""

    def simulated_shapes(self, spec: Any, constants: Mapping[str, int], sms: int) -> Iterable[Shape]:
        """The problems that `verify` runs on a GPU of `sms` SMs: small, ragged, and with enough tiles that each ring
        wraps. `constants` are the values of the kernel's constexpr parameters.
        """


class OptionalProblemModule(ProblemModule, Protocol):
    """`problem` with its optional functions."""

    def unseen(self, spec: Any) -> Iterable[Waiver]:
        """What no run of `verify` can exercise, with reasons. `verify` reports everything else that it did not
        exercise as missing."""

    def reproducible(self, spec: Any, output: str) -> bool:
        """Whether every run gives a result with the same bits, which atomic additions do not. Without this function
        every result must."""


class CostModule(Protocol):
    """`cost`: the work of a problem. Each function is optional; nothing is ranked or derived by a missing one."""

    def flops(self, spec: Any, shape: Shape) -> float:
        """Floating-point operations of a problem. A multiply-add counts as two."""

    def bytes_moved(self, spec: Any, shape: Shape) -> float:
        """Bytes of a problem's operands and results, each counted once."""

    def clocks(self, plan: Plan, shape: Shape, sms: int) -> float:
        """An estimate of the clocks of one launch, by arithmetic alone. `tune` ranks variants by it."""


class CountedCostModule(CostModule, Protocol):
    """`cost` with the functions that `show --roofline` needs. A family has both or neither."""

    def work(self, plan: Plan, shape: Shape) -> tuple[int, int, int] | None:
        """Three numbers: the work items of a problem, one a CTA; the rounds of the inner loop in all items; the rounds
        in the longest item. None where they are unknown, for example where the arguments decide them."""

    def probes(self, plan: Plan, shape: Shape) -> tuple[Shape, ...]:
        """Three problems like that of the shape, with whole tiles, that a CPU runs quickly. Their ratios of items to
        rounds differ. With two, waits of tasks are not predicted."""


class ModelCostModule(CountedCostModule, Protocol):
    """`cost` of a family whose packages pick a kernel by a model of time. A family has all three functions or none."""

    def types_of(self, plan: Plan) -> Any:
        """What the kernels of a function have in common: a named tuple of the model of time."""

    def kernel_of(self, plan: Plan) -> Any:
        """A plan as the model of time sees it: a named tuple, whose call is printed as a row of the table KERNELS."""

    def beside(self) -> Mapping[str, str]:
        """Name -> text of files that each generated folder needs, such as the model of time that its modules import."""


class BenchmarkModule(Protocol):
    """`benchmark`: what `bench` and `tune` time, and the baselines. May import torch."""

    def call(self, module: ModuleType, spec: Any, shape: Shape, tensors: Tensors, config: Any = None) -> Call:
        """A launch of the host function into results that are allocated once. Without `config` the module picks one."""

    def baselines(self, spec: Any) -> Mapping[str, Callable[[Tensors], Call]]:
        """The baselines, by name. Each function is given the inputs and returns the call to time."""


class FullBenchmarkModule(BenchmarkModule, Protocol):
    """`benchmark` with its optional functions, for `check --peers` and `bench --random`."""

    def peers(self, spec: Any, shape: Shape, tensors: Tensors) -> Mapping[str, Callable[[], Tensors]]:
        """Torch's own kernels by name. Each call returns results by name, and raises RuntimeError if it refuses."""

    def results(self, spec: Any, tensors: Tensors, out: Any) -> Tensors:
        """The results by name of what a call of ours or of a baseline returned. Without this function they are in the
        order of `reference`."""

    def drawn(self, spec: Any, rng: random.Random) -> Shape | None:
        """A random typical shape, drawn from `rng` only; None if it is too large to time."""


NEEDED: dict[str, tuple[str, ...]] = {"plan": ("build",), "problem": ("inputs", "reference", "launch", "tolerance")}
"""What a module is held against when it is first used: without these functions nothing that needs it works."""
