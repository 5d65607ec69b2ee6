"""Arguments as data: those of a kernel, and those of the host function that people call.

One list a kernel gives its signature, the types of an offline compile, what the host launches it with and what the
simulator calls; one list a host function gives its signature, docstring, checks, table key and operator of torch.
LEAF of the plan: imports nothing of tlxgen but sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .size import Size


@dataclass(frozen=True)
class KernelArgument:
    """A run-time argument of a kernel. A kernel has its descriptors first, then addresses, then scalars.

    `type` is Triton's: "tensordesc<bf16[64, 64]>", "*bf16", "i32", "fp32". `of` is the host tensor that a descriptor or
    an address belongs to, `view` what is meant of that tensor `t`, `box` its extents in the host's names,
    `describe` the host function that makes it. `value` is the host's expression for a scalar. `specialized`: the
    compiler may make something of its value; `divisible`: an aligned problem passes a multiple of 16.
    """

    name: str
    type: str
    of: str = ""
    view: str = "t"
    box: tuple[str, ...] = ()
    describe: str = "describe"
    remedy: str = ""
    value: str = ""
    specialized: bool = True
    divisible: bool = True

    @property
    def kind(self) -> Literal["descriptor", "address", "scalar"]:
        return "descriptor" if self.type.startswith("tensordesc") else "address" if self.of else "scalar"


def descriptor(
    name: str,
    element: str,
    box: Sequence[Size | int],
    of: str,
    *,
    view: str = "t",
    describe: str = "describe",
    remedy: str = "",
) -> KernelArgument:
    """A TMA descriptor of the host tensor `of`, whose elements have the Triton type `element`."""
    sizes = [extent if isinstance(extent, Size) else Size.literal(extent) for extent in box]
    kind = f"tensordesc<{element}[{', '.join(str(s.value) for s in sizes)}]>"
    texts = tuple(s.text.lower() for s in sizes)
    return KernelArgument(name, kind, of, view, texts, describe, remedy, divisible=False)


def address(name: str, element: str, of: str, *, view: str = "t") -> KernelArgument:
    """The address of the host tensor `of`, or of a part of it."""
    return KernelArgument(name, f"*{element}", of, view)


def scalar(
    name: str, value: str, type: str = "i32", *, specialized: bool = True, divisible: bool = False
) -> KernelArgument:
    """A number, by the host's expression for it."""
    return KernelArgument(name, type, value=value, specialized=specialized, divisible=divisible and specialized)


@dataclass(frozen=True)
class HostArgument:
    """An argument of a host function.

    `meaning` is its part of the docstring, empty where another one's lines tell of it. `schema` is its type in an
    operator's schema. `default` is a text; None: it must be given. `shape` is the host's expression of the shape that
    a tensor must have, `dtypes` the torch types that it may have, and `wants` what else the kernel needs of it, in the
    words of `check`. A `result` is made where it is not given, with rows of whole chunks of 16 bytes if `padded`. An
    operator of torch is handed `encoded`, and hands on `decoded`, where these are not the argument itself. `general`:
    it is taken with more strides than by other structures of the spec, and a function that chooses says so.
    """

    name: str
    meaning: str = ""
    schema: str = "Tensor"
    default: str | None = None
    keyword: bool = False
    shape: str = ""
    dtypes: tuple[str, ...] = ()
    wants: Literal["", "contiguous", "rows"] = ""
    result: bool = False
    padded: bool = False
    encoded: str = ""
    decoded: str = ""
    general: bool = False

    @property
    def is_tensor(self) -> bool:
        return self.schema.startswith("Tensor")


@dataclass(frozen=True)
class Host:
    """The host function of a module: its arguments, and the extents that a config is picked by.

    `varying` scalars are handed on at each launch and make no difference to a layout. `variables` of the host function
    stand for the name of a tensor, which it decides. `companions` are other functions of the module for people.
    """

    arguments: tuple[HostArgument, ...] = ()
    extents: tuple[str, ...] = ()
    varying: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()

    def among(self, others: Iterable[Host]) -> Host:
        """The same, as a function has it that chooses among this one's module and others: what any takes, it takes."""
        return self.told({a.name: a.meaning for host in others for a in host.arguments if a.general})

    def told(self, meanings: Mapping[str, str]) -> Host:
        """The same, with other meanings of the arguments that are named."""
        arguments = tuple(replace(a, meaning=meanings.get(a.name, a.meaning)) for a in self.arguments)
        return replace(self, arguments=arguments)

    @property
    def results(self) -> tuple[HostArgument, ...]:
        return tuple(a for a in self.arguments if a.result)

    @property
    def inputs(self) -> tuple[HostArgument, ...]:
        """All that is no result, in order: what an operator of torch takes."""
        return tuple(a for a in self.arguments if not a.result)

    @property
    def pads(self) -> bool:
        """Whether rows of a result that it makes are padded."""
        return any(a.padded for a in self.results)

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of the tensors that come in, and of the results."""
        return tuple(a.name for a in (*self.inputs, *self.results) if a.is_tensor)
