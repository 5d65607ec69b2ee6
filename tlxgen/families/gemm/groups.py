"""The groups of a grouped GEMM: which extent is each group's own, and what of A, B and C follows from that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Vary = Literal["m", "n", "k", "none"]
Given = Literal["offs", "split_sizes", "masked_m", "psum"]
EXTENTS = {"a": "mk", "b": "kn", "c": "mn"}


@dataclass(frozen=True)
class Groups:
    """Many products of one launch. `vary`: the extent that each group has of its own; `given`: how the caller says it.

    In the source `group` is an item's group, and `begin` and `end` are where that lies in what all groups share. A
    load that runs along it begins at a multiple of `chunk` elements, 16 bytes, at or before `begin`.
    """

    vary: Vary
    given: Given
    chunk: int = 1

    @property
    def first(self) -> str:
        """Where the tiles of a group begin."""
        return f"begin // {self.chunk} * {self.chunk}" if self.chunk > 1 else "begin"

    @property
    def stacked(self) -> str:
        """Which of a, b and c hold a matrix for each group; the others hold one that the groups share."""
        return {"m": "b", "n": "a", "k": "c", "none": "abc"}[self.vary]

    @property
    def clipped(self) -> str:
        """Which of a, b and c TMA must not touch beyond the group, so that their descriptors end with it.

        What is read beyond the rows of a group is not stored; beyond its K it would be added up.
        """
        return {"m": "c", "n": "", "k": "ab", "none": ""}[self.vary]

    @property
    def searched(self) -> bool:
        """Whether the kernel searches for the group of an item; otherwise each group has the same items."""
        return self.vary != "none"

    @property
    def extents(self) -> tuple[str, str]:
        """Rows and columns of an item's product."""
        return {"m": ("end - begin", "N"), "n": ("M", f"end - {self.first}")}.get(self.vary, ("M", "N"))

    @property
    def limits(self) -> tuple[str, str]:
        """Where the rows and the columns of C end that an item may write."""
        return {"m": ("end", "N"), "n": ("M", "end")}.get(self.vary, ("M", "N"))

    @property
    def whole(self) -> str:
        """The extent over all groups."""
        return self.vary.upper()

    @property
    def more(self) -> str:
        """What else the kernel is told of where groups lie."""
        return {"masked_m": "most", "psum": "alignment"}.get(self.given, "") if self.searched else ""

    @property
    def says(self) -> str:
        """What the caller's int32 of each group are."""
        along = {"m": "rows of a", "n": "columns of b", "k": "K"}.get(self.vary, "")
        return {
            "offs": f"where each group ends along {along}; it begins where the one before ends.",
            "split_sizes": f"how much of {along} each group has; they follow one another.",
            "masked_m": "how many rows of its matrix each group has.",
            "psum": f"where each group ends along {along}; it begins at the next multiple of `alignment`.",
        }[self.given]

    @property
    def apart(self) -> str:
        """Those that the caller has a matrix of for each group; masked rows lie in one, and are read as if together."""
        return self.stacked + "ac" * (self.given == "masked_m")

    @property
    def own_vectors(self) -> str:
        """The extents along which each group has a vector of its own, where the epilogue takes vectors."""
        return {"m": "N", "n": "M"}.get(self.vary, "MN")

    @property
    def vectors(self) -> tuple[str, ...]:
        """What the epilogue takes of which each group has its own: vectors, and the one number of `scale`."""
        return ("scale", *("scale_a",) * ("M" in self.own_vectors), *("bias", "scale_b") * ("N" in self.own_vectors))

    def shape(self, name: str) -> str:
        """The shape of a, b or c, for people."""
        own = [f"all {x.upper()}" if x == self.vary and name not in self.apart else x.upper() for x in EXTENTS[name]]
        return f"({', '.join(['G'] * (name in self.apart) + own)})"

    def host(self, name: str) -> str:
        """The same in the host's terms."""
        own = [f"all_{x}" if x == self.vary and name not in self.apart else x for x in EXTENTS[name]]
        own = ["most" if x == self.vary else x for x in own]
        return f"({', '.join(['g'] * (name in self.apart) + own)})"

    def each(self, name: str) -> str:
        return " each" if name in self.apart else ""

    def packed(self, name: str) -> str:
        """How the host sees MX scales as TMA copies them: blocks of 128 rows and 128 elements of K, two halves each."""
        lead = "1" if name == "a_scale" and self.searched else "g"
        return f"t.view(torch.uint8).view({lead}, -1, triton.cdiv(k, 128), 2, 256)"

    def descriptor(self, name: str, box: tuple[Any, ...], row_major: bool = True) -> tuple[str, tuple[Any, ...], str]:
        """How the host describes a, b or c to TMA: by which function, with which box, and of which view."""
        view = "t" if row_major else "t.mT" if name in self.stacked else "t.T"
        if self.given == "masked_m" and name in "ac":
            view = view.replace("t", "stacked_rows(t)", 1)
        if name in self.clipped:
            return "describe_ragged", (1, 1, *box), view
        return "describe", ((1, *box) if name in self.stacked else box), view
