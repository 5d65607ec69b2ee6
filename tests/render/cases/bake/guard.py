# bake: {"EPILOGUE_TASK": false}
@triton.autotune(configs=CONFIGS, key=["M"])
@triton.jit
def kernel(
    a,
    M,  # rows
    EPILOGUE_TASK: tl.constexpr,  # whether a task of its own stores
):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            load(a)
        # The epilogue.
        if EPILOGUE_TASK:
            with tlx.async_task(num_warps=1, registers=24):
                store(a)
        if not EPILOGUE_TASK:
            with tlx.async_task(num_warps=1, registers=24):
                keep(a)


kernel[(1,)](
    a,
    M,
    EPILOGUE_TASK=True,
)
# output
@triton.autotune(configs=CONFIGS, key=["M"])
@triton.jit
def kernel(
    a,
    M,  # rows
):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            load(a)
        # The epilogue.
        if False:
            with tlx.async_task(num_warps=1, registers=24):
                store(a)
        if not False:
            with tlx.async_task(num_warps=1, registers=24):
                keep(a)


kernel[(1,)](
    a,
    M,
)
