"""Counts the wgmma products of a task in the order in which its source issues them. Imports nothing of tlxgen."""

from __future__ import annotations


class Products:
    """The products in flight at the current line of a task's source.

    Products complete in the order of issue, so a wait for one of them is a wait until at most as many are in flight as
    were issued after it. Only this class counts that number, while the source is rendered. An iteration of a loop waits
    for all products that it has issued.
    """

    def __init__(self) -> None:
        self.under_way: list[str] = []

    def issue(self, name: str) -> str:
        """Records a product by the name of its result. Returns the empty string, so that a template prints nothing."""
        self.under_way.append(name)
        return ""

    def after(self, name: str) -> int:
        """How many products were issued after the last one of that name, which is complete from here on.

        Raises ValueError if no product of that name is in flight.
        """
        if name not in self.under_way:
            raise ValueError(f"nothing of {name} is under way, only {', '.join(self.under_way) or 'nothing'}")
        last = len(self.under_way) - self.under_way[::-1].index(name)
        self.under_way = self.under_way[last:]
        return len(self.under_way)
