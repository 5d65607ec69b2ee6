@triton.jit
def kernel(a, n):
    count = 0
    kept = 0
    odd = 0
    for k in range(n):
        tl.store(a, kept)
        # Next.
        count += 1
        kept += 1
        odd += step(a)
        if k:
            count += 2


def launch(a):
    total = 0
    total += 1
    b = a
    b += 1
    kernel[(1,)](a, 2)
# output
@triton.jit
def kernel(a, n):
    kept = 0
    odd = 0
    for k in range(n):
        tl.store(a, kept)
        kept += 1
        odd += step(a)
        if k:
            pass


def launch(a):
    total = 0
    total += 1
    b = a
    b += 1
    kernel[(1,)](a, 2)
