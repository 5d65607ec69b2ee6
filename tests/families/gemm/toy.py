"""The integer arithmetic of a generated module, executed without a GPU: `triton` and `tl` are stand-ins on ints.

What a role does is read out of the kernel's own text: the range of work items that its loop walks, in terms of program,
replica and shape, and the tile that `tile_at` makes of each.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, SimpleNamespace
from typing import Any

from tlxgen import loading
from tlxgen.families.gemm import model
from tlxgen.families.gemm.cost import RATES
from tlxgen.stamp import templates

from .source import Source, calls, value

ALWAYS = ("quotient", "tile_at", "ring_slot", "pick_config", "reciprocal")
TABLES = ("CONFIGS", "KERNELS", "TIMES", "MEASURED_ON", "TUNED")
SOMETIMES = ("tile_of", "trips_of", "slot_clocks", "part_of", "is_partial", "needs_fix_up", "last_item", "last_round")
HOST = ("tiles_m", "tiles_n", "items", "num_workers", "shares", "programs", "group_m")  # from those before
TOLD = ("group_reciprocal", "last_reciprocal", "num_whole", "tail_parts", "helpers", "cta_reciprocal")  # to the kernel
Tile = tuple[int, int, int]  # tile row, tile column, part of K


def _shared() -> dict[str, Any]:
    """What of _host.py picks a config, which needs no torch."""
    tree = ast.parse((templates() / "lib" / loading.HOST).read_text())
    names: dict[str, Any] = {}
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "fastest"]
    exec(compile(ast.Module(list(functions), []), loading.HOST, "exec"), names)
    return names


SHARED = _shared()


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


class Toy:
    """A module's functions and the expressions that share out its work."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.rank = 0  # in its cluster, of the CTA that asks
        self.program, self.programs = 0, 1  # that CTA, and how many there are
        tl = SimpleNamespace(cdiv=cdiv, constexpr=int, where=_where, umulhi=_umulhi)
        tl.program_id, tl.num_programs = lambda axis: self.program, lambda axis: self.programs
        self.names: dict[str, Any] = {
            "itertools": itertools,
            "tl": tl,
            "tlx": SimpleNamespace(cluster_cta_rank=lambda: self.rank),
            "cdiv": cdiv,
            "triton": SimpleNamespace(Config=_config, jit=lambda function: function),
            "fastest": SHARED["fastest"],
            **{name: getattr(model, name) for name in ("Kernel", "Times", "Types")},
            "RATES": RATES,
        }
        tables = [n for n in source.tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) in TABLES]
        wanted = [source.functions[name] for name in ALWAYS]
        wanted += [source.functions[name] for name in SOMETIMES if name in source.functions]
        exec(compile(ast.Module([*tables, *wanted], []), source.name, "exec"), self.names)
        self.shared = {name: _code(_set(source.kernel, name)) for name in ("num_items", "step", "first")}
        self.launch = {name: _code(_set(source.prepare, name)) for name in HOST}
        self.launch |= {name: _code(source.numbers[name]) for name in TOLD if name in source.numbers}
        self.walks = {role: (_code(_walk(task)), replicas) for role, task, replicas in _tasks(source.kernel)}

    @property
    def configs(self) -> list[Any]:
        found: list[Any] = self.names["CONFIGS"]
        return found

    @property
    def pick_config(self) -> Callable[[int, int, int, model.Gpu], Any]:
        found: Callable[[int, int, int, model.Gpu], Any] = self.names["pick_config"]
        return found

    @property
    def ring_slot(self) -> Callable[[int, int], tuple[int, int]]:
        found: Callable[[int, int], tuple[int, int]] = self.names["ring_slot"]
        return found

    @property
    def cluster(self) -> int:
        return int(self.configs[0].options.get("ctas_per_cga", (1, 1, 1))[0])

    @cached_property
    def along(self) -> tuple[int, int]:
        """CTAs of a cluster along M and N, where those take neighbouring tiles."""
        down = f"BLOCK_M * {self.cluster}" in ast.unparse(self.source.functions["tile_at"])
        return (self.cluster, 1) if down else (1, self.cluster)

    @property
    def tail(self) -> bool:
        """Whether tiles that are left over are cut along K."""
        return "tile_of" in self.names

    @property
    def helped(self) -> bool:
        """Whether that is for CTAs that have none."""
        return "is_partial" in self.names

    @property
    def parts(self) -> int:
        """Into how many parts the CTAs of a cluster cut K."""
        return self.cluster if "part_full" in self.source.text else 1

    @cached_property
    def arithmetic(self) -> str:
        """The text of all that is executed here: modules that agree in it need to be tried but once."""
        kernel, host = self.source.kernel, self.source.prepare
        parts = [_set(kernel, "num_items"), _set(kernel, "step"), *(_set(host, name) for name in HOST)]
        parts += [
            self.source.functions["quotient"],
            self.source.functions["tile_at"],
            *(_walk(task) for _, task, _ in _tasks(kernel)),
        ]
        parts += [self.source.numbers.get(name) for name in TOLD]
        return "\n".join(ast.unparse(part) for part in parts if part)


