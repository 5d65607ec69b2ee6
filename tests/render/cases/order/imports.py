from typing import Sequence
import triton.language as tl
# arrays
import torch
import sys
import triton
from typing import Any, Sequence
from torch import nn, Tensor, autograd as ag
import os, sys
from __future__ import annotations
from . import local

X = 1
# output
from __future__ import annotations

import os
import sys
from typing import Any, Sequence

# arrays
import torch
import triton
import triton.language as tl
from torch import Tensor, nn
from torch import autograd as ag

from . import local

X = 1
