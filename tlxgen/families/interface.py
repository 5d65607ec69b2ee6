"""What the modules of a family have, as protocols: docs/plugins.md lists them, and both are held against each other.

Tensors are of torch, and arguments of a host function go by name. `spec` is an instance of the family's model. This
module imports no torch.
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
    """`plan`: from a spec to what it derives. Imports neither torch nor triton."""

    def build(self, spec: Any, *, guards: Mapping[str, bool], baked: Mapping[str, Any], **common: Any) -> Plan:
        """The plan of one variant. It is pure, and it does not fail: what cannot be built is a reason in the plan.
        `guards` has each guard's state, `baked` the parameters that are constants of the source, and `common` what
        `Family.common` returned.
        """


class ProblemModule(Protocol):
    """`problem`: a problem with numbers in it, for verify, check, tune and bench. May import torch."""

    def inputs(self, spec: Any, shape: Shape, device: Any) -> Tensors:
        """Fresh random arguments of the host function, by name, results not among them."""

    def reference(self, spec: Any, tensors: Tensors) -> Mapping[str, tuple[Any, float]]:
        """For each result its exact values, in float64, and the norm that an error is relative to (more than zero)."""

    def launch(self, module: ModuleType, spec: Any, shape: Shape, tensors: Tensors, config: Any) -> tuple[Tensors, int]:
        """Calls the host function of a generated module with results that hold NaN. Returns the results by name, and
        how many elements were written outside of them.
        """

    def tolerance(self, spec: Any, output: str) -> float:
        """The largest relative error of a result that is right; the spec's `check.rtol` where that is a number."""

    def shapes(self, spec: Any) -> Sequence[Shape]:
        """The problems that `check` runs: the spec's `check.shapes`, and those that catch the usual faults."""

    def simulated_shapes(self, spec: Any, constants: Mapping[str, int], sms: int) -> Iterable[Shape]:
        """The problems that `verify` runs on a GPU of `sms` SMs: small, ragged, and enough tiles that the slots of
        each ring go round. `constants` are the values of the kernel's constexpr parameters.
        """


class OptionalProblemModule(ProblemModule, Protocol):
    """`problem` with what a family may have besides."""

    def unseen(self, spec: Any) -> Iterable[Waiver]:
        """What no run of `verify` can exercise, each with the reason. Without this function all that was not seen is
        said to be missing."""

    def reproducible(self, spec: Any, output: str) -> bool:
        """Whether every run gives a result the same bits, as where nothing is added up in no fixed order. Without this
        function every result has to."""


class CostModule(Protocol):
    """`cost`: how much work a problem is. Each function may be missing, and then nothing is ranked or derived by it."""

    def flops(self, spec: Any, shape: Shape) -> float:
        """Floating-point operations of a problem, a multiply-add as two."""

    def bytes_moved(self, spec: Any, shape: Shape) -> float:
        """Bytes of a problem's operands and results, each once."""

    def clocks(self, plan: Plan, shape: Shape, sms: int) -> float:
        """An estimate of the clocks of one launch, by arithmetic alone, that `tune` ranks variants by."""


class CountedCostModule(CostModule, Protocol):
    """`cost` with what `show --roofline` needs: both functions, or none."""

    def work(self, plan: Plan, shape: Shape) -> tuple[int, int, int] | None:
        """The work items of a problem, a CTA each; the rounds of the inner loop in all of them; those of the longest.
        None where that is not known, as where the arguments decide it."""

    def probes(self, plan: Plan, shape: Shape) -> tuple[Shape, Shape]:
        """Two problems like that of the shape that a CPU runs at once, of whole tiles, whose items and rounds are not
        in proportion."""


class ModelCostModule(CountedCostModule, Protocol):
    """`cost` of a family that has a model of time: packages pick by it. All three functions, or none."""

    def types_of(self, plan: Plan) -> Any:
        """What the kernels of a function have in common, as the model knows it: a named tuple."""

    def kernel_of(self, plan: Plan) -> Any:
        """A plan as the model knows it: a named tuple, whose call is printed as a row of a table KERNELS."""

    def beside(self) -> Mapping[str, str]:
        """Files that lie beside the modules of each folder, by name: the model, which they import."""


class BenchmarkModule(Protocol):
    """`benchmark`: what `bench` and `tune` time, and beside what. May import torch."""

    def call(self, module: ModuleType, spec: Any, shape: Shape, tensors: Tensors, config: Any = None) -> Call:
        """A launch of the host function into results that are made once; without `config` the module picks one."""

    def baselines(self, spec: Any) -> Mapping[str, Callable[[Tensors], Call]]:
        """What to compare with, by name: each is given the inputs and returns the call to time."""


class FullBenchmarkModule(BenchmarkModule, Protocol):
    """`benchmark` with what it may have besides: for `check --peers`, and for `bench --random`."""

    def peers(self, spec: Any, shape: Shape, tensors: Tensors) -> Mapping[str, Callable[[], Tensors]]:
        """Torch's own kernels by name; each call returns results by name. One that refuses raises RuntimeError."""

    def results(self, spec: Any, tensors: Tensors, out: Any) -> Tensors:
        """Of what a call returned, ours or a baseline's, the results by name; without this, in `reference`'s order."""

    def drawn(self, spec: Any, rng: random.Random) -> Shape | None:
        """A random shape as the family's users have them, by `rng` alone; None for one that is too large to time."""


NEEDED: dict[str, tuple[str, ...]] = {"plan": ("build",), "problem": ("inputs", "reference", "launch", "tolerance")}
"""What a module is held against when it is first used: without these functions nothing that needs it works."""
