"""tcgen05 products of a loop in the order in which one thread issues them, and what follows for their operands.

The tensor core executes the products of one thread in the order of issue, and a commit completes after all products
that were issued before it. So the commit of a later product can also release the slot that an earlier one has read.
This module imports nothing of tlxgen.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """One product of a step: the ring that it writes, and the rings that it reads.

    `behind` is the number of rounds by which it is issued later than a product that is not behind.
    """

    into: str
    reads: tuple[str, ...]
    behind: int = 0


@dataclass(frozen=True)
class Order:
    """The products of one round of the loop. A product with `behind` 1 belongs to the step of the preceding round."""

    products: tuple[Product, ...]

    def product(self, into: str) -> Product:
        return next(p for p in self.products if p.into == into)

    def place(self, product: Product) -> tuple[int, int]:
        """When the product of step 0 is issued: the round, and the position in that round."""
        return product.behind, self.products.index(product)

    def precedes(self, first: str, second: str, later: int = 0) -> bool:
        """Whether the product into `first` of step i is issued before the product into `second` of step i + `later`."""
        behind, at = self.place(self.product(second))
        return self.place(self.product(first)) < (behind + later, at)

    def last_reader(self, ring: str) -> Product:
        """The last product of a step that reads a ring. When it is complete, all products have read the slot."""
        return max((p for p in self.products if ring in p.reads), key=self.place)

    def held(self, ring: str) -> int:
        """How many slots of a ring are in use at once: later steps may read theirs before this step's last reader."""
        behind, at = min(self.place(p) for p in self.products if ring in p.reads)
        last, after = self.place(self.last_reader(ring)), itertools.count(1)
        return next(n for n in after if (behind + n, at) > last)

    def releases(self, product: Product, rings: tuple[str, ...]) -> tuple[str, ...]:
        """Those of `rings` whose slots are free when the product is complete."""
        return tuple(r for r in rings if r in product.reads and self.last_reader(r) == product)

    def free_by(self, ring: str, product: str) -> bool:
        """Whether the commit of `product` in the next step implies that all products have read the slot of a ring."""
        return self.precedes(self.last_reader(ring).into, product, later=1)

    def runs(self) -> tuple[tuple[int, tuple[Product, ...]], ...]:
        """The products of a round in order. Adjacent ones with the same `behind` are one run."""
        return tuple((behind, tuple(run)) for behind, run in itertools.groupby(self.products, lambda p: p.behind))
