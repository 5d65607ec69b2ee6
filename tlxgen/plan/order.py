"""tcgen05 products of a loop in the order in which one thread issues them, and what follows for their operands.

The tensor core does what a thread has issued in that order, and a commit says that all of it so far is done: so a slot
that a product has read may be free by a later product's commit, without a barrier of its own. LEAF: imports nothing.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """A product of each step: the ring that it writes, those that it reads, and how many steps it is `behind`."""

    into: str
    reads: tuple[str, ...]
    behind: int = 0


@dataclass(frozen=True)
class Order:
    """The products of a round of the loop. One that is a step behind is of the step of the round before."""

    products: tuple[Product, ...]

    def product(self, into: str) -> Product:
        return next(p for p in self.products if p.into == into)

    def place(self, product: Product) -> tuple[int, int]:
        """When the product of step 0 is issued: the round, and its place there."""
        return product.behind, self.products.index(product)

    def precedes(self, first: str, second: str, later: int = 0) -> bool:
        """Whether the product into `first` of a step is issued before that into `second` of `later` steps after it."""
        behind, at = self.place(self.product(second))
        return self.place(self.product(first)) < (behind + later, at)

    def last_reader(self, ring: str) -> Product:
        """The last product of a step that reads a ring: when it is done, so are the others, and the slot is free."""
        return max((p for p in self.products if ring in p.reads), key=self.place)

    def held(self, ring: str) -> int:
        """How many slots of a ring are in use at a time: later steps may read theirs before the last product does."""
        behind, at = min(self.place(p) for p in self.products if ring in p.reads)
        last, after = self.place(self.last_reader(ring)), itertools.count(1)
        return next(n for n in after if (behind + n, at) > last)

    def releases(self, product: Product, rings: tuple[str, ...]) -> tuple[str, ...]:
        """Those of `rings` whose slots are free when the product is done."""
        return tuple(r for r in rings if r in product.reads and self.last_reader(r) == product)

    def free_by(self, ring: str, product: str) -> bool:
        """Whether the commit of a product of the next step says that all products have read the slot of a ring."""
        return self.precedes(self.last_reader(ring).into, product, later=1)

    def runs(self) -> tuple[tuple[int, tuple[Product, ...]], ...]:
        """The products of a round, neighbours that are as many steps behind together."""
        return tuple((behind, tuple(run)) for behind, run in itertools.groupby(self.products, lambda p: p.behind))
