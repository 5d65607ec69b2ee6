"""The layout of tensor memory with 64 rows in an MMA of two CTAs, which depends on the MMA.

An accumulator D of 64 x N takes 128 lanes of N / 2 columns, where lanes 64 and up hold the right half ("halved"). An A
of 64 rows in tensor memory is stored twice, in lanes from 0 and from 64 on ("doubled"). All others take 64 lanes
("plain"). The offsets of aliases depend on these sizes before any MMA is executed, so a launch starts with an
assumption for each allocation and, if an MMA contradicts it, starts again. (fbtriton, mma_ops.py, async_dot;
LinearLayoutConversions.cpp, tensorMemoryToLinearLayout; StorageAliasSizeDefinition.cpp; PTX ISA, tcgen05, data path
layout B.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch

from .findings import KernelFault

Layout = Literal["plain", "halved", "doubled"]
Site = tuple[int, ...]  # the lines of kernel source that lead to an allocation
ROWS = 64


class Relayout(Exception):
    """An MMA contradicts an assumed layout, so the launch must start again."""


@dataclass
class Layouts:
    """The known layouts of the allocations of one launch. `pairs`: its kernel has MMAs of two CTAs."""

    pairs: bool
    _known: dict[Site, Layout] = field(default_factory=dict)
    _assumed: set[Site] = field(default_factory=set)  # unknown sites that are assumed to be accumulators
    _used: set[Site] = field(default_factory=set)  # sites whose layout an MMA has shown
    _tried: set[Site] = field(
        default_factory=set
    )  # sites that are plain because a launch ended before any MMA used them

    def of(self, site: Site, rows: int, dtype: torch.dtype) -> Layout:
        """The layout of an allocation. Unknown ones of float32 are assumed to be accumulators."""
        if not self.pairs or rows != ROWS:
            return "plain"
        if site not in self._known and dtype == torch.float32:
            self._assumed.add(site)
            return "halved"
        return self._known.get(site, "plain")

    def use(self, site: Site | None, layout: Layout, now: Layout) -> None:
        """Notes that an MMA needs an allocation in `layout`. Raises Relayout if its layout `now` differs."""
        if site is None:
            return
        if site in self._used and layout != self._known[site]:
            raise KernelFault(f"tensor memory is {layout} for one MMA, {self._known[site]} for another")
        self._used.add(site)
        self._known[site] = layout
        self._assumed.discard(site)
        if layout != now:
            raise Relayout

    def revise(self) -> bool:
        """After a launch, marks assumed accumulators that no MMA used as plain. Returns whether there were any."""
        self._known |= dict.fromkeys(self._assumed, "plain")
        changed = bool(self._assumed)
        self._assumed.clear()
        return changed

    def retry(self, unfit: bool) -> bool:
        """Whether a launch that ended early, before all of its MMAs, must start again.

        Allocations that no MMA has used are tried as plain. If that launch also ends early because it is `unfit` (its
        allocations do not fit), they are accumulators after all.
        """
        if self._assumed:
            self._tried |= self._assumed
            return self.revise()
        undecided = self._tried - self._used if unfit else set()
        self._tried.clear()
        self._known |= dict.fromkeys(undecided, "halved")
        return bool(undecided)
