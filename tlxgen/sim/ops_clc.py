"""Cluster launch control: a running cluster takes over the work of a cluster that has not been launched.

A granted request cancels the launch of the next waiting cluster and writes the index of that cluster's first CTA. A
refused one writes -1. Both write 16 bytes, in every CTA of the cluster. (PTX ISA, clusterlaunchcontrol.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from .actors import Event
from .findings import KernelFault
from .machine import BarrierRef, Cta, machine
from .memory import Access, Buffer
from .ops_barrier import Barriers, alloc_barriers, barrier_arrive, barrier_expect_bytes, barrier_wait
from .ops_memory import fence, local_alloc, local_load

NONE = (-1, -1, -1)


@dataclass(frozen=True, eq=False)
class Context:
    """`clc_create_context`: a ring of responses, with barriers."""

    empty: Barriers
    full: Barriers
    responses: Buffer


def clc_create_context(num_consumers: int, num_stages: int = 1, *, _name: str = "clc") -> Context:
    """A ring of `num_stages` responses, each read by `num_consumers` tasks (of all CTAs) before the next request."""
    empty = alloc_barriers(num_stages, num_consumers, _name=f"{_name} empty")
    full = alloc_barriers(num_stages, _name=f"{_name} full")
    return Context(empty, full, local_alloc((4,), torch.int32, num_stages, _name=f"{_name} responses"))


def clc_producer(context: Context, p_producer: Any = None, multi_ctas: Any = False, k: int = 0) -> None:
    """Requests a cluster after the consumers (of all CTAs, with `multi_ctas`) have read the preceding response.

    Every CTA whose x in its cluster is 0 makes a request, and the response goes to all CTAs, regardless of
    `multi_ctas`. (fbtriton, BarrierOpToLLVM.cpp, AsyncCLCTryCancelOpConversion.)
    """
    m = machine()
    cta = m.worker.cta
    if p_producer is None:
        raise KernelFault("clc_producer needs a phase")
    barrier_wait(context.empty[k], p_producer, pred=cta.rank == 0 if multi_ctas else None)
    barrier_expect_bytes(context.full[k], context.responses.unit)
    if cta.corner[0] == 0:
        _request(context, int(k), cta.cluster, context.full[k])


def _request(context: Context, slot: int, targets: list[Cta], full: BarrierRef) -> None:
    m = machine()
    place = m.here()
    views = [context.responses.at(slot, place).on(target) for target in targets]

    def run(event: Event) -> None:
        answer = torch.tensor([*(m.steal() or NONE), 0], dtype=torch.int32)
        for target, view in zip(targets, views, strict=True):
            view.put(answer)
            full.on(target).transfer(view.size, event.clock, place)

    event = m.prepare("try_cancel", run)
    access = Access(event.bit, place, "a try_cancel", engine=True, fenced=True)
    for target, view in zip(targets, views, strict=True):
        view.write(access, event.clock, m.findings)
        full.on(target).promise(view.size, place)
        if target is m.worker.cta:
            m.land(event.bit, place, "a try_cancel")
        else:
            m.reach(target, event.bit, place, "a try_cancel response")
    m.hub.issue(event)
    m.hub.pause()


def clc_consumer(
    context: Context, p_consumer: Any = None, multi_ctas: Any = False, k: int = 0, return_3d: Any = False
) -> Any:
    """The next index in the grid for this CTA, or -1. Unless it is -1, the producer may make another request."""
    cta = machine().worker.cta
    if p_consumer is None:
        raise KernelFault("clc_consumer needs a phase")
    barrier_wait(context.full[k], p_consumer)
    x, y, z, _ = local_load(context.responses.at(int(k), machine().here())).tolist()
    fence("async_shared")
    granted = x >= 0
    barrier_arrive(context.empty[k], 1, remote_cta_rank=0 if multi_ctas else None, pred=granted)
    first = x + cta.rank if granted else x
    return (first, y, z) if return_3d else first
