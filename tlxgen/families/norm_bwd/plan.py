"""The plan of a norm_bwd spec: one role, its rings of rows and of sums, and the arguments of two kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tlxgen import plan
from tlxgen.arch import ARCHS
from tlxgen.families import kit
from tlxgen.families.norm_fwd.plan import sums
from tlxgen.plan.arguments import Host, HostArgument, KernelArgument, address, scalar
from tlxgen.plan.steps import steps

from .spec import AXES, NormBwdSpec

WORKING_REGISTERS = 40  # a thread, beside what it has of tiles: addresses, masks, statistics


def build(spec: NormBwdSpec, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool]) -> plan.Plan:
    """The plan of one variant. It does not fail: a variant that cannot be built has `Plan.reasons`."""
    sizes, cluster, arch = kit.sizes(AXES, spec), (spec.cluster.n, 1, 1), ARCHS[spec.arch]
    parameters = kit.parameters(AXES, spec, guards=guards, baked=baked)
    constants = tuple((p.name, p.value) for p in parameters if not p.baked)
    main = plan.Launch("kernel", tuple(_kernel(spec)), constants, spec.warps, cluster, maxnreg=spec.registers)
    rings, conversion = tuple(_rings(spec, sizes)), 32 * 32 * spec.warps  # 8 sums a thread, to the layout of a store
    smem = sum(ring.smem_bytes for ring in rings) + conversion
    over = f"{spec.ctas} CTAs share an SM, by their registers, and take {spec.ctas * smem} B of {arch.smem_bytes} B"
    return kit.one_kernel.plan(
        spec,
        AXES,
        guards,
        baked,
        (_role(spec),),
        rings,
        (),
        Host(tuple(_host(spec)), ("m", "n")),
        specialized=False,
        cluster=cluster,
        compiler_smem=(plan.Use("sums of warps", conversion + arch.captures),),
        work=plan.Work("persistent", cluster=sizes["CLUSTER"] if spec.cluster.n > 1 else 1),
        facts=spec,
        launches=(main, *_columns(spec)),
        reasons=(plan.Reason("smem", over),) * (spec.ctas > 1 and spec.ctas * smem > arch.smem_bytes),
    )


def _role(spec: NormBwdSpec) -> plan.Role:
    """The role, with a thread's registers: fp32 sums; x, dy and weight in their dtypes, unless they are read again; and
    one of them in fp32."""
    task, each = spec.tasks.reduce, spec.tile.m * spec.tile.n // (32 * spec.warps)
    kept = (
        0
        if task.again
        else each * (len(spec.read) * spec.dtype.bytes + sum(v.bytes for v in spec.vectors.values())) // 4
    )
    held = each * len(spec.vectors) * task.sums + kept + WORKING_REGISTERS
    rows = tuple(f"load {name}" for name in spec.read) if spec.rings.rows.stages else ()
    exchange = ("expect sums", "send sums", "wait sums") if spec.cluster.n > 1 else ()
    wait = ("load_wait",) if rows else ()
    done = steps(*rows, *wait, ": sums of rows", *exchange, ": dx; sums of columns", *rows, *wait)
    return plan.Role("reduce", spec.warps, done, default=True, holds=plan.Holds(working=held))


def _rings(spec: NormBwdSpec, sizes: Mapping[str, plan.Size]) -> Iterator[plan.Ring]:
    """The rings of rows, and the ring of each CTA's sums of a row."""
    shape = sizes["BLOCK_M"], sizes["BLOCK_N"]
    if spec.rings.rows.stages:
        tiles = tuple(plan.Tile(name, shape, spec.dtype, internal=True) for name in spec.read)
        yield plan.Ring("rows", tiles, sizes["STAGES"], plan.Fill("reduce", "async"), (), item=True)
    if spec.cluster.n > 1:
        yield sums(sizes, len(spec.stats))


def _kernel(spec: NormBwdSpec) -> Iterator[KernelArgument]:
    """The kernel's arguments. The divisors of rows and strides in bytes tell the compiler that rows are aligned."""
    yield from (address(f"{name}_ptr", spec.dtype.signature, name) for name in (*spec.read, "dx"))
    yield from (address(f"{name}_ptr", "fp32", name) for name in spec.stats)
    if spec.vectors:
        yield address("weight_ptr", spec.vectors["weight"].signature, "weight")
        yield address("sums_ptr", "fp32", "sums")
    yield scalar("M", "m", divisible=True, single=True)
    yield scalar("row_bytes", f"n * {spec.dtype.bytes}", divisible=True)
    yield from (scalar(f"stride_{n}", f"strides[{i}]", divisible=True) for i, n in enumerate((*spec.read, "dx")))


def _columns(spec: NormBwdSpec) -> Iterator[plan.Launch]:
    """The kernels that add up columns: over rows, if the main kernel does not; then over clusters."""
    if spec.apart:
        given = [a for a in _kernel(spec) if a.name not in ("dx_ptr", "weight_ptr", "stride_dx")]
        given = [a for a in given if "dresidual_out" not in a.name]
        yield plan.Launch("columns_kernel", (*given, scalar("P", "clusters")), (), 4)
    if spec.vectors:
        given = [address("sums_ptr", "fp32", "sums")]
        given += [address(f"d{name}_ptr", kind.signature, f"d{name}") for name, kind in spec.vectors.items()]
        given += [scalar("P", "clusters"), scalar("N", "n", divisible=True)]
        block = 16 if spec.columns <= 8192 else 128
        yield plan.Launch("finish_kernel", tuple(given), (("COLUMNS", block),), 4)


def _host(spec: NormBwdSpec) -> Iterator[HostArgument]:
    kind, fp32, absent = (spec.dtype.torch,), ("float32",), ("Tensor", "None", True)
    rows = {"dy": f"(..., N) {kind[0]}, rows at one distance.", "x": "likewise, as the forward had it."}
    if spec.problem.residual:
        rows |= {"x": "likewise, the forward's residual_out.", "dresidual_out": "likewise, the gradient by that."}
    for name, text in rows.items():
        decoded = "" if name == "x" else f"addressable({name})"
        yield HostArgument(name, text, shape="tuple(x.shape)", dtypes=kind, wants="rows", decoded=decoded)
    vectors = [(name, (of.torch,)) for name, of in spec.vectors.items()]
    for name, of in vectors[:1]:
        yield HostArgument(name, f"(N,) {of[0]}.", shape="(n,)", dtypes=of, wants="contiguous")
    for name in spec.stats:
        text = "(...) float32, of each row: what the forward has returned."
        yield HostArgument(name, text, shape="tuple(x.shape[:-1])", dtypes=fp32, wants="contiguous")
    text = "where gradients go; allocated when absent."
    yield HostArgument("dx", text, *absent, "tuple(x.shape)", kind, "rows", result=True)
    for name, of in vectors:
        yield HostArgument(f"d{name}", "", *absent, "(n,)", of, "contiguous", result=True)
