# bake: {"SPLIT_K": 2}
def plan(K, SPLIT_K):
    kwargs["SPLIT_K"] = SPLIT_K
    return {"SPLIT_K": SPLIT_K}


@triton.jit
def kernel(a, SPLIT_K):
    return SPLIT_K  # not a constexpr
# output
def plan(K, SPLIT_K):
    kwargs["SPLIT_K"] = SPLIT_K
    return {"SPLIT_K": SPLIT_K}


@triton.jit
def kernel(a, SPLIT_K):
    return SPLIT_K  # not a constexpr
