"""Where tensor memory of 64 rows lies in an MMA of two CTAs, which only the MMA itself decides.

Its accumulator D of 64 x N takes 128 lanes of N / 2 columns: lanes 64 and up hold the right half ("halved"). An A of 64
rows in tensor memory is there twice, in lanes 0 and 64 and up ("doubled"). All others take 64 lanes ("plain"). Aliases
are placed by these sizes before any MMA comes, so a launch begins with an assumption for each allocation and, when an
MMA contradicts it, begins again. (fbtriton, mma_ops.py, async_dot; LinearLayoutConversions.cpp,
tensorMemoryToLinearLayout; StorageAliasSizeDefinition.cpp; PTX ISA, tcgen05, data path layout B.)
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
    """An MMA contradicts what was assumed: the launch begins again."""


@dataclass
class Layouts:
    """What is known of the allocations of one launch. `pairs`: its kernel has MMAs of two CTAs."""

    pairs: bool
    _known: dict[Site, Layout] = field(default_factory=dict)
    _assumed: set[Site] = field(default_factory=set)  # sites that are not known and were taken for accumulators
    _used: set[Site] = field(default_factory=set)  # sites that are known from an MMA
    _tried: set[Site] = field(
        default_factory=set
    )  # sites that are plain because a launch ended before any MMA used them

    def of(self, site: Site, rows: int, dtype: torch.dtype) -> Layout:
        """The layout of an allocation. Unknown ones of float32 are taken for accumulators."""
        if not self.pairs or rows != ROWS:
            return "plain"
        if site not in self._known and dtype == torch.float32:
            self._assumed.add(site)
            return "halved"
        return self._known.get(site, "plain")

    def use(self, site: Site | None, layout: Layout, now: Layout) -> None:
        """An MMA needs an allocation, which lies as `now`, as `layout`. Raises Relayout when that differs."""
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
        """After a launch: what was taken for an accumulator and used by no MMA is plain. Whether anything was."""
        self._known |= dict.fromkeys(self._assumed, "plain")
        changed = bool(self._assumed)
        self._assumed.clear()
        return changed

    def retry(self, unfit: bool) -> bool:
        """After a launch that ended early, so that its MMAs do not tell: whether it has to begin again.

        What no MMA has used is tried as plain. Where that launch ends early as well, because it is `unfit` (what was
        allocated does not fit, or not together), it is an accumulator after all.
        """
        if self._assumed:
            self._tried |= self._assumed
            return self.revise()
        undecided = self._tried - self._used if unfit else set()
        self._tried.clear()
        self._known |= dict.fromkeys(undecided, "halved")
        return bool(undecided)
