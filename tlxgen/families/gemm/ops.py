"""Epilogue operations: what each takes, what it does in the kernel, and what it does in the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Held:
    """What a thread holds of a subtile on Hopper: fp32 elements, of so many columns of so many blocks of 64 rows."""

    elements: int
    columns: int
    blocks: int


@dataclass(frozen=True)
class OpTensor:
    """A tensor an operation takes from the caller.

    `shape` in terms of M and N; `dtypes` the torch types it accepts; `strided` whether its row stride is an argument.
    """

    name: str
    shape: tuple[str, ...]
    dtypes: tuple[str, ...]
    signature: str  # the element type that an offline compile assumes
    meaning: str

    @property
    def strided(self) -> bool:
        return self.shape == ("M", "N")

    def of_groups(self) -> OpTensor:
        """The same of a grouped GEMM: one for each group."""
        meaning = self.meaning.replace(", of any rank", "")
        return replace(self, shape=("G", *self.shape), meaning=f"of each group: {meaning}")

    @property
    def largest_bytes(self) -> int:
        """Bytes of an element of the widest type it accepts."""
        return 4 if "float32" in self.dtypes else 2

    @property
    def stride(self) -> str:
        """The kernel argument of its row stride, if it has one."""
        return f"stride_{self.name[0]}m"

    @property
    def arguments(self) -> tuple[str, ...]:
        """The kernel arguments it becomes."""
        return (f"{self.name}_ptr", *((self.stride,) if self.strided else ()))


@dataclass(frozen=True)
class Op:
    """One operation on `acc`, an fp32 block whose element (i, j) is row `rows[i]`, column `columns[j]` of C.

    `registers`: about how many a thread needs for it, as docs/decisions.md says. `halves`: it makes one column of two,
    so that it comes last. In the terms of torch, on the host: `value`, what it makes of `{x}`; `derivative`, the
    gradient by `{x}`, from `dout`, that by its result (empty: the same); `gradients`, those by its tensors, where they
    are known.
    """

    name: str
    code: tuple[str, ...]
    meaning: str
    tensors: tuple[OpTensor, ...] = ()
    registers: Callable[[Held], float] = lambda held: 0
    value: str = ""
    derivative: str = ""
    gradients: Mapping[str, str] = field(default_factory=dict)
    halves: bool = False


_ANY = ("float16", "bfloat16", "float32")

OPS = {
    op.name: op
    for op in (
        Op(
            "bias",
            (
                "bias = tl.load(bias_ptr + columns, mask=columns < N, other=0.0)",
                "acc += bias.to(tl.float32)[None, :]",
            ),
            "add bias[n]",
            (OpTensor("bias", ("N",), _ANY, "bf16", "added to every row"),),
            value="{x} + bias",
            gradients={"bias": "column_sums(dout, bias)"},
        ),
        Op(
            "relu",
            ("acc = tl.maximum(acc, 0.0, propagate_nan=tl.PropagateNan.ALL)",),
            "max(x, 0)",
            value="torch.relu({x})",
            derivative="torch.where({x} <= 0, 0, dout)",
        ),
        Op(
            "gelu",
            ("acc = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))",),
            "x * Phi(x), by erf",
            registers=lambda held: held.elements**2 / 104,  # ptxas begins with many elements before it ends with one
            value="torch.nn.functional.gelu({x})",
            derivative="torch.ops.aten.gelu_backward(dout.float(), {x})",
        ),
        Op(
            "silu",
            ("acc = acc * tl.sigmoid(acc)",),
            "x * sigmoid(x)",
            value="torch.nn.functional.silu({x})",
            derivative="torch.ops.aten.silu_backward(dout.float(), {x})",
        ),
        Op(
            "swiglu",
            (
                "gate, up = tl.split(tl.reshape(acc, (acc.shape[0], acc.shape[1] // 2, 2)))",
                "acc = gate * tl.sigmoid(gate) * up",
            ),
            "gate * sigmoid(gate) * up, of the columns of gate and up in turns: C has half of the columns",
            halves=True,
        ),
        Op(
            "residual",
            (
                "inside = (rows[:, None] < M) & (columns[None, :] < N)",
                "residual_ptrs = residual_ptr + rows.to(tl.int64)[:, None] * stride_rm + columns[None, :]",
                "acc += tl.load(residual_ptrs, mask=inside, other=0.0).to(tl.float32)",
            ),
            "add residual[m, n]",
            (OpTensor("residual", ("M", "N"), _ANY, "bf16", "added element by element"),),
            registers=lambda held: held.elements / 4,
            value="{x} + residual",
            gradients={"residual": "dout"},
        ),
        Op(
            "scale",
            ("acc *= tl.load(scale_ptr)",),
            "multiply by one number",
            (OpTensor("scale", (), ("float32",), "fp32", "one number, of any rank, on the device"),),
            registers=lambda held: 7,
            value="{x} * scale.reshape(())",
            derivative="dout * scale.reshape(())",
        ),
        Op(
            "scale_rowwise",
            (
                "scale_a = tl.load(scale_a_ptr + rows, mask=rows < M, other=0.0)",
                "scale_b = tl.load(scale_b_ptr + columns, mask=columns < N, other=0.0)",
                "acc *= scale_a[:, None] * scale_b[None, :]",
            ),
            "multiply by scale_a[m] * scale_b[n]",
            (
                OpTensor("scale_a", ("M",), ("float32",), "fp32", "scale of each row of A"),
                OpTensor("scale_b", ("N",), ("float32",), "fp32", "scale of each column of B"),
            ),
            registers=lambda held: held.columns / 16 + 3 * held.blocks,
            value="{x} * scale_a[:, None] * scale_b",
            derivative="dout * scale_a[:, None] * scale_b",
        ),
    )
}
