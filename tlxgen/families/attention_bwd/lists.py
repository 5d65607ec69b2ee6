"""Lists of the blocks of queries by keys in which scores count, as a walk over queries takes them: by their keys."""

from __future__ import annotations

from typing import Protocol

from pydantic import Field

from tlxgen.families import kit
from tlxgen.spec import Fault, SpecModel, choices


class Blocks(SpecModel):
    """sm90: arguments list, for each column of blocks, those in which scores count, as torch's BlockMask has them."""

    m: int = Field(
        128, ge=64, description="Queries of a block: a multiple of those of a step. BLOCK_SIZE[0] of a BlockMask."
    )
    n: int = Field(128, ge=64, description="Keys of a block: a multiple of tile.n. BLOCK_SIZE[1] of a BlockMask.")
    full: bool = Field(
        True,
        description="Which lists there are.",
        json_schema_extra=choices(
            {
                True: "q_num_blocks and q_indices, whose blocks the mask cuts, and full_q_num_blocks and "
                "full_q_indices, in whose blocks every query sees every key.",
                False: "q_num_blocks and q_indices alone.",
            }
        ),
    )


class Listed(Protocol):
    """What of a spec decides whether lists can be walked."""

    @property
    def arch(self) -> str: ...
    @property
    def blocks(self) -> Blocks | None: ...
    @property
    def lengths(self) -> str: ...
    @property
    def gradients(self) -> tuple[str, ...]: ...
    @property
    def ordered(self) -> bool: ...
    @property
    def apart(self) -> bool: ...
    @property
    def wide(self) -> bool: ...
    @property
    def modified(self) -> bool: ...
    @property
    def queries(self) -> int: ...
    @property
    def keys(self) -> int: ...


def faults_of(spec: Listed) -> list[Fault]:
    """What does not go together with lists of blocks."""
    blocks = spec.blocks
    if not blocks:
        return []
    order = (
        "a turn counts the tiles of keys before, of which lists do not say which add to dQ: rings.dq.adds must be any"
    )
    return [
        *kit.faults.foreign(("mask.blocks", spec.arch != "sm90", "lists of blocks are for sm90")),
        *kit.faults.where(
            (
                "mask.blocks",
                spec.lengths == "packed",
                "lists name blocks of (B, H) tensors: sequences end to end have none",
            ),
            ("mask.blocks", "dq" not in spec.gradients, "attention_bwd_dq, which would make dQ, walks no lists: qkv"),
            ("mask.blocks", spec.ordered, order),
            ("mask.blocks", spec.wide, "above a head_dim of 128 no register is left to walk lists with"),
            ("mask.blocks", spec.apart, "one CTA walks the lists of all heads of Q: schedule.heads must be together"),
            ("mask.blocks", spec.modified, "places of scores and a walk over lists need the same registers"),
            ("mask.blocks.m", blocks.m % spec.queries, f"{blocks.m}: a step has {spec.queries} queries"),
            ("mask.blocks.n", blocks.n % spec.keys, f"{blocks.n}: a CTA has {spec.keys} keys"),
        ),
    ]
