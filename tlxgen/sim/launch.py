"""Runs a module's own host functions, unchanged, with the simulator in the place of the GPU.

Host functions ask for CUDA tensors and for the number of SMs. Inside a `Session` tensors are CPU tensors that say they
are on `cuda:0` (a subclass), every factory call for such a device gives one, uninitialised ones filled with NaN, and
`kernel[grid](...)` simulates. A subclass and not a stub of torch: then also `problem.inputs` and `problem.launch` run
as they do on a GPU, and nothing of the module under test is replaced.
"""

from __future__ import annotations

import contextlib
import importlib.util
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

from .engine import Schedule
from .findings import Findings, KernelFault, Place, Stop
from .machine import Limits, Machine, running
from .memory import GlobalMemory
from .ops_tlx import argument
from .transform import Program

DEVICE = torch.device("cuda", 0)


class CudaLike(torch.Tensor):  # type: ignore[misc]
    """A CPU tensor that says it is on a GPU."""

    @property
    def device(self) -> torch.device:
        return DEVICE

    @property
    def is_cuda(self) -> bool:
        return True


class _OnCpu(TorchFunctionMode):  # type: ignore[misc]
    """Every tensor made for a CUDA device is a CudaLike; what torch would leave uninitialised is NaN."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        wanted = kwargs.get("device")
        if wanted is None or torch.device(wanted).type != "cuda":
            return func(*args, **kwargs)
        kwargs["device"] = "cpu"
        made = func(*args, **kwargs)
        if func is torch.empty and made.is_floating_point():
            made.fill_(float("nan"))
        return made.as_subclass(CudaLike)


@dataclass(eq=False)
class Session:
    """Launches on one schedule and seed. Host functions are told of `sms` SMs: few, so that persistent kernels loop."""

    schedule: Schedule
    seed: int
    sms: int = 4
    limits: Limits = field(default_factory=Limits)
    findings: Findings = field(default_factory=Findings)
    steps: int = 0
    launches: int = 0

    def __post_init__(self) -> None:
        self.memory = GlobalMemory(self.findings)

    def launch(self, kernel: Any, grid: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        """`kernel[grid](*arguments, **options)`."""
        names = list(kernel.arg_names)
        bound = dict(zip(names, arguments, strict=False)) | {k: v for k, v in options.items() if k in names}
        sizes = tuple(grid(bound) if callable(grid) else grid)
        cluster = tuple(options.get("ctas_per_cga") or (1, 1, 1))
        if cluster[1:] != (1, 1):
            raise KernelFault(f"clusters of {cluster}: only along the first dimension")
        program = _program().function(kernel.fn)
        values = {k: argument(v) for k, v in bound.items()}
        seed = self.seed + 7919 * self.launches
        machine = Machine(self.findings, self.memory, self.schedule, seed, self.limits)
        self.launches += 1
        self.memory.begin()
        x, y, z = (*sizes, 1, 1)[:3]
        try:
            with running(machine), torch._C.DisableTorchFunction():
                machine.launch(lambda: program(**values), (x, y, z), cluster[0], options.get("num_warps") or 4)
        finally:
            self.steps += machine.hub.steps

    @staticmethod
    def places_of(error: BaseException) -> list[Place]:
        """The innermost line that an exception passed through and that is neither the simulator's nor a library's."""
        ours = str(Path(__file__).parent)
        frames = traceback.extract_tb(error.__traceback__)
        mine = [f for f in frames if not f.filename.startswith((ours, torch.__path__[0], "<"))]
        return [Place(f.filename, f.lineno or 0) for f in mine[-1:]]

    @contextlib.contextmanager
    def active(self) -> Iterator[Session]:
        """While it lasts, host code runs here. A finding that ends a run ends the `with` block quietly."""
        from triton.runtime.jit import JITFunction

        def run(kernel: Any, *arguments: Any, grid: Any, warmup: bool = False, **options: Any) -> None:
            self.launch(kernel, grid, arguments, options)

        properties = SimpleNamespace(multi_processor_count=self.sms, major=9, minor=0, name="simulated sm90")
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # more cost 100 times as much for products of this size
        try:
            with (
                mock.patch.object(JITFunction, "run", run),
                mock.patch.object(torch.cuda, "get_device_properties", lambda *_: properties),
                mock.patch.object(torch.cuda, "device", contextlib.nullcontext),
                mock.patch.object(torch.cuda, "synchronize", lambda *_: None),
                _OnCpu(),
                contextlib.suppress(Stop),
            ):
                yield self
        finally:
            torch.set_num_threads(threads)


def _program() -> Program:
    """Made anew for each launch: it costs a millisecond, and a module may have been changed since."""
    import triton.language
    import triton.language.extra.tlx
    from triton.runtime.jit import JITFunction

    def unwrap(value: Any) -> Any:
        return value.fn if isinstance(value, JITFunction) else None

    return Program(triton.language, triton.language.extra.tlx, unwrap)


def load_module(path: Path) -> ModuleType:
    """The module in a file, fresh."""
    spec = importlib.util.spec_from_file_location(f"tlxgen_simulated_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
