"""sm100: CTAs that multiply together, and what does not go together with them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tlxgen.families import kit
from tlxgen.spec import Fault, SpecModel, choices


class Cluster(SpecModel):
    """sm100: CTAs that walk the same queries."""

    n: Literal[1, 2] = Field(
        1,
        description="CTAs that multiply together, along the keys: each has those of a tile, loads half of what both "
        "multiply by, and adds up half of the rows of dQ.",
    )
    exchange: Literal["copy", "store"] = Field(
        "copy",
        description="How two CTAs send each other the half of dS that the other's rows of dQ need.",
        json_schema_extra=choices(
            copy="It is stored in shared memory, and copied from there in bulk.",
            store="Each thread stores its registers into the other CTA: 16 KiB of SMEM less, more instructions.",
        ),
    )


def alone(cluster: Cluster) -> list[Fault]:
    """What a CTA on sm90 does not do."""
    why = "this is of sm100: on sm90 a CTA adds up dQ of its keys itself"
    return kit.faults.foreign(("cluster", bool(cluster.model_fields_set - {"n"}) or cluster.n > 1, why))


def pair(cluster: Cluster, parts: int, place: str | None, operand: str) -> list[Fault]:
    """What two CTAs cannot do, and what one cannot: of parts of columns, dQ's place, where dK's product reads dS."""
    alone = cluster.n == 1
    whole = "a CTA has dS of all queries in tensor memory alone: in shared memory lies that of its own, for all keys"
    beside = "beside P there is place for the dQ of two CTAs, which have half of its rows each: cluster.n is 2"
    return [
        *kit.faults.foreign(
            ("cluster.exchange", alone and "exchange" in cluster.model_fields_set, "a CTA alone exchanges nothing")
        ),
        *kit.faults.where(
            ("rings.dq.reuse", alone and place == "s", beside),
            ("rings.ds.operand", not alone and operand == "smem", whole),
            (
                "tasks.compute.parts",
                not alone and parts != 2,
                f"a part for each of 2 CTAs, which it is sent to: not {parts}",
            ),
        ),
    ]
