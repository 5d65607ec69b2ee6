"""Runs a module's own host functions unchanged, with the simulator in place of the GPU.

Host functions ask for CUDA tensors and for the number of SMs. Inside a `Session`, tensors are CPU tensors of a subclass
that claims to be on `cuda:0`. Every factory call for such a device returns one; uninitialised ones are filled with NaN.
`kernel[grid](...)` simulates. With a subclass in place of a stub of torch, `problem.inputs` and `problem.launch` also
run as on a GPU, and no part of the module under test is replaced.
"""

from __future__ import annotations

import contextlib
import math
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Literal, Protocol
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

from tlxgen.coverage import Coverage, Kernel
from tlxgen.cudalike import DEVICE, CudaLike
from tlxgen.loading import load_file

from . import operators
from .change import Change
from .engine import Chooser, Schedule, Seeded
from .findings import Finding, Findings, GridTooLarge, KernelFault, Key, NoSuchConfig, Place, Stop
from .globalmem import GlobalMemory
from .globalorder import GlobalOrder
from .gradients import on_gpu
from .layouts import Layouts, Relayout
from .machine import Limits, Machine, running
from .ops_tlx import argument
from .tally import tally
from .transform import MEET_AT_START, Meter, Program, has_source, place_of
from .watch import Watch

SMS = 4  # SMs of the simulated GPU; they are few, so that persistent kernels loop
CUDA = "13.0"  # the CUDA version that torch reports to host code

_UNINITIALISED = {torch.empty, torch.empty_like, torch.empty_strided, torch.Tensor.new_empty}
_OTHERWISE = _UNINITIALISED | {  # functions that OnCpu changes even without an argument `device=`
    torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.to, torch.Tensor.pin_memory, torch.Tensor.data_ptr,
}  # fmt: skip


class OnCpu(TorchFunctionMode):  # type: ignore[misc]
    """A mode in which every tensor made for a CUDA device is a CudaLike. Memory that torch leaves uninitialised is NaN.

    `memory` is told of every tensor whose address is taken. `Session.active` enters the mode. torch leaves it where it
    calls Python itself, so gradients enter one of their own, and operators avoid the dispatcher (`operators.py`).
    """

    def __init__(self, memory: GlobalMemory) -> None:
        super().__init__()
        self._memory = memory

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func not in _OTHERWISE and "device" not in kwargs:
            return func(*args, **kwargs)
        kwargs = dict(kwargs)
        if func is torch.Tensor.cuda:
            return args[0].clone().as_subclass(CudaLike)
        if func is torch.Tensor.cpu:
            return args[0].clone().as_subclass(torch.Tensor)
        if func is torch.Tensor.to and len(args) > 1 and isinstance(args[1], (str, torch.device)):
            args, kwargs = (args[0], *args[2:]), {"device": args[1], "copy": True, **kwargs}
        if func is torch.Tensor.pin_memory:
            return args[0]
        if func is torch.Tensor.data_ptr:
            self._memory.register(args[0])
        wanted = kwargs.get("device")
        if wanted is None:
            made = func(*args, **kwargs)
        elif torch.device(wanted).type != "cuda":
            made = func(*args, **kwargs)
            return made.as_subclass(torch.Tensor) if isinstance(made, CudaLike) else made
        else:
            made = func(*args, **{**kwargs, "device": "cpu"}).as_subclass(CudaLike)
        if func in _UNINITIALISED and isinstance(made, CudaLike) and made.is_floating_point():
            made.fill_(float("nan"))
        return made


class Director(Protocol):
    """Decides the schedule of each launch of a session, and observes it."""

    def chooser(self, launch: int) -> Chooser: ...

    def watch(self, launch: int) -> Watch | None: ...


@dataclass(frozen=True)
class Scheduled:
    """The director of a schedule and a seed."""

    schedule: Schedule
    seed: int

    def chooser(self, launch: int) -> Chooser:
        return Seeded(self.schedule, self.seed + 7919 * launch)

    def watch(self, launch: int) -> Watch | None:
        return None


