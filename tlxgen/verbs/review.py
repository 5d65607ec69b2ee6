"""`tlxgen review A B`: a change as a page for a browser, and as text for a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tlxgen.files import require_outputs, write_atomic
from tlxgen.review.extra import require
from tlxgen.review.report import markdown as short
from tlxgen.review.report.review import made
from tlxgen.words import counted


def run(given: Sequence[str], html: Path | None, *, markdown: bool) -> None:
    """Writes the page, and prints the short form. Raises ReviewError if a side does not exist or cannot be compared."""
    if html:
        require_outputs({"--html": html})
        require("networkx", "pictures of plans")
    review = made(given)
    if html:
        from tlxgen.review.report.page import page  # draws with networkx, which comes with an extra

        data = page(review).encode()
        write_atomic(html, data)
        told = counted(len(review.change.structures()), "kernel module") + ", " + counted(review.distinct, "hunk")
        if not markdown:
            print(f"wrote {html}: {told}, {len(data) / 1e6:.1f} MB")
    if markdown:
        print(short.text(review), end="")
