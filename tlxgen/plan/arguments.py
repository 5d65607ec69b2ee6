"""Arguments as data: those of a kernel, and those of the host function that users call.

A kernel has one list of arguments. Its signature, the types of an offline compile, the host's launch and the
simulator's call are all made from that list. A host function also has one list, from which its signature, docstring,
checks, table key and torch operator are made. This module imports nothing of tlxgen but sizes.
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
    an address belongs to, and `view` is an expression for the part of that tensor `t` that is passed. `box` holds the
    extents of a descriptor's block, in the host's names; `describe` is the host function that makes the descriptor.
    `value` is the host's expression for a scalar. If `specialized`, the compiler may specialise the kernel on the
    argument's value. If `divisible`, the value is a multiple of 16 for an aligned problem. If `single`, 1 is a usual
    value of it: one batch, one head, one row.
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
    single: bool = False

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
    """The address of the host tensor `of`, or of the part of it that `view` selects."""
    return KernelArgument(name, f"*{element}", of, view)


def scalar(
    name: str,
    value: str,
    type: str = "i32",
    *,
    specialized: bool = True,
    divisible: bool = False,
    single: bool = False,
) -> KernelArgument:
    """A scalar argument; `value` is the host's expression for it."""
    return KernelArgument(
        name, type, value=value, specialized=specialized, divisible=divisible and specialized, single=single
    )


@dataclass(frozen=True)
class HostArgument:
    """An argument of a host function.

    `meaning` is its part of the docstring; it is empty where the lines of another argument describe both. `schema` is
    its type in the schema of a torch operator. `default` is source text; an argument without one is required. `shape`
    is the host's expression for the shape that a tensor must have, `dtypes` are the torch types that it may have, and
    `wants` names the layout that the kernel needs, in the words of the host's `check`. The host allocates a `result`
    that the caller does not pass; the rows of a `padded` one start at multiples of 16 bytes. `encoded` is the
    expression that a torch operator receives, and `decoded` the one that it passes on, where these differ from the
    argument itself. A `general` argument may have more strides than in other structures of the spec; the docstring of
    a function that chooses among structures then uses this argument's `meaning`.
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
    """The host function of a module: its arguments, and the extents by which it picks a config.

    `varying` scalars may change from launch to launch and do not affect the launch's layout. `variables` are local
    names of the host function that refer to one tensor or another, as the function decides. `companions` are other
    public functions of the module. A `paired` one tells its backward, of another module, how it prepares calls.
    """

    arguments: tuple[HostArgument, ...] = ()
    extents: tuple[str, ...] = ()
    varying: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    paired: bool = False

    def among(self, others: Iterable[Host]) -> Host:
        """The host of a function that chooses among this module and `others`: it accepts what any of them accepts."""
        return self.told({a.name: a.meaning for host in others for a in host.arguments if a.general})

    def told(self, meanings: Mapping[str, str]) -> Host:
        """A copy in which the named arguments have the given meanings."""
        arguments = tuple(replace(a, meaning=meanings.get(a.name, a.meaning)) for a in self.arguments)
        return replace(self, arguments=arguments)

    @property
    def results(self) -> tuple[HostArgument, ...]:
        return tuple(a for a in self.arguments if a.result)

    @property
    def inputs(self) -> tuple[HostArgument, ...]:
        """All arguments but the results, in order: the inputs of a torch operator."""
        return tuple(a for a in self.arguments if not a.result)

    @property
    def pads(self) -> bool:
        """Whether the host pads the rows of a result that it allocates."""
        return any(a.padded for a in self.results)

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of the input tensors, then of the results."""
        return tuple(a.name for a in (*self.inputs, *self.results) if a.is_tensor)