def _umulhi(a: int, b: int) -> int:
    return (a * b) >> 32


def _where(condition: bool, yes: int, no: int) -> int:
    return yes if condition else no


def _config(kwargs: dict[str, Any], **options: Any) -> SimpleNamespace:
    return SimpleNamespace(kwargs=kwargs, options=options)


@dataclass
class Problem:
    """A shape on a GPU of `sms` SMs, under the first row of CONFIGS with another GROUP_M and SPLIT_K.

    What is left over is cut into SPLIT_K parts, or helped with if that is more than 1, whether it is worth it or not.
    """

    toy: Toy
    m: int
    n: int
    sms: int
    group_m: int
    split: int

    @staticmethod
    def of(toy: Toy, shape: tuple[int, int, int, int, int]) -> Problem:
        """From (M, N, SMs, GROUP_M, SPLIT_K)."""
        return Problem(toy, *shape)

    @cached_property
    def config(self) -> dict[str, int]:
        config = {**self.toy.configs[0].kwargs, "GROUP_M": self.group_m}
        return config | {"SPLIT_K": self.split} if "SPLIT_K" in config else config

    @cached_property
    def wanted(self) -> set[Tile]:
        """Every tile of C, once for each part of K."""
        rows, columns = cdiv(self.m, self.config["BLOCK_M"]), cdiv(self.n, self.config["BLOCK_N"])
        if self.toy.helped:
            whole = {self.at(tile) for tile in range(self.tiles)}
            return {(*at, 0) for at in whole} | {(*self.at(self.num_whole + i), 1) for i in range(self.left)}
        if self.toy.tail:
            items = range(self.num_whole + self.left * self.tail_parts)
            return {self.tile(item, rank) for item in items for rank in range(self.toy.cluster)}
        parts = self.config.get("SPLIT_K", self.toy.parts)
        return {(r, c, p) for r in range(rows) for c in range(columns) for p in range(parts)}

    @cached_property
    def tiles(self) -> int:
        """Tiles of C or, where CTAs of a cluster take these side by side, those of a cluster at a time."""
        down, across = self.toy.along
        return cdiv(self.m, self.config["BLOCK_M"] * down) * cdiv(self.n, self.config["BLOCK_N"] * across)

    @property
    def at_once(self) -> int:
        """CTAs, or clusters, that are at work at a time."""
        ctas = self.toy.cluster
        return max(1, self.sms * 15 // 16 // ctas) if ctas > 2 else self.sms // ctas

    @cached_property
    def left(self) -> int:
        """Tiles that are cut along K."""
        cut = self.split > 1 if self.toy.helped else self.tail_parts > 1
        return self.tiles % self.at_once if self.toy.tail and cut else 0

    @cached_property
    def num_whole(self) -> int:
        return self.tiles - self.left

    @property
    def tail_parts(self) -> int:
        """Into how many parts such a tile is cut for CTAs of their own: at most one for each of them."""
        left = self.tiles % self.at_once
        return min(self.split, self.at_once // left) if left else 1

    @property
    def told(self) -> dict[str, int]:
        """What a kernel and its host function say of the tail."""
        told = {"num_whole": self.num_whole, "tail_parts": self.tail_parts, "left": self.left, "sms": self.sms}
        helpers = min(self.left, self.sms - self.left)
        pieces = cdiv(self.left, helpers) if helpers else 0
        return told | {"helpers": helpers, "helper_items": pieces} if self.toy.helped else told

    @cached_property
    def host(self) -> dict[str, Any]:
        """What the host function works out for the launch: its CTAs, and how they get from items to tiles."""
        names = {**self.toy.names, "m": self.m, "n": self.n, "split": self.split}
        names |= {name.lower(): extent for name, extent in self.config.items()}
        names |= {"sm_count": lambda index: self.sms, "device": SimpleNamespace(index=0)}
        names["config"] = SimpleNamespace(kwargs=self.config)
        names |= self.told if self.toy.tail else {}
        for name, code in self.toy.launch.items():
            names[name] = eval(code, names)
        return {name: names[name] for name in self.toy.launch}

    @property
    def programs(self) -> int:
        """CTAs of the launch."""
        return int(self.host["programs"])

    def walks(self, program: int) -> dict[str, list[list[int]]]:
        """Role -> the work items of each of its replicas in one CTA, in order."""
        self.toy.program, self.toy.programs = program, self.programs
        names = {**self.toy.names, **self.config, **self.host, "M": self.m, "N": self.n, **self.told}
        for name, code in self.toy.shared.items():
            names[name] = eval(code, names)
        found = {}
        for role, (code, replicas) in self.toy.walks.items():
            items = [eval(code, {**names, "replica": replica}) for replica in range(replicas)]
            found[role] = [list(i) if isinstance(i, range) else [i] for i in items]
        return found

    def tile(self, item: int, program: int) -> Tile:
        """What `tile_at` says of a work item in one CTA."""
        self.toy.rank = program % self.toy.cluster
        self.toy.program, self.toy.programs = program, self.programs
        if self.toy.tail:
            told = [self.host[name] for name in TOLD[2:] if name in self.host]
            row, column = self.at(self.toy.names["tile_of"](item, *told))
            helps = self.toy.helped and self.toy.names["is_partial"](item, *told[:2])
            return row, column, int(helps) if self.toy.helped else max(item - self.num_whole, 0) % self.tail_parts
        row, column, *part = self.at(item)
        return row, column, part[0] if part else self.toy.rank % self.toy.parts

    def at(self, tile: int) -> tuple[int, ...]:
        """What `tile_at` says of a tile's number."""
        sizes = [self.config[name] for name in ("BLOCK_M", "BLOCK_N", "GROUP_M")]
        found: tuple[int, ...] = self.toy.names["tile_at"](
            tile, self.m, self.n, *(self.host[x] for x in TOLD[:2]), *sizes
        )
        return found


def _code(node: ast.expr | None) -> CodeType:
    return compile(ast.Expression(node) if node else "None", "<module>", "eval")


def _set(function: ast.FunctionDef, name: str) -> ast.expr | None:
    """What `name` is first set to in a function; None when it is not."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return node.value
    return None


def _tasks(kernel: ast.FunctionDef) -> Iterator[tuple[str, ast.AST, int]]:
    """Each task of the kernel with its replicas; the kernel itself where it has none."""
    tasks = [n for n in ast.walk(kernel) if isinstance(n, ast.With) and calls(n.items[0], "tlx.async_task")]
    if not tasks:
        yield "gemm", kernel, 1
    for number, task in enumerate(sorted(tasks, key=lambda n: n.lineno)):
        (call,) = calls(task.items[0], "tlx.async_task")
        replicas = next((int(value(k.value, {})) for k in call.keywords if k.arg == "replicate"), 1)
        yield f"task {number}", task, replicas


def _walk(task: ast.AST) -> ast.expr:
    """What the index of work items is, or runs over; a task that need not know which item it is has its CTA's."""
    for node in ast.walk(task):
        if isinstance(node, ast.For) and ast.unparse(node.target) == "index":
            return node.iter
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("index", "item"):
            return node.value
    return ast.parse("tl.program_id(0)", mode="eval").body
