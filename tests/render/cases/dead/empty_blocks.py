@triton.jit
def kernel(a, n):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            if False:
                load(a)
        # Nothing left to do.
        with tlx.async_task(num_warps=1, registers=24):
            for tile in range(n):
                for k in range(tl.program_id(0), tl.cdiv(tile, 2)):
                    if False:
                        store(tile)
        with tlx.async_task(num_warps=4):
            for tile in range(n):
                if tile > 1:
                    store(tile)
            for row in range(n):
                pass
            last(row)
    for i in tl.range(0, n):
        if tlx.poll(a):
            pass
    for i in range(f(n)):
        pass
    while a:
        pass
# output
@triton.jit
def kernel(a, n):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            pass
        with tlx.async_task(num_warps=4):
            for tile in range(n):
                if tile > 1:
                    store(tile)
            for row in range(n):
                pass
            last(row)
    for i in tl.range(0, n):
        if tlx.poll(a):
            pass
    for i in range(f(n)):
        pass
    while a:
        pass
