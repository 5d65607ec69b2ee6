"""sm90: what does not go together in heads whose dK and dV fill the registers of consumers."""

from __future__ import annotations

from typing import Protocol

from tlxgen.families import kit
from tlxgen.families.attention.common import columns_of
from tlxgen.spec import Fault

from .tasks import Consumers


class Wide(Protocol):
    """What of a spec decides it."""

    @property
    def head_dim_v(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def wide(self) -> bool: ...
    @property
    def tight(self) -> bool: ...
    @property
    def ahead(self) -> bool: ...


def faults_of(spec: Wide, mma: Consumers, d: int, *, softmax: bool, given: bool) -> list[Fault]:
    """Of a head dimension of Q and K, and one of V that may have been `given`."""
    dv, kept = spec.head_dim_v, mma.keep not in (None, "none")
    alike = f"tiles of V have {columns_of(dv)} columns, those of Q {spec.columns}"
    if not spec.wide:
        text = f"{alike}: up to a head_dim of 128 they are as wide"
        return kit.faults.where(("problem.head_dim_v", given and columns_of(dv) != spec.columns, text))
    narrow = ("problem.head_dim", not softmax, f"{d}: above 128 the gradients are a softmax's")
    if spec.tight:
        full = f"dK and dV of {d} and {dv} columns fill the registers of a consumer"
        return kit.faults.where(
            narrow,
            ("problem.head_dim_v", given and dv > d, f"{alike}: V has no more"),
            ("tasks.mma.meet", mma.meet == "named", f"{full}: they meet on an mbarrier"),
            ("tasks.mma.ahead", spec.ahead, f"{full}: no scores run ahead"),
            ("tasks.mma.keep", kept, f"{full}: no rows of K or V are kept"),
        )
    shared = f"a consumer reads P and dS of all queries out of SMEM, for its columns of {d}"
    return kit.faults.where(
        narrow,
        ("problem.head_dim_v", given and not 64 < dv <= d, f"{alike}: a consumer has half of each, 64 at least"),
        ("tasks.mma.meet", mma.meet == "named", f"{shared}: they meet on an mbarrier"),
        ("tasks.mma.keep", kept, f"{shared}: none is its own, to be kept"),
    )
