"""A simulator's session that executes nothing: it records what each launch would compile. Imports torch and triton."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from tlxgen.compile import Resources
from tlxgen.compile.compiler import CAPABILITY, compiled, def_line
from tlxgen.sim import NoSuchConfig, Session

from .kernels import Kernel

SHOWN = ("num_warps", "num_stages", "num_ctas", "maxnreg")  # options that a reader asks for


@dataclass(frozen=True)
class Recorded:
    """A kernel with the objects that compile it."""

    kernel: Kernel
    function: Any
    types: dict[str, Any]
    constants: dict[Any, Any]
    attributes: dict[Any, Any]
    options: dict[str, Any]

    def compile(self) -> Resources:
        """Raises what Triton raises."""
        capability = CAPABILITY[self.kernel.arch]
        return compiled(self.function, self.types, self.constants, self.attributes, self.options, capability)


@dataclass(eq=False)
class Recorder(Session):
    """Launches leave every tensor as it is. `only` one config of an autotuned kernel, or, if None, each of them."""

    only: int | None = None
    recorded: dict[str, Recorded] = field(default_factory=dict)  # by key
    _config: tuple[int | None, int] = (None, 0)

    def launch(self, kernel: Any, grid: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        found = specialised(kernel, arguments, options, self.arch, grid)
        config, configs = self._config
        key = found.kernel.key
        self.recorded.setdefault(key, replace(found, kernel=replace(found.kernel, config=config, configs=configs)))
        self.kernel = kernel.fn.__name__
        self.launches += 1

    def tune(self, tuner: Any, grid: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        self.tuned = True
        configs = self.configs_of(tuner, arguments, options)
        if self.only is not None and self.only >= len(configs):
            raise NoSuchConfig(tuner.base_fn.__name__, self.only, len(configs))
        wanted = range(len(configs)) if self.only is None else (self.only,)
        for number in wanted:
            self._config = (number, len(configs))
            try:
                self.launch_config(tuner, configs[number], grid, arguments, options)
            finally:
                self._config = (None, 0)
        tuner.best_config = configs[wanted[0]]


def specialised(
    kernel: Any, arguments: tuple[Any, ...], options: Mapping[str, Any], arch: str, grid: Any = None
) -> Recorded:
    """What Triton compiles for `kernel[grid](*arguments, **options)`: by its own binder, as `JITFunction.run` does.

    Raises what Triton raises for arguments and options that the kernel does not take.
    """
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend
    from triton.runtime.jit import create_function_from_signature

    backend = make_backend(GPUTarget("cuda", CAPABILITY[arch], 32))
    binder = create_function_from_signature(kernel.signature, kernel.params, backend)
    debug = options.get("debug", kernel.debug) or False
    given = {"sanitize_overflow": debug, "instrumentation_mode": "", **options, "debug": debug}
    with torch._C.DisableTorchFunction():
        bound, special, rest = binder(*arguments, **given)
        chosen, types, constants, attributes = kernel._pack_args(backend, given, bound, special, rest)
    if callable(grid):
        grid(bound)  # host code, which may have something to say about the arguments
    text = f"{arch} {_source_key(kernel)} {special} {chosen}"
    about = Kernel(
        key=hashlib.sha256(text.encode()).hexdigest(),
        name=kernel.fn.__name__,
        path=kernel.fn.__code__.co_filename,
        line=def_line(kernel),
        arch=arch,
        types={name: str(type_) for name, type_ in types.items()},
        constants={_path(kernel.arg_names, path): _plain(value) for path, value in constants.items()},
        divisible=tuple(_path(kernel.arg_names, path) for path, kinds in attributes.items() if _divisible(kinds)),
        options=_options(chosen),
    )
    return Recorded(about, kernel, types, constants, attributes, dict(vars(chosen)))


def _source_key(kernel: Any) -> str:
    """A digest of a kernel's source and all that it refers to; its text where Triton refuses what it refers to."""
    try:
        return str(kernel.cache_key)
    except Exception:
        return f"{kernel.fn.__code__.co_filename} {kernel.fn.__qualname__} {kernel.src}"


def _options(chosen: Any) -> dict[str, Any]:
    cluster = list(chosen.ctas_per_cga or chosen.cluster_dims)
    return {name: getattr(chosen, name) for name in SHOWN} | {"cluster": cluster}


def _path(names: list[str], path: tuple[int, ...]) -> str:
    """The parameter at a path, or the member of one that is a tuple."""
    return names[path[0]] + "".join(f"[{index}]" for index in path[1:])


def _plain(value: Any) -> Any:
    value = getattr(value, "value", value)  # of a tl.constexpr
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _divisible(kinds: Any) -> bool:
    return any(kind[0] == "tt.divisibility" for kind in kinds or ())
