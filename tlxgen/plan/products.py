"""wgmma products of a task, in the order in which its source issues them. LEAF: imports nothing."""

from __future__ import annotations


class Products:
    """The products under way where the text of a task has come to.

    They complete in the order of issue, so that to wait for one is to wait until no more are under way than were issued
    after it: that number is counted here, while the source is written, and by nobody else. An iteration of a loop
    waits for all that it has issued.
    """

    def __init__(self) -> None:
        self.under_way: list[str] = []

    def issue(self, name: str) -> str:
        """Notes a product by the name of its result; nothing to print."""
        self.under_way.append(name)
        return ""

    def after(self, name: str) -> int:
        """How many were issued after the last product of that name, which is done from here on. Raises ValueError."""
        if name not in self.under_way:
            raise ValueError(f"nothing of {name} is under way, only {', '.join(self.under_way) or 'nothing'}")
        last = len(self.under_way) - self.under_way[::-1].index(name)
        self.under_way = self.under_way[last:]
        return len(self.under_way)
