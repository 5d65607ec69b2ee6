# bake: {"SPLIT_K": 1, "STAGES": 4}
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"BLOCK_M": 128, "SPLIT_K": 1, "STAGES": 4}, num_warps=4),
    triton.Config({"STAGES": 4, "BLOCK_M": 64}),
]
SPLIT_K = 7  # a global of the same name is not ours


@triton.jit
def kernel(a, b, M, BLOCK_M: tl.constexpr, SPLIT_K: tl.constexpr, STAGES: tl.constexpr):
    # SPLIT_K in a comment stays.
    tiles = tl.cdiv(M, BLOCK_M) * SPLIT_K
    work(a.STAGES, STAGES=STAGES, rows=tiles)


def launch(a, b, config, **kwargs):
    kernel[grid](a, b, a.shape[0], BLOCK_M=config.kwargs["BLOCK_M"], SPLIT_K=config.kwargs["SPLIT_K"], **kwargs)
    kernel[lambda META: (META["SPLIT_K"] * 2,)](a, b, 4, 128, 1, 4)
    return torch.empty((kwargs["SPLIT_K"], SPLIT_K))
# output
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"BLOCK_M": 128}, num_warps=4),
    triton.Config({"BLOCK_M": 64}),
]
SPLIT_K = 7  # a global of the same name is not ours


@triton.jit
def kernel(a, b, M, BLOCK_M: tl.constexpr):
    # SPLIT_K in a comment stays.
    tiles = tl.cdiv(M, BLOCK_M) * 1
    work(a.STAGES, STAGES=4, rows=tiles)


def launch(a, b, config, **kwargs):
    kernel[grid](a, b, a.shape[0], BLOCK_M=config.kwargs["BLOCK_M"], **kwargs)
    kernel[lambda META: (1 * 2,)](a, b, 4, 128)
    return torch.empty((1, SPLIT_K))
