"""Which verb needs what of the machine."""

from __future__ import annotations

from collections.abc import Sequence

from .checks import Check

_ANY = ("python", "tlxgen")
_OFFLINE = (*_ANY, "triton", "ptxas")
_GPU = (*_OFFLINE, "torch", "torch for CUDA", "driver", "GPU", "C compiler")

NEEDS: dict[str, tuple[str, ...]] = {
    "init": _ANY,
    "build": _ANY,
    "list": _ANY,
    "show": _ANY,
    "explain": _ANY,
    "schema": _ANY,
    "doctor": _ANY,
    "diff": _ANY,
    "review": _ANY,
    "watch": (*_ANY, "triton", "torch"),
    "compile": _OFFLINE,
    "package": (*_OFFLINE, "torch"),
    "export": _ANY,
    "verify": (*_ANY, "triton", "torch"),
    "profile": (*_ANY, "triton", "torch"),
    "check": _GPU,
    "bench": _GPU,
    "tune": (*_GPU, "cache folder"),
}


def lacking(verb: str, checks: Sequence[Check]) -> list[str]:
    """What the verb needs and this machine does not have, in the order of the checks; empty where it works."""
    return [check.name for check in checks if check.name in NEEDS[verb] and check.state != "ok"]
