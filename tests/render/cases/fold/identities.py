@triton.jit
def kernel(a, b, c):
    x = a * (b + 0) - (c * 1)
    y = a * (b + c + 0), (a + b) * 1, 1 * a // 1, a**1, 0 + a[b * 1], a.b - 0
    z = a % 1, a * 0 + b, 0 * (a + b), load(a) * 0, load(a) * 1, 0 - a
    w = -(a * 1), (-(2 - 5)) ** a, (1 - 2) ** a, (a < b) * 1, 1.0 * 1
    v = (a + b) * (1 + 0), (a & 1) + 0 == b, a - (b - c + 0), a - (b * c + 0)
    for k in range(0 * a, (b // 1) + 0):
        a[(k + 0)] = (k)
# output
@triton.jit
def kernel(a, b, c):
    x = a * b - c
    y = a * (b + c), a + b, a, a, a[b], a.b
    z = 0, b, 0, load(a) * 0, load(a), 0 - a
    w = -a, 3 ** a, (-1) ** a, (a < b) * 1, 1.0 * 1
    v = a + b, (a & 1) == b, a - (b - c), a - b * c
    for k in range(0, b):
        a[k] = (k)
