"""addmm and SwiGLU of meta-recsys/generative-recommenders, for Blackwell."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.foreign._folder import package

package("generative_recommenders", "meta-recsys/generative-recommenders", "generative_recommenders")
_OPS = "generative_recommenders.ops.triton"
products = importlib.import_module(f"{_OPS}.triton_addmm")
gated = importlib.import_module(f"{_OPS}.triton_swiglu")


def addmm(x, w, y):
    return products.triton_addmm_fwd_tma_ws_tlx(x, w, y)


def addmm_persistent(x, w, y):
    return products.triton_addmm_fwd_tma_ws_persistent_tlx(x, w, y)


def swiglu(x, gate, up):
    return gated.triton_swiglu_fwd_tma_ws_persistent_tlx(x, gate, up)


def swiglu_reference(x, gate, up):
    return F.silu(x @ gate.T) * (x @ up.T)
