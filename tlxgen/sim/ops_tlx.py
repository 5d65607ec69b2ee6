"""`tlx`: the collected operations, tasks, and launch arguments in the form in which kernels see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from . import (
    ops_barrier,
    ops_clc,
    ops_copy,
    ops_descriptor,
    ops_memory,
    ops_remote,
    ops_scaled,
    ops_tcgen05,
    ops_tma,
    ops_warp,
    ops_wgmma,
)
from .alias import GroupType
from .arith import Float, Int64, Pointer
from .findings import KernelFault, UnsupportedOp
from .globalmem import GlobalMemory
from .machine import Worker, machine

_NAMES = {
    ops_memory: ("local_alloc", "local_view", "local_trans", "local_slice", "local_store", "local_load",
                 "local_reshape", "local_reinterpret", "subslice", "storage_alias_spec", "reuse_group", "fence",
                 "fence_async_shared", "local_gather", "local_scatter"),
    ops_barrier: ("alloc_barriers", "alloc_warp_barrier", "barrier_expect_bytes", "barrier_wait", "barrier_arrive",
                  "named_barrier_wait", "named_barrier_arrive", "cluster_barrier", "fence_mbarrier_init_cluster",
                  "cluster_cta_rank", "cluster_size_1d", "async_task_replica_id"),
    ops_tma: ("async_descriptor_load", "async_descriptor_store", "async_descriptor_store_wait", "async_store",
              "async_descriptor_prefetch_tensor", "prefetch"),
    ops_descriptor: ("allocate_tensor_descriptor", "make_tensor_descriptor", "reinterpret_tensor_descriptor"),
    ops_copy: ("async_load", "async_load_commit_group", "async_load_wait_group"),
    ops_wgmma: ("async_dot", "async_dot_wait", "whole_dot", "whole_wait"),
    ops_tcgen05: ("tcgen05_commit", "tmem_copy"),
    ops_scaled: ("async_dot_scaled",),
    ops_remote: ("remote_shmem_store", "async_remote_shmem_store", "async_remote_shmem_copy"),
    ops_clc: ("clc_create_context", "clc_producer", "clc_consumer"),
    ops_warp: ("thread_id", "clock64", "vote_ballot_sync", "warp_redux", "get_fp8_format_name", "stoch_round"),
}  # fmt: skip
_OPS: dict[str, Any] = {name: getattr(module, name) for module, names in _NAMES.items() for name in names}
_OPS |= dict.fromkeys(("dump_layout", "assert_same_layout"), ops_warp.no_effect)


_DTYPES = {  # Triton's name -> type
    "int1": torch.bool, "int8": torch.int8, "int16": torch.int16, "int32": torch.int32, "int64": torch.int64,
    "uint8": torch.uint8, "fp8e4nv": torch.float8_e4m3fn, "fp8e5": torch.float8_e5m2, "fp16": torch.float16,
    "bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64,
}  # fmt: skip


class Extension:
    """The module `tlx` of a simulated kernel. An unknown name is an error that names it."""

    storage_kind = ops_memory.StorageKind
    reuse_group_type = GroupType

    def __getattr__(self, name: str) -> Any:
        if name not in _OPS:
            raise UnsupportedOp(f"tlx.{name}", machine().here())
        return _OPS[name]

    @staticmethod
    def dtype_of(value: Any) -> torch.dtype:
        return value.dtype

    @staticmethod
    def size_of(dtype: torch.dtype) -> int:
        return int(dtype.itemsize)


class Tasks:
    """`with tlx.async_tasks()`: the tasks of a CTA. The block ends when all of them have ended."""

    def __init__(self, exclusive: Any = False, no_ending_cluster_sync: Any = False, **options: Any) -> None:
        m = machine()
        m.here()
        m.no_ending_sync = m.no_ending_sync or bool(no_ending_cluster_sync)
        self._parent = m.worker
        self._tasks: list[Worker] = []
        self._running = 0
        m.meet()

    def spawn(
        self,
        body: Callable[[Mapping[str, Any]], None],
        variables: Mapping[str, Any],
        kind: Any = None,
        num_warps: int | None = None,
        replicate: int = 1,
        **options: Any,
    ) -> None:
        """Starts one task, or `replicate` replicas. Each task has a copy of the program's `variables`."""
        m = machine()
        m.here()
        parent = self._parent
        warps = parent.warps if kind == "default" else num_warps
        if warps is None:
            raise KernelFault("async_task needs num_warps, unless it is the default one")
        clock = m.hub.release(parent)
        for replica in range(replicate):
            number = f"{body.__name__.removeprefix('__task_')}" + (f" replica {replica}" if replicate > 1 else "")
            bit = m.hub.new_bit()
            name = f"{parent.cta.name} task of line {number}"
            task = Worker(name, warps, clock | bit, bit, replica, loops=parent.loops, cta=parent.cta)
            self._tasks.append(task)
            self._running += 1
            parent.cta.meeting.members.add(task)
            m.hub.spawn(task, lambda task=task: self._run(body, variables, task))  # type: ignore[misc]

    def _run(self, body: Callable[[Mapping[str, Any]], None], variables: Mapping[str, Any], task: Worker) -> None:
        m = machine()
        body(dict(variables))
        m.finish(task)
        self._running -= 1
        last = not self._running and self._parent.blocked
        task.cta.meeting.leave(task, heir=self._parent if last else None)
        if last:
            m.hub.wake(self._parent)

    def join(self) -> None:
        """Waits for all tasks."""
        m = machine()
        m.here()
        if self._running:
            self._parent.cta.meeting.leave(self._parent)
            m.hub.block(lambda: f"its tasks, of which {self._running} still run")
        for task in self._tasks:
            m.hub.follow(task)


def _readable(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor in the type in which kernels read it. Scales (E8M0) are bytes in Triton."""
    raw = tensor.as_subclass(torch.Tensor)
    return raw.view(torch.uint8) if raw.dtype == torch.float8_e8m0fnu else raw


def argument(value: Any, constant: bool = False) -> Any:
    """A launch argument in the form in which the kernel sees it. A number that is not a constexpr has a type."""
    if type(value).__name__ == "constexpr":
        value = value.value
    if isinstance(value, torch.Tensor):
        raw = _readable(value)
        first = raw.storage_offset()
        last = first + sum((size - 1) * stride for size, stride in zip(raw.shape, raw.stride(), strict=True))
        return Pointer(GlobalMemory.flat(raw), first, (first, last + 1 if raw.numel() else first))
    if type(value).__name__ == "TensorDescriptor":  # of Triton, which is not imported just for the class
        base = _readable(value.base)
        flat, shape, strides = GlobalMemory.flat(base), tuple(value.shape), tuple(value.strides)
        return ops_tma.KernelDescriptor(flat, base.storage_offset(), shape, strides, tuple(value.block_shape))
    if type(value).__module__ == "triton.language.core" and type(value).__name__ == "dtype":
        return _DTYPES[value.name]
    if isinstance(value, float):
        return value if constant else Float(value)
    return Int64(value) if type(value) is int and not constant and not -(1 << 31) <= value < 1 << 31 else value
