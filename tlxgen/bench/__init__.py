"""The timing method, and `tlxgen bench`: a spec's kernels against the baselines that its family names.

`timing` is arithmetic and knows no GPU. `gpu` is the only module that imports torch.
"""

from .timing import Figure, Timer, interleave

__all__ = ["Figure", "Timer", "interleave"]
