"""The plan of an mx_quantize spec: one role, of persistent CTAs the ring of x, and arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tlxgen import plan
from tlxgen.arch import ARCHS, Arch
from tlxgen.families import kit
from tlxgen.plan.arguments import Host, HostArgument, KernelArgument, address, descriptor, scalar
from tlxgen.plan.steps import steps

from .spec import AXES, BLOCK, UNIT, QuantizeSpec

WORKING_REGISTERS = 32  # a thread, beside x: addresses, magnitudes and scales
BOXES = UNIT // BLOCK  # of a persistent CTA's tile, each as high as a block


def build(spec: QuantizeSpec, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool]) -> plan.Plan:
    """The plan of one variant. It does not fail: a variant that cannot be built has `Plan.reasons`."""
    sizes, arch = kit.sizes(AXES, spec), ARCHS[spec.arch]
    rings = (_boxes(spec, sizes),) if spec.persistent else ()
    # Tiles change their layout on the way to memory: 8-bit numbers, or, across warps, magnitudes of columns.
    scratch = plan.Use("numbers on their way to whole lines", spec.tile.m * spec.tile.n + arch.captures)
    return kit.one_kernel.plan(
        spec,
        AXES,
        guards,
        baked,
        (_role(spec),),
        rings,
        _kernel(spec, sizes),
        Host(tuple(_host(spec)), ("m", "n")),
        maxnreg=spec.registers,
        specialized=False,
        compiler_smem=(scratch,),
        work=plan.Work(spec.schedule.kind),
        facts=spec,
        reasons=tuple(_crowded(spec, arch, sum(ring.smem_bytes for ring in rings) + scratch.amount)),
    )


def _role(spec: QuantizeSpec) -> plan.Role:
    """The role, with a thread's registers: what it has of a tile, as numbers or, of a box, in fp32."""
    warps, elements = spec.tasks.quantize.warps, spec.tile.m * spec.tile.n
    each = elements // (32 * warps) // (2 if spec.persistent else 1)
    filled = ("expect x", "load x")
    read = ("wait x", ": x.T; x; scales; e4m3", "fence", "release x", "acquire x", *filled)
    done = (*filled, *read) if spec.persistent else (": x; scales; e4m3",)
    return plan.Role("quantize", warps, steps(*done), default=True, holds=plan.Holds(working=each + WORKING_REGISTERS))


def _boxes(spec: QuantizeSpec, sizes: Mapping[str, plan.Size]) -> plan.Ring:
    """The ring of tiles of x. The task that fills it reads it too, by ordinary loads."""
    tile = plan.Tile("x", (sizes["BLOCK_M"], sizes["BLOCK_N"]), spec.dtype, groups=BOXES)
    return plan.Ring("x", (tile,), sizes["STAGES"], plan.Fill("quantize", "tma"), (plan.Drain("quantize"),), item=True)


def _crowded(spec: QuantizeSpec, arch: type[Arch], smem: int) -> Iterator[plan.Reason]:
    """A reason against persistent CTAs of which, by their registers, an SM has more than its SMEM has room for."""
    if spec.persistent and spec.ctas > 1 and spec.ctas * smem > arch.smem_bytes:
        text = f"{spec.ctas} CTAs share an SM, by their registers, and take {spec.ctas * smem} B of {arch.smem_bytes} B"
        yield plan.Reason("smem", text)


def _kernel(spec: QuantizeSpec, sizes: Mapping[str, plan.Size]) -> Iterator[KernelArgument]:
    """The kernel's arguments."""
    if spec.persistent:
        yield descriptor("x_desc", spec.dtype.signature, (sizes["BLOCK_M"] // BOXES, sizes["BLOCK_N"]), "x")
    else:
        yield address("x_ptr", spec.dtype.signature, "x")
    for name in spec.results:
        scales = name.endswith("scales")
        view = "t.view(torch.uint8)" if scales else "t"
        yield address(f"{name}_ptr", "u8" if scales else "fp8e4nv", name, view=view)
    yield scalar("M", "m", divisible=True, single=True)
    yield scalar("N", "n", divisible=True)
    if not spec.persistent:
        yield scalar("stride_x", 'row_stride(x, "x")', divisible=True)
    for name in spec.results[::2]:
        yield scalar(f"stride_{name}", f'row_stride(made.get("{name}", {name}), "{name}")', divisible=True)


def _host(spec: QuantizeSpec) -> Iterator[HostArgument]:
    where = "rows at multiples of 16 bytes" if spec.persistent else "rows at one distance"
    meaning, given = f"(M, N) {spec.dtype.torch}, {where}.", (spec.dtype.torch,)
    yield HostArgument("x", meaning, shape="(m, n)", dtypes=given, wants="rows", general=not spec.persistent)
    made = {
        "rows": ("(M, N)", "along rows", False),
        "columns": ("(N, M)" if spec.transposed else "(M, N)", "along columns", spec.transposed),
    }
    for name in spec.results[::2]:
        shape, along, turned = made[name]
        meaning = f"{shape} float8_e4m3fn, {'x.T' if turned else 'x'} quantised {along}; allocated when absent."
        yield HostArgument(
            *(name, meaning, "Tensor", "None", True, shape.lower(), ("float8_e4m3fn",), "rows"), result=True
        )
        a, b = ("M", "N") if name == "rows" else ("N", "M")
        blocks = f"({a} / {UNIT}, {b} / {UNIT}, rounded up)"
        meaning = f"(1, *{blocks}, 2, 256) float8_e8m0fnu or uint8: "
        meaning += "their scales, in blocks of 512 bytes; allocated when absent."
        sizes = f"(1, triton.cdiv({a.lower()}, {UNIT}), triton.cdiv({b.lower()}, {UNIT}), 2, 256)"
        types = ("float8_e8m0fnu", "uint8")
        scales = f"{name[:-1]}_scales"
        yield HostArgument(scales, meaning, "Tensor", "None", True, sizes, types, "contiguous", result=True)
