import triton.language as tl
import triton.language.extra.tlx as tlx

BLOCK = 64


@triton.jit
def kernel(v_desc, n):
    p = scores.to(tlx.dtype_of(v_desc))
    for part in tl.static_range(2):
        for tile in range(n):
            acc = tlx.async_dot(p, v[tile], acc)
            scores = tlx.async_dot_wait(1, scores)
            p = scores.to(tlx.dtype_of(v_desc))  # for the next round
    acc = tlx.async_dot(p, v[n], acc)


@triton.jit
def in_turn(v_desc, n):
    for tile in range(n):
        p = scores.to(tlx.dtype_of(v_desc))
        acc = tlx.async_dot(p, v[tile], acc)
# output
import triton.language as tl
import triton.language.extra.tlx as tlx

BLOCK = 64


@triton.jit
def packed(x):
    """x, each 32 bits of it in a register: stock Triton takes it apart where a loop carries it."""
    pack: tl.constexpr = 32 // x.dtype.primitive_bitwidth
    return tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], dtype=x.dtype, is_pure=True, pack=pack)


@triton.jit
def kernel(v_desc, n):
    p = packed(scores.to(tlx.dtype_of(v_desc)))
    for part in tl.static_range(2):
        for tile in range(n):
            acc = tlx.async_dot(p, v[tile], acc)
            scores = tlx.async_dot_wait(1, scores)
            p = packed(scores.to(tlx.dtype_of(v_desc)))  # for the next round
    acc = tlx.async_dot(p, v[n], acc)


@triton.jit
def in_turn(v_desc, n):
    for tile in range(n):
        p = scores.to(tlx.dtype_of(v_desc))
        acc = tlx.async_dot(p, v[tile], acc)
