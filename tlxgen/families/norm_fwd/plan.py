"""The plan of a norm_fwd spec: one role, the ring by which the CTAs of a cluster exchange sums, and arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tlxgen import plan
from tlxgen.arch import ARCHS, DTYPES
from tlxgen.families import kit
from tlxgen.plan.arguments import Host, HostArgument, KernelArgument, address, scalar
from tlxgen.plan.steps import steps

from .spec import AXES, NormSpec


def build(spec: NormSpec, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool]) -> plan.Plan:
    """The plan of one variant. It does not fail: a variant that cannot be built has `Plan.reasons`."""
    sizes, clustered, arch = kit.sizes(AXES, spec), spec.cluster.n > 1, ARCHS[spec.arch]
    conversion = 4 * spec.tile.n if spec.problem.weight == "fp32" else 0  # converts weights to the layout of x
    return kit.one_kernel.plan(
        spec,
        AXES,
        guards,
        baked,
        (_role(spec),),
        tuple(make(spec, sizes) for make, there in ((_tiles, spec.staged), (_sums, clustered)) if there),
        _kernel(spec),
        Host(tuple(_host(spec)), ("m", "n"), paired=bool(spec.stats)),
        maxnreg=spec.registers,
        pdl=spec.schedule.pdl,
        specialized=False,
        cluster=(spec.cluster.n, 1, 1),
        compiler_smem=(plan.Use("sums of warps", 16 * spec.tile.m * spec.warps + conversion + arch.captures),),
        work=plan.Work("grid", cluster=sizes["CLUSTER"] if clustered else 1),
        facts=spec,
    )


def _role(spec: NormSpec) -> plan.Role:
    clustered = spec.cluster.n > 1
    copied = (*(f"load {name}" for name in spec.read), "load_wait") if spec.staged else ()
    done = steps(
        "expect sums" if clustered else "",
        "start" if spec.schedule.pdl else "",
        *copied,
        ": sums of x",
        *("send sums", "wait sums") * clustered,
        ": y",
    )
    return plan.Role("reduce", spec.warps, done, default=True, holds=plan.Holds(working=spec.held))


def _tiles(spec: NormSpec, sizes: Mapping[str, plan.Size]) -> plan.Ring:
    """The ring of what a CTA has of x, which it fills once and reads repeatedly."""
    tiles = (plan.Tile(n, (sizes["BLOCK_M"], sizes["BLOCK_N"]), spec.dtype, internal=True) for n in spec.read)
    return plan.Ring("x", tuple(tiles), plan.Size.literal(1), plan.Fill("reduce", "async"), ())


def _sums(spec: NormSpec, sizes: Mapping[str, plan.Size]) -> plan.Ring:
    return sums(sizes, 1 + spec.layer, go_round=False)


def sums(sizes: Mapping[str, plan.Size], values: int, *, go_round: bool = True) -> plan.Ring:
    """The ring of each CTA's sums of a row. Slots need no release: a CTA that has all sums of use i + 1 knows that all
    CTAs have read those of use i, and one that is a use ahead stores into the other slot."""
    tile = plan.Tile("sums", (sizes["BLOCK_M"], plan.Size.literal(values)), DTYPES["fp32"], internal=True)
    fill, drains = plan.Fill("reduce", "gather", sizes["CLUSTER"]), (plan.Drain("reduce", via=("sums",)),)
    return plan.Ring("sums", (tile,), plan.Size.literal(1 + go_round), fill, drains * go_round, item=True)


def _kernel(spec: NormSpec) -> Iterator[KernelArgument]:
    """The kernel's arguments. The divisors of rows and strides in bytes tell the compiler that rows are aligned."""
    yield from (address(f"{name}_ptr", spec.dtype.signature, name) for name in spec.read)
    yield from (address(f"{name}_ptr", kind.signature, name) for name, kind in spec.vectors.items())
    yield from (address(f"{name}_ptr", spec.dtype.signature, of) for name, of in spec.written.items())
    yield from (address(f"{name}_ptr", "fp32", name) for name in spec.stats)
    yield scalar("M", "m", divisible=True, single=True)
    yield scalar("row_bytes", f"n * {spec.dtype.bytes}", divisible=True)
    for name, of in (*((name, name) for name in spec.read), *spec.written.items()):
        tensor = of if of == name and name in spec.read else f'made.get("{of}", {of})'
        yield scalar(f"stride_{name}", f'row_stride({tensor}, "{of}") * {spec.dtype.bytes}', divisible=True)
    yield scalar("eps", "eps", "fp32")


def _host(spec: NormSpec) -> Iterator[HostArgument]:
    given, result = (spec.dtype.torch,), ("Tensor", "None", True)
    texts = f"(..., N) {spec.dtype.torch}, rows at one distance.", "likewise; rows of x + residual are normalised."
    for name, text in zip(spec.read, texts, strict=False):
        yield HostArgument(name, text, shape="x.shape", dtypes=given, wants="rows")
    for name, of in spec.vectors.items():
        yield HostArgument(name, f"(N,) {of.torch}.", shape="(n,)", dtypes=(of.torch,), wants="contiguous")
    yield HostArgument("eps", "added to the mean square, to divide by its root.", "float", "1e-5", True)
    texts = "like x; allocated when absent.", "likewise, for x + residual."
    for name, text in zip(spec.written.values(), texts, strict=False):
        yield HostArgument(name, text, *result, "x.shape", given, "rows", result=True)
    for name in spec.stats:
        text, fp32 = "(...) float32, of each row; allocated when absent.", ("float32",)
        yield HostArgument(name, text, *result, "x.shape[:-1]", fp32, "contiguous", result=True)
