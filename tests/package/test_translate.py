"""Host functions in C++: each statement that `prepare` may have, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxgen.errors import TlxgenError
from tlxgen.package.cpp.folder import wrapped
from tlxgen.package.cpp.translate import Host, _call, _parts, has_host, host_of

ROOT = Path(__file__).resolve().parents[2]

MODULE = '''
CONFIGS = [triton.Config({"BLOCK": 64, "STAGES": 2}, num_warps=8, ctas_per_cga=(2, 1, 1), maxnreg=80)]


def halves(n, unused):
    """Two of them."""
    if n < 0 or n > 9:
        raise TypeError(f"n: {n} is not {{0}}")
    return n // 2, (n + 1) // 2


def prepare(x, scale, out, config, outputs=outputs):
    """Checks."""
    device = on_cuda(x, "x")
    check(x, "x", x.shape, (torch.float16,), device)
    if out is not None:
        writable(out, "out")
    scale = positive(1 / math.sqrt(64) if scale is None else scale, "scale")
    config = config_of(config, CONFIGS)
    made = missing(("out",), outputs(x), (out,))
    if not x.numel():
        return Call(device, ("x", "out"), ("out",), made, [], instead=lambda *tensors: tensors[-1].zero_())
    config = config or pick_config(x.shape[0], gpu_of(device.index))
    block = config.kwargs["BLOCK"]
    BODY
    kernel = Launch(
        copy_kernel,
        (min(low, high, block), 1, 1),
        [("x", lambda t: describe(t.T, "x", [block], "; it is turned: x.T is"))],
        ["out"],
        (scale * math.log2(math.e), (made["out"] if out is None else out).stride(0)),
        {**config.all_kwargs(), "launch_pdl": True},
    )
    return Call(device, ("x", "out"), ("out",), made, [kernel], owner=config)


OPERATOR = Operator("copy", "(Tensor x, float? scale, int config) -> Tensor", None, None)


def copy(x, *, scale=None, out=None, config=None):
    """x, scaled."""


copy.operator = OPERATOR
'''


def host(body: str = "low, high = halves(x.shape[0], scale)", old: str = "", new: str = "") -> Host:
    text = MODULE.replace("BODY", body)
    assert old in text
    return host_of("copy", text.replace(old, new) if old else text)


def test_what_prepare_does_in_cpp() -> None:
    made = host()
    assert [(p.name, p.kind, p.result) for p in made.parameters] == [
        ("x", "tensor", False),
        ("scale", "float?", False),
        ("out", "tensor", True),
    ]
    assert made.kernels == ["copy_kernel"]
    assert [c.maxnreg for c in made.configs] == [80]
    assert made.body == [
        'const auto device = on_cuda(x, "x");',
        'check(x, "x", x.shape(), {float16}, device);',
        'writable(out, "out");',
        'const double scale_ = positive(scale.value_or(0.125), "scale");',
        "if (!x.numel()) {",
        "  zero(out);",
        "  return;",
        "}",
        "const int64_t block = config.BLOCK;",
        "const auto [low, high] = halves(x.size(0));",
        'refuse_overlap({{"x", x}, {"out", out, true}});',
        "copy_kernel(",
        "    config.index, device, {std::min<int64_t>({low, high, block}), 1, 1},",
        '    {describe(x.transposed(), "x", "; it is turned")}, {out}, '
        "{scale_ * 1.4426950408889634, out.stride(0)}, true);",
    ]
    assert made.helpers == [
        "/* Two of them. */\n"
        "auto halves(int64_t n) {\n"
        "  if (n < 0 || n > 9) {\n"
        '    TVM_FFI_THROW(TypeError) << "n: " << n << " is not {0}";\n'
        "  }\n"
        "  return std::make_tuple(n / 2, (n + 1) / 2);\n"
        "}"
    ]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("low = high = 1", None),
        ("low, high = -block % 8, 1", None),
        ("low, high = block, unknown", None),
        ("low, high = block, x.stride()", None),
        ("if block > 1:\n        low = 1\n    high = 1", None),
        (
            "low, high = 2 * (block - 1) - (3 - block), block / 2 if block % 2 == 0 else 1.5",
            "2 * (block - 1) - (3 - block)",
        ),
        ("low, high = (block + 1) * 2 // (block * 3), 2**40", "(block + 1) * 2 / (block * 3)"),
        ("low, high = 2**40, block", "int64_t{1099511627776}"),
        ("low, high = x.element_size(), max(1, block)", "x.element_size()"),
        ("low, high = (0 < block <= 8 and not block - 1), 1", "(0 < block && block <= 8) && block - 1 == 0"),
    ],
)
def test_expressions_keep_their_meaning(body: str, code: str | None) -> None:
    """An order of evaluation by brackets; what C++ rounds otherwise, or has no word for, is refused with its line."""
    if code is None:
        with pytest.raises(TlxgenError, match=r"^copy\.py:\d+: .*in C\+\+ yet"):
            host(body)
    else:
        assert f"low = {code};" in "\n".join(host(body).body)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("float? scale", "SymInt scale", "scale is of SymInt, which no function in C++ takes yet"),
        ("owner=config", "owner=config, workspace=(1, 2)", "workspace of a call has no form in C++ yet"),
        ('{**config.all_kwargs(), "launch_pdl": True}', "options", "constants that depend on the arguments"),
        ("tensors[-1].zero_()", "tensors[-1].copy_(x)", "has no form in C++ yet"),
        ('["out"]', '["memory"]', "memory is made for a launch"),
    ],
)
def test_what_else_a_module_does_is_refused(old: str, new: str, what: str) -> None:
    with pytest.raises(TlxgenError) as caught:
        host(old=old, new=new)
    assert what in str(caught.value)


def test_lines_of_a_page() -> None:
    assert wrapped("void f(" + ", ".join(["int64_t number"] * 9) + ");") == [
        "void f(" + ", ".join(["int64_t number"] * 7) + ",",
        "    int64_t number, int64_t number);",
    ]


def test_a_long_list_breaks_between_its_parts() -> None:
    """Parts have brackets and commas of their own."""
    assert [*_parts('f(a, {b, c}), "x, (", d')] == ["f(a, {b, c})", '"x, ("', "d"]
    long = [f'describe(tensor_{i}, "tensor_{i}", "; {"x" * 40}")' for i in range(3)]
    lines = _call("f(", ["{" + ", ".join([*long, "1"]) + "}", "{2}"], ");")
    assert lines == ["f(", f"    {{{long[0]},", f"     {long[1]},", f"     {long[2]}, 1}}, {{2}});"]


FORMS = {
    "hopper_gemm": 2,
    "hopper_gemm_pdl": 5,
    "hopper_rms_norm": 2,
    "hopper_layer_norm": 2,
    "hopper_attention_fwd": 2,
    "blackwell_gemm": 2,
    "blackwell_attention_fwd": 2,
}


@pytest.mark.parametrize("folder", FORMS)
def test_shipped_modules_have_a_form(folder: str) -> None:
    texts = {path.stem: path.read_text() for path in (ROOT / "generated" / folder).glob("[a-z]*.py")}
    made = [host_of(name, text) for name, text in texts.items() if has_host(text)]
    assert len(made) >= FORMS[folder]
    assert all(host.kernels and host.configs for host in made)
