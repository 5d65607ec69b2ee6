@triton.jit
def kernel(a):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            load(a)

        # The first half.
        if True:
            # Store.
            with tlx.async_task(num_warps=1, registers=24):
                store(a)
            # after the store
        # The second half.
        if False:
            # Never.
            with tlx.async_task(num_warps=1, registers=24):
                never(a)
        else:  # without a task
            # Always.
            with tlx.async_task(num_warps=2, registers=24):
                always(a)
        # last
# output
@triton.jit
def kernel(a):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            load(a)

        # The first half.
        # Store.
        with tlx.async_task(num_warps=1, registers=24):
            store(a)
        # after the store
        # The second half.
        # without a task
        # Always.
        with tlx.async_task(num_warps=2, registers=24):
            always(a)
        # last
