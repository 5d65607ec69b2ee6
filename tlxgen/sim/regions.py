"""Parts of a storage: by the index of each element, or as a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import torch


@dataclass(frozen=True)
class Box:
    """Elements of a storage: a grid of `shape`, `strides` apart, from index `start` on."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int

    @property
    def end(self) -> int:
        """One past the last index, of strides that are not negative."""
        last = self.start
        for n, stride in zip(self.shape, self.strides, strict=True):
            last += (n - 1) * stride
        return last + 1

    def of(self, flat: torch.Tensor) -> torch.Tensor:
        """A view of them."""
        return flat.as_strided(self.shape, self.strides, self.start)


Region: TypeAlias = "torch.Tensor | Box"  # a part of a storage: indices, or a box


def get(flat: torch.Tensor, at: Region) -> torch.Tensor:
    """The elements of a region, in its shape: a view of those of a box."""
    return at.of(flat) if isinstance(at, Box) else flat[at]


def put(flat: torch.Tensor, at: Region, value: Any) -> None:
    """Sets the elements of a region to a number, or to those of a tensor."""
    if isinstance(at, Box):
        at.of(flat)[...] = value
    else:
        flat[at] = value


def only(values: torch.Tensor) -> int | None:
    """The integer that all of them are; None where they differ, and of none."""
    if not values.numel():
        return None
    least, most = torch.aminmax(values)
    number = int(least)
    return number if number == int(most) else None


def distinct(values: torch.Tensor) -> list[int]:
    """The different integers among them, in ascending order. Most regions have one, which is found faster."""
    number = only(values)
    return torch.unique(values).tolist() if number is None else [number]
