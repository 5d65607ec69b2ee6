"""The operation that starts at each stamp of an instrumented kernel: its class, its ring or signal, and the task that a
wait is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tlxgen.plan import Plan, Role, Step
from tlxgen.plan.steps import Kind

Class = Literal["wait", "product", "load", "store", "hand-off", "rest"]
CLASSES: tuple[Class, ...] = ("wait", "product", "load", "store", "hand-off", "rest")

_CLASS: dict[Kind, Class] = {
    **dict.fromkeys(
        ("acquire", "wait", "load_wait", "rendezvous", "wgmma_wait", "store_wait", "take", "meet", "await"), "wait"
    ),
    **dict.fromkeys(("next", "start"), "wait"),
    "multiply": "product",
    **dict.fromkeys(("load", "expect", "copy", "ask", "prefetch"), "load"),
    **dict.fromkeys(("store", "send"), "store"),
    **dict.fromkeys(("publish", "release", "hand", "signal", "reset", "fence"), "hand-off"),
}


@dataclass(frozen=True)
class Site:
    """A stamp: `what` begins there, in a step's words; nothing that has a name where the class is rest. `line` is that
    of the plain module."""

    task: int
    what: str = ""
    kind: Class = "rest"
    whom: str = ""
    line: int = 0

    @property
    def name(self) -> str:
        return self.what or "rest"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Site:
        return cls(**data)


def class_of(kind: Kind) -> Class:
    """The class of a kind of step; a step that only computes is rest."""
    return _CLASS.get(kind, "rest")


def waited_for(step: Step, plan: Plan, role: Role) -> str:
    """The role that ends the wait of a step, by the plan; empty for a step that is not a wait."""
    if step.kind in ("wait", "acquire", "rendezvous"):
        return _arrives(step, plan)
    if step.kind == "take":
        turn = next((t for t in plan.turns if t.name == step.on), None)
        return f"{turn.role}, the replica whose turn it was" if turn else ""
    if step.kind == "meet":
        return f"the other replicas of {role.name}"
    if step.kind == "await":
        return next((f"{s.by} of other CTAs" for s in plan.signals if s.name == step.on), "")
    return {
        "wgmma_wait": "the tensor core",
        "store_wait": "its TMA stores",
        "load_wait": "its own copies",
        "next": "cluster launch control",
        "start": "the kernel before in the stream",
    }.get(step.kind, "")


def _arrives(step: Step, plan: Plan) -> str:
    ring = next((r for r in plan.rings if r.name == step.on), None)
    if ring is None:
        return ""
    barriers = {"wait": ring.full_barrier, "acquire": ring.empty_barrier, "rendezvous": ring.ready_barrier}
    found = barriers[step.kind]
    return found.who if found else ""
