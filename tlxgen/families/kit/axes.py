"""The table of a family's axes: for each key its kernel parameter, its meaning, and the rules that blame it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tlxgen.plan import Parameter, Size


def _always(spec: Any) -> bool:
    return True


def _plain(value: Any, spec: Any) -> str:
    return ""


@dataclass(frozen=True)
class Axis:
    """A key of the spec.

    With a `parameter` it only changes that constexpr parameter of the kernel, which `means` describes. With an `option`
    it only changes that option of a launch. With neither it changes the program. `blame` lists the rules of the plan
    (`Reason.rule`) that a variant most likely breaks by this key. `has` says whether the kernels of a spec have the
    parameter. Where every variant of a structure has the value `default`, it is a constant of the source unless the
    spec says `keep`. `form` gives a word for what a value changes in the program of a spec; values of one form share a
    source.
    """

    path: str
    parameter: str | None = None
    means: str = ""
    blame: tuple[str, ...] = ()
    has: Callable[[Any], bool] = _always
    default: int | None = None
    option: str = ""
    form: Callable[[Any, Any], str] = _plain

    def of(self, spec: Any) -> Any:
        """The key's value in a spec."""
        return functools.reduce(getattr, self.path.split("."), spec)


def config_axes(axes: Sequence[Axis]) -> dict[str, str]:
    """Path -> parameter or option, for the axes that only change constants or launches."""
    return {axis.path: axis.parameter or axis.option for axis in axes if axis.parameter or axis.option}


def blame(axes: Sequence[Axis]) -> dict[str, str]:
    """Rule -> the path that most likely breaks it."""
    return {rule: axis.path for axis in axes for rule in axis.blame}


def sizes(axes: Sequence[Axis], spec: Any) -> dict[str, Size]:
    """Parameter -> size, with text and value, for a spec's kernels."""
    return {a.parameter: Size.of(a.parameter, a.of(spec)) for a in axes if a.parameter and a.has(spec)}


def parameters(
    axes: Sequence[Axis], spec: Any, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool]
) -> list[Parameter]:
    """The constexpr parameters of a spec's kernels: first those of the axes, then the guards."""
    own = [a for a in axes if a.parameter and a.has(spec)]
    made = [Parameter(str(a.parameter), a.of(spec), a.means, a.parameter in baked) for a in own]
    made += [Parameter(g, v, "whether the guarded task is there", g in baked) for g, v in guards.items()]
    return made
