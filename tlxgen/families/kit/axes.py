"""The table of a family's axes: each says once what the kernel calls it, what it means, and which rules it breaks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tlxgen.plan import Parameter, Size


def _always(spec: Any) -> bool:
    return True


def _plain(value: Any) -> str:
    return ""


@dataclass(frozen=True)
class Axis:
    """A key of the spec.

    With a `parameter` it only changes a constant: that constexpr parameter of the kernel, which `means` this. With an
    `option` it only changes that one of a launch. With neither it changes the program. `blame`: the rules of the plan
    (`Reason.rule`) that a variant most likely breaks by it. `has` says whether kernels of a spec have the parameter.
    Where every variant of a structure has the value `default`, it is a constant of the source unless the spec says
    `keep`. `form`: what a value changes of the program beside, as a word; values of one form share a source.
    """

    path: str
    parameter: str | None = None
    means: str = ""
    blame: tuple[str, ...] = ()
    has: Callable[[Any], bool] = _always
    default: int | None = None
    option: str = ""
    form: Callable[[Any], str] = _plain

    def of(self, spec: Any) -> Any:
        """Its value in a spec."""
        return functools.reduce(getattr, self.path.split("."), spec)


def config_axes(axes: Sequence[Axis]) -> dict[str, str]:
    """The paths that only change constants or launches, and the parameters or options that they are."""
    return {axis.path: axis.parameter or axis.option for axis in axes if axis.parameter or axis.option}


def blame(axes: Sequence[Axis]) -> dict[str, str]:
    """Rule -> the path that it is most likely broken by."""
    return {rule: axis.path for axis in axes for rule in axis.blame}


def sizes(axes: Sequence[Axis], spec: Any) -> dict[str, Size]:
    """The sizes of a spec's kernels by parameter, each as text and value."""
    return {a.parameter: Size.of(a.parameter, a.of(spec)) for a in axes if a.parameter and a.has(spec)}


def parameters(
    axes: Sequence[Axis], spec: Any, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool]
) -> list[Parameter]:
    """The constexpr parameters of a spec's kernels: those of the axes, then the guards."""
    own = [a for a in axes if a.parameter and a.has(spec)]
    made = [Parameter(str(a.parameter), a.of(spec), a.means, a.parameter in baked) for a in own]
    made += [Parameter(g, v, "whether the guarded task is there", g in baked) for g, v in guards.items()]
    return made
