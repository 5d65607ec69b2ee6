"""Benchmarks of the gradients of GDPA and HSTU, for which torch has no baseline. It imports torch."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from tlxgen.families.attention import drawn as attention
from tlxgen.families.attention.common import Shape
from tlxgen.families.attention_bwd.benchmark import Baseline, Run
from tlxgen.families.attention_bwd.problem import LIKE
from tlxgen.families.attention_fwd.benchmark import dense

from .spec import JaggedBwdSpec


def call(module: Any, spec: JaggedBwdSpec, shape: Shape, tensors: Mapping[str, Any], config: Any = None) -> Run:
    """A launch of the generated host function into one set of gradients; `config` None takes the first."""
    given = dense(dict(tensors))
    given |= {name: given[of].new_empty(given[of].shape) for name, of in LIKE.items()}
    options = {} if config is None else {"config": config}
    return lambda: getattr(module, spec.name)(**given, **options)


def baselines(spec: JaggedBwdSpec) -> Mapping[str, Baseline]:
    return {}


def drawn(spec: JaggedBwdSpec, rng: random.Random) -> Shape | None:
    """A random shape of attention, with as many keys as queries."""
    shape = attention.drawn(spec, rng)
    return (*shape[:4], shape[3]) if shape else None
