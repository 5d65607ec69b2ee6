"""The parameter model of attention_decode, and the axes that only change constants."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tlxgen.arch import DTYPES, DType
from tlxgen.families.kit import Axis, faults, meanings
from tlxgen.spec import CommonSpec, Fault, SpecModel, choices

AXES = (
    Axis("tile.n", "BLOCK_N", "keys of a tile", blame=("accumulator", "instruction")),
    Axis("tile.box", "BOX_N", "keys of a TMA box, which lie in one page", has=lambda spec: spec.paged),
    Axis("rings.kv.stages", "KV_STAGES", "slots of the rings of K and V", blame=("smem",)),
)
ROWS = 64  # of a consumer: those of one wgmma


class Problem(SpecModel):
    """O (B, H, Nq, D) = softmax(scale Q K^T) V for a few queries, the last of their sequences; Hkv divides H."""

    dtype: Literal["bf16", "fp16"] = Field(
        "bf16",
        description="Element type of Q, K, V and O, to which probabilities are rounded.",
        json_schema_extra=meanings.of(meanings.DTYPE, "bf16", "fp16"),
    )
    head_dim: Literal[64, 128] = Field(128, description="D: elements of a row of Q, K, V and O.")
    keys: Literal["dense", "lengths", "paged"] = Field(
        "lengths",
        description="Where the keys and values of a sequence are.",
        json_schema_extra=choices(
            dense="In (B, Hkv, Nk, D) tensors, all of them.",
            lengths="In (B, Hkv, Nk, D) tensors, of which seqlens_k on the device says how many are there: a cache "
            "that fills.",
            paged="In pages of a cache (pages, page, Hkv, D), by a block_table; seqlens_k says how many are there.",
        ),
    )
    causal: bool = Field(
        True, description="Whether query i of Nq sees keys up to i + n - Nq of n, bottom-right; else it sees all."
    )


class TileShape(SpecModel):
    n: Literal[32, 64, 128] = Field(64, description="Keys of a tile. Rows.")
    box: Literal[16, 32, 64, 128] = Field(
        64, description="With pages: keys of a TMA box, which lie in one page. A tile gathers boxes from several pages."
    )


class LoadTask(SpecModel):
    default: Literal[True] = Field(
        True, description="The TMA producer is the default task: leftover registers suffice."
    )


class MmaTask(SpecModel):
    replicate: Literal[1, 2] = Field(
        1,
        description="Consumers, of 64 rows each, that read the same tiles of K and V. Rows are the queries of all "
        "heads that share a head of K and V.",
        json_schema_extra=choices(
            {
                1: "A tile of 128 keys takes a consumer some 3,000 clocks, less than DRAM does. For up to 64 rows.",
                2: "For more rows: two CTAs would read all keys twice, and each would take as long for a tile.",
            }
        ),
    )
    divide: Literal["rows", "keys"] = Field(
        "rows",
        description="What two consumers divide among them.",
        json_schema_extra=choices(
            rows="64 rows of its own, and all tiles of keys. Choose it for more than 64 rows.",
            keys="All of 64 rows, and every other tile of keys. Choose it for up to 64 rows: the softmax of one tile "
            "hides behind the products of the next. Each consumer leaves a part of its own, so that parts are always "
            "combined.",
        ),
    )
    warps: Literal[4] = Field(4, description="Warps a consumer (a warpgroup).")


class Tasks(SpecModel):
    load: LoadTask = Field(LoadTask(), description="TMA producer.")
    mma: MmaTask = Field(MmaTask(), description="Consumers.")


class KeyValueRing(SpecModel):
    stages: int = Field(6, ge=1, le=32, description="Slots of K and of V.")


class Rings(SpecModel):
    kv: KeyValueRing = Field(KeyValueRing(), description="Tiles of K and V on their way to the consumer.")


class Schedule(SpecModel):
    kind: Literal["grid"] = Field("grid", description="A CTA for each part of the keys of a head of K and V.")


class DecodeSpec(CommonSpec):
    """Attention of a few queries, split over keys."""

    kernel: Literal["attention_decode"] = Field(description="The kernel family.")
    problem: Problem = Field(Problem(), description="What is computed.")
    tile: TileShape = Field(TileShape(), description="Extents of a tile.")
    tasks: Tasks = Field(Tasks(), description="Who does what.")
    rings: Rings = Field(Rings(), description="Multi-buffered tiles between tasks.")
    schedule: Schedule = Field(Schedule(), description="Which CTA has which keys.")

    @property
    def dtype(self) -> DType:
        return DTYPES[self.problem.dtype]

    @property
    def replicas(self) -> int:
        """Consumers."""
        return self.tasks.mma.replicate

    @property
    def rows(self) -> int:
        """Rows of a CTA's tile of queries."""
        return ROWS if self.by_keys else ROWS * self.replicas

    @property
    def by_keys(self) -> bool:
        """Whether two consumers take tiles of keys in turns."""
        return self.tasks.mma.divide == "keys"

    @property
    def key_clocks(self) -> int:
        """Clocks for a key of a tile, measured where nothing is loaded: a consumer alone has nothing to hide its
        products behind; two of the same tiles multiply at the same time, and then both compute their softmax."""
        return 12 if self.by_keys else 20 if self.replicas == 1 else 32

    @property
    def has_lengths(self) -> bool:
        """Whether an argument has the number of keys of each sequence."""
        return self.problem.keys != "dense"

    @property
    def paged(self) -> bool:
        return self.problem.keys == "paged"

    def faults(self) -> list[Fault]:
        return [*faults.name(self), *faults.guards(self), *faults.target(self, "sm90"), *self._boxes(), *self._halves()]

    def _halves(self) -> list[Fault]:
        return faults.where(("tasks.mma.divide", self.by_keys and self.replicas == 1, "one consumer has all keys"))

    def _boxes(self) -> list[Fault]:
        return faults.where(
            ("tile.box", self.paged and self.tile.box > self.tile.n, "a box is a part of a tile, or all of it"),
            ("tile.box", not self.paged and self.tile.box != 64, "keys that are not in pages have no boxes"),
        )
