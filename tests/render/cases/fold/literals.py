def f(x):
    a = 128 // 2 + 3 * (4 - 6)
    b = (1 << 4) | 3 & ~4
    c = -7 // 2, 7 // -2, -7 % 2, 7 // 0, 2**-1, 1 << 200
    d = 1.5 * 2 + 0.0, -1.0
    e = min(3, 4, 1), max(1, x), tl.cdiv(10, 3), triton.cdiv(x, 3), min([1, 2])
    return (2 + 3).bit_length(), 0xFF, "a" + "b"
# output
def f(x):
    a = 58
    b = 19
    c = -7 // 2, 7 // -2, -7 % 2, 7 // 0, 2**-1, 1 << 200
    d = 1.5 * 2 + 0.0, -1.0
    e = 1, max(1, x), 4, triton.cdiv(x, 3), min([1, 2])
    return (5).bit_length(), 0xFF, "a" + "b"
