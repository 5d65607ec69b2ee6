"""Generated products as candidates of torch.compile's max-autotune. These parts of torch are private: 2.11 to 2.13 have
`external_matmul`, and newer ones `register_custom_op_autotuning`.

    from hopper_gemm import hopper_gemm
    register_matmul(hopper_gemm)
    torch.compile(model, mode="max-autotune")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

Matmul = Callable[..., Any]

_known: dict[str, tuple[Matmul, Callable[[Any, Any, Any], None]]] = {}  # Inductor keeps a name for good


def register_matmul(function: Matmul, name: str | None = None) -> Callable[[Any, Any, Any], None]:
    """Makes a generated product a candidate for every `mm` that max-autotune compiles; returns the candidate.

    `function(a, b, out=out)` writes a (M, K) @ b (K, N) into out (M, N). Of a product that it refuses, such as one of
    another type or of rows that TMA cannot address, the candidate is torch's own. `name`: by default the function's.

    Raises RuntimeError where this torch has no such list, ValueError for a name that a candidate has or, for another
    function, that one had.
    """
    from torch._inductor import config

    candidates = getattr(config, "external_matmul", None)
    if not isinstance(candidates, list):
        raise RuntimeError(f"torch {torch.__version__} has no torch._inductor.config.external_matmul")
    name = name or f"tlxgen_{function.__name__}"
    if any(getattr(one, "__name__", "") == name for one in candidates):
        raise ValueError(f"{name}: a candidate for mm has that name")
    known = _known.get(name)
    if known is not None:
        if known[0] is not function:
            raise ValueError(f"{name}: a candidate for mm of another function had that name; name= gives another")
        candidates.append(known[1])
        return known[1]

    def candidate(a: Any, b: Any, out: Any) -> None:
        try:
            function(a, b, out=out)
        except (TypeError, ValueError):  # it checks its arguments before it launches
            torch.mm(a, b, out=out)

    candidate.__name__ = candidate.__qualname__ = name  # what Inductor's code calls it by
    candidates.append(candidate)
    _known[name] = function, candidate
    return candidate


def unregister_matmul(candidate: Callable[[Any, Any, Any], None]) -> None:
    """Takes a candidate back. What has been compiled keeps it."""
    from torch._inductor import config

    config.external_matmul.remove(candidate)


def register_choices(
    operator: Any, candidates: Sequence[Callable[..., Any]], inputs: Mapping[str, Callable[[Any], Any]] | None = None
) -> None:
    """Has max-autotune choose among `candidates` wherever it compiles `operator`: an overload of torch's, such as
    torch.ops.aten.mm.default, or a torch.library.custom_op.

    Candidates take the operator's arguments and give its results, all in one layout: torch's own operator, and
    `node_of(function)` of generated ones. `inputs`: by argument, what makes inputs to measure with of fake ones.

    Raises RuntimeError where this torch cannot.
    """
    try:
        from torch._inductor.kernel.custom_op import CustomOpConfig, register_custom_op_autotuning
    except ImportError as error:
        raise RuntimeError(f"torch {torch.__version__} has no register_custom_op_autotuning") from error
    configs = [CustomOpConfig(candidate) for candidate in candidates]
    register_custom_op_autotuning(operator, configs=configs, input_gen_fns=dict(inputs) if inputs else None)


def node_of(function: Matmul, config: int = -1) -> Callable[..., Any]:
    """A generated host function as tracing sees it: its operator of torch. `config`: an index into CONFIGS of a module;
    -1 has it picked."""
    operator = function.operator  # type: ignore[attr-defined]
    picks = (config,) if operator.picks else ()
    if config >= 0 and not picks:
        raise ValueError(f"{operator.name} chooses among modules, which have CONFIGS each: give the function of one")

    def node(*arguments: Any) -> Any:
        return operator.node(*arguments, *picks)

    node.__name__ = node.__qualname__ = f"tlxgen_{operator.name}" + (f"_{config}" if config >= 0 else "")
    return node
