"""`storage_alias_spec` and `reuse_group`: the offsets of buffers that share a storage, as fbtriton computes them.

The leaves of an alias plan are buffers. A shared group puts its elements at one offset, and a distinct group puts them
one after the other. Offsets are columns in tensor memory and bytes in shared memory. (fbtriton,
BufferOffsetCalculation.cpp and StorageAliasAllocation.cpp.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .findings import KernelFault
from .memory import Buffer, Kind, Storage

SMEM_ALIGNMENT = 128


class GroupType:
    """`tlx.reuse_group_type`."""

    shared = "shared"
    distinct = "distinct"


@dataclass(eq=False)
class Group:
    """`tlx.reuse_group`: `size` consecutive slots of its elements count as one."""

    elements: tuple[Element, ...]
    kind: str
    size: int


Element = Buffer | Group


@dataclass(eq=False)
class AliasSpec:
    """`tlx.storage_alias_spec`: the storage of the buffers that are allocated with `reuse=` this."""

    kind: Kind
    storage: Storage
    check: Callable[[], None]  # checks that the CTA has room for it
    buffers: list[Buffer] = field(default_factory=list)
    planned: bool = False

    def set_buffer_overlap(self, plan: Group) -> None:
        """Sets the offset of every buffer of `plan`."""
        if self.planned:
            raise KernelFault("set_buffer_overlap comes once for a storage_alias_spec")
        if any(leaf not in self.buffers for leaf in _leaves(plan)):
            raise KernelFault("a buffer of the reuse_group does not name this storage_alias_spec with reuse=")
        self.planned = True
        align = _alignment(plan)
        between = _up(_size(plan, align), align)
        _place(plan, 0, between, align, 1)
        self.storage.fit(between * next(_leaves(plan)).num)
        for buffer in self.buffers:
            self.storage.fit(buffer.extent)
        self.check()


def _leaves(element: Element) -> Iterator[Buffer]:
    if isinstance(element, Buffer):
        yield element
    else:
        for child in element.elements:
            yield from _leaves(child)


def _up(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


def _alignment(element: Element) -> int:
    if isinstance(element, Group):
        return max(map(_alignment, element.elements))
    return element.unit if element.storage.kind == "tmem" else SMEM_ALIGNMENT


def _child_alignment(child: Element, align: int) -> int:
    return _alignment(child) if next(_leaves(child)).storage.kind == "tmem" else align


def _size(element: Element, align: int) -> int:
    """The size of one group of slots."""
    if isinstance(element, Buffer):
        return element.unit
    if element.kind == GroupType.shared:
        return max(_size(child, align) for child in element.elements) * element.size
    total = 0
    for child in element.elements:
        total = _up(total, _child_alignment(child, align)) + _size(child, align)
    return total


def _place(element: Element, offset: int, between: int, align: int, group: int) -> None:
    if isinstance(element, Buffer):
        if between % element.unit or offset % element.unit:
            text = f"{element.name}: its offset {offset} and distance {between} must be multiples of its {element.unit}"
            raise KernelFault(text)
        # fbtriton rewrites an index, and divides it by the group's size, only if something else in it changes as well.
        element.place(offset, between, group if between > element.unit or offset else 1)
    elif element.kind == GroupType.shared:
        for child in element.elements:
            _place(child, offset, between // element.size, align, group * element.size)
    else:
        at = offset
        for child in element.elements:
            at = _up(at, _child_alignment(child, align))
            _place(child, at, between, align, group)
            at += _size(child, align)
        if at - offset > between:
            raise KernelFault(f"a distinct reuse_group needs {at - offset}, and has {between}")
