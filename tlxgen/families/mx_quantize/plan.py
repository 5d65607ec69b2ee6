"""The plan of an mx_quantize spec: one role, no rings, and arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tlxgen import plan
from tlxgen.arch import ARCHS
from tlxgen.families import kit
from tlxgen.plan.arguments import Host, HostArgument, KernelArgument, address, scalar
from tlxgen.plan.steps import steps

from .spec import AXES, UNIT, QuantizeSpec

WORKING_REGISTERS = 32  # a thread, beside x: addresses, magnitudes and scales


def build(spec: QuantizeSpec, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool]) -> plan.Plan:
    """The plan of one variant. It does not fail: a variant that cannot be built has `Plan.reasons`."""
    arch, elements, warps = ARCHS[spec.arch], spec.tile.m * spec.tile.n, spec.tasks.quantize.warps
    held = plan.Holds(working=elements // (32 * warps) + WORKING_REGISTERS)
    # Tiles change their layout on the way to memory: 8-bit numbers, or, across warps, magnitudes of columns.
    scratch = plan.Use("numbers on their way to whole lines", elements + arch.captures)
    return kit.one_kernel.plan(
        spec,
        AXES,
        guards,
        baked,
        (plan.Role("quantize", warps, steps(": x; scales; e4m3"), default=True, holds=held),),
        (),
        _kernel(spec),
        Host(tuple(_host(spec)), ("m", "n")),
        maxnreg=spec.tasks.quantize.registers,
        specialized=False,
        compiler_smem=(scratch,),
        work=plan.Work("grid"),
        facts=spec,
    )


def _kernel(spec: QuantizeSpec) -> Iterator[KernelArgument]:
    yield address("x_ptr", spec.dtype.signature, "x")
    for name in spec.results:
        scales = name.endswith("scales")
        view = "t.view(torch.uint8)" if scales else "t"
        yield address(f"{name}_ptr", "u8" if scales else "fp8e4nv", name, view=view)
    yield scalar("M", "m", divisible=True, single=True)
    yield scalar("N", "n", divisible=True)
    yield scalar("stride_x", 'row_stride(x, "x")', divisible=True)
    for name in spec.results[::2]:
        yield scalar(f"stride_{name}", f'row_stride(made.get("{name}", {name}), "{name}")', divisible=True)


def _host(spec: QuantizeSpec) -> Iterator[HostArgument]:
    yield HostArgument(
        "x",
        f"(M, N) {spec.dtype.torch}, rows at one distance.",
        shape="(m, n)",
        dtypes=(spec.dtype.torch,),
        wants="rows",
    )
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