@dataclass(eq=False)
class Session:
    """Runs launches on one schedule and seed, or as a `director` decides. Programs draw their inputs from `seed`.

    Host functions see `sms` SMs. `config` is the index of an autotuned kernel's config, among those that its pruning
    leaves for the arguments of a launch. The session ends at the finding `until`, or at the first error. Without
    `races`, accesses to shared memory are not compared, which is for measurements of its cost. `change` is applied to
    the kernel. A `meter` counts the kernel's operations.
    """

    schedule: Schedule = "random"
    seed: int = 0
    sms: int = SMS
    config: int = 0
    limits: Limits = field(default_factory=Limits)
    arch: str = "sm90"
    director: Director | None = None
    until: Key | Literal["error"] | None = None
    races: bool = True
    change: Change | None = None
    meter: Meter | None = None
    findings: Findings = field(init=False)
    noticed: dict[Key, int] = field(default_factory=dict)  # finding -> step, counted over all launches
    synchronised: bool = False  # whether a launch has ordered its tasks through atomics
    steps: int = 0
    launches: int = 0
    coverage: Coverage = field(default_factory=Coverage)  # what the launches have exercised
    kernel: str = ""  # the last launched kernel; empty before the first launch
    tuned: bool = False

    def __post_init__(self) -> None:
        self.findings = Findings(self._notice, self.races)
        self.memory = GlobalMemory(self.findings)
        self.memory.tiles = self.coverage.tiles
        self.coverage.sms.add(self.sms)
        self._machine: Machine | None = None  # of the current launch
        self._attempts = 0  # number of launches, including restarts

    def _notice(self, finding: Finding) -> None:
        hub = self._machine.hub if self._machine else None
        self.noticed[finding.key] = self.steps + (hub.steps if hub else 0)
        if hub is not None and hub.watch is not None:
            hub.watch.found(finding)
        if finding.key == self.until or finding.severity == self.until:
            raise Stop

    def launch(self, kernel: Any, grid: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        """`kernel[grid](*arguments, **options)`."""
        self.kernel = kernel.fn.__name__
        names = list(kernel.arg_names)
        bound = dict(zip(names, arguments, strict=False)) | {k: v for k, v in options.items() if k in names}
        sizes = tuple(grid(bound) if callable(grid) else grid)
        if math.prod(sizes) > self.limits.ctas:
            raise GridTooLarge(self.kernel, math.prod(sizes), self.limits.ctas)
        size = tuple(options.get("ctas_per_cga") or (1, 1, 1))
        source = _program(self.coverage, self.meter)
        program = source.function(kernel.fn)
        # Cluster launch control observes that not all clusters of a grid run at once.
        asks = "clc_create_context" in source.operations
        resident = self.limits.resident or (max(1, self.sms // math.prod(size)) if asks else None)
        constants = {p.name for p in kernel.params if p.is_constexpr}
        values = {k: argument(v, k in constants) for k, v in bound.items()}
        for tensor in filter(torch.is_tensor, (getattr(v, "base", v) for v in bound.values())):
            self.memory.register(tensor)
        x, y, z = (*sizes, 1, 1)[:3]
        warps = options.get("num_warps") or 4

        def start(machine: Machine) -> None:
            machine.meets_at_start = not MEET_AT_START.isdisjoint(source.operations)
            machine.pdl, machine.asks = bool(options.get("launch_pdl")), asks
            machine.launch(lambda: program(**values), (x, y, z), (*size, 1, 1)[:3], warps, resident)

        layouts = Layouts("two_ctas" in source.operations and math.prod(size) > 1)
        before = self.memory.snapshot() if layouts.pairs else None
        follows = any(name.startswith("atomic_") for name in source.operations)
        self.coverage.asked |= asks
        seen = self.coverage.kernel(kernel.fn.__name__, place_of(kernel.fn))
        while not self._attempt(start, layouts, follows, seen):
            assert before is not None
            self.memory.restore(before)
        self.launches += 1

    def _attempt(self, start: Callable[[Machine], None], layouts: Layouts, follows: bool, seen: Kernel) -> bool:
        """Runs a launch. Returns False if it must start again because it assumed a wrong layout of tensor memory.

        If it `follows` atomics, they order accesses to global memory. `seen` counts what it has exercised.
        """
        found = len(self.findings.all)
        director = self.director or Scheduled(self.schedule, self.seed)
        chooser, watch = director.chooser(self._attempts), director.watch(self._attempts)
        if self.meter is not None:
            self.meter.begin(self.launches, self.kernel)
        machine = Machine(self.findings, self.memory, chooser, self.limits, layouts, watch, self.change, self.arch)
        self._attempts += 1
        self._machine = machine
        self.memory.begin(GlobalOrder(machine.hub) if follows else None)
        try:
            with running(machine), torch._C.DisableTorchFunction():
                start(machine)
            wrong = layouts.revise()
        except Relayout:
            wrong = True
        except (Stop, KernelFault) as end:
            bounds = any(finding.id == "out-of-bounds" for finding in self.findings.all[found:])
            wrong = layouts.retry(unfit=bounds or isinstance(end, KernelFault))
            if not wrong:
                raise
        finally:
            self._machine = None
            tally(machine, self.coverage, seen)
            self.synchronised |= self.memory.synchronised
            self.steps += machine.hub.steps
        if wrong:
            self.findings.forget(found)
        return not wrong

    def refuse_idle(self, config: int | None) -> None:
        """Raises NoSuchConfig if a config was requested and no launched kernel has configs."""
        if config is not None and self.launches and not self.tuned:
            raise NoSuchConfig(self.kernel, config, 0)

    def choose(self, tuner: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        """The config that this session runs an autotuned kernel with. Raises NoSuchConfig."""
        configs = self.configs_of(tuner, arguments, options)
        if self.config >= len(configs):
            raise NoSuchConfig(tuner.base_fn.__name__, self.config, len(configs))
        return configs[self.config]

    @staticmethod
    def configs_of(tuner: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> list[Any]:
        """The configs of an autotuned kernel that its pruning leaves for a launch.

        Like Triton, it prunes on the positional arguments by name, and only if there are several configs.
        """
        configs = tuner.configs
        if len(configs) > 1:
            tuner.nargs = dict(zip(tuner.arg_names, arguments, strict=False))
            try:
                configs = tuner.prune_configs(dict(options))
            finally:
                tuner.nargs = None
        return list(configs)

    def tune(self, tuner: Any, grid: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        """`tuner[grid](*arguments, **options)`. An autotuned kernel runs with one config, since nothing is timed."""
        self.tuned = True
        config = tuner.best_config = self.choose(tuner, arguments, options)
        self.launch_config(tuner, config, grid, arguments, options)

    @staticmethod
    def launch_config(
        tuner: Any, config: Any, grid: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]
    ) -> None:
        """Launches an autotuned kernel with one of its configs."""
        bound = {**dict(zip(tuner.arg_names, arguments, strict=False)), **options, **config.all_kwargs()}
        if config.pre_hook:
            config.pre_hook(bound)
        tuner.fn.run(*arguments, grid=grid, warmup=False, **options, **config.all_kwargs())

    @staticmethod
    def places_of(error: BaseException) -> list[Place]:
        """The innermost line of an exception's traceback that is neither the simulator's nor a library's."""
        ours = str(Path(__file__).parent)
        frames = traceback.extract_tb(error.__traceback__)
        mine = [f for f in frames if not f.filename.startswith((ours, torch.__path__[0])) and has_source(f.filename)]
        return [Place(f.filename, f.lineno or 0) for f in mine[-1:]]

    @contextlib.contextmanager
    def active(self) -> Iterator[Session]:
        """A context in which host code runs on the simulator. A finding that ends a run ends the block quietly."""
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.jit import JITFunction

        def run(kernel: Any, *arguments: Any, grid: Any, warmup: bool = False, **options: Any) -> None:
            self.launch(kernel, grid, arguments, options)

        def tune(tuner: Any, *arguments: Any, grid: Any, warmup: bool = False, **options: Any) -> None:
            self.tune(tuner, grid, arguments, options)

        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # with more threads, products of this size take 100 times as long
        try:
            with (
                mock.patch.object(JITFunction, "run", run),
                mock.patch.object(Autotuner, "run", tune),
                _gpu(self.sms, self.arch, self.coverage),
                on_gpu(lambda: OnCpu(self.memory)),
                operators.direct(),
                OnCpu(self.memory),
                contextlib.suppress(Stop),
            ):
                yield self
        finally:
            torch.set_num_threads(threads)


def _program(coverage: Coverage, meter: Meter | None) -> Program:
    """A new Program for each launch. It takes a millisecond, and a module may have changed since the last launch."""
    from triton.runtime.jit import JITFunction

    def unwrap(value: Any) -> Any:
        return value.fn if isinstance(value, JITFunction) else None

    return Program(unwrap, coverage, meter)


def load_module(path: Path, arch: str = "sm90", sms: int = SMS, coverage: Coverage | None = None) -> ModuleType:
    """Imports the module in a file again. It may query the GPU during the import, which `coverage` notes."""
    with _gpu(sms, arch, coverage):
        return load_file(path)


@dataclass(frozen=True)
class _Properties:
    """The properties of the simulated GPU, in the form of torch."""

    sms: int
    major: int
    minor: int
    name: str
    coverage: Coverage

    @property
    def multi_processor_count(self) -> int:
        self.coverage.asked = True
        return self.sms


@contextlib.contextmanager
def _gpu(sms: int, arch: str, coverage: Coverage | None = None) -> Iterator[None]:
    """A context in which torch and triton report one GPU of an architecture with `sms` SMs. Queries of it are noted."""
    import triton.runtime

    number = int(arch.removeprefix("sm"))
    capability = divmod(number, 10)
    properties = _Properties(sms, *capability, f"simulated {arch}", coverage or Coverage())
    target = SimpleNamespace(backend="cuda", arch=number, warp_size=32, is_cuda_backend=lambda: True)
    driver = SimpleNamespace(
        get_active_torch_device=lambda: DEVICE,
        get_current_target=lambda: target,
        get_current_stream=lambda device: 0,
    )
    with (
        mock.patch.object(triton.runtime.driver, "_active", driver),
        mock.patch.object(torch.cuda, "is_available", lambda: True),
        mock.patch.object(torch.cuda, "device_count", lambda: 1),
        mock.patch.object(torch.cuda, "current_device", lambda: 0),
        mock.patch.object(torch.cuda, "get_device_name", lambda *_: properties.name),
        mock.patch.object(torch.cuda, "get_device_properties", lambda *_: properties),
        mock.patch.object(torch.cuda, "get_device_capability", lambda *_: capability),
        mock.patch.object(torch.cuda, "device", contextlib.nullcontext),
        mock.patch.object(torch.cuda, "is_current_stream_capturing", lambda: False),
        mock.patch.object(torch.cuda, "synchronize", lambda *_: None),
        mock.patch.object(torch.version, "cuda", CUDA),
        mock.patch.object(torch.accelerator, "is_available", lambda: True),
        mock.patch.object(torch.accelerator, "current_accelerator", lambda *_, **__: torch.device("cuda")),
    ):
        yield
