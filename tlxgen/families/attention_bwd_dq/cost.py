"""The work of dQ alone. There is no estimate of its clocks yet."""

from tlxgen.families.attention_bwd.cost import bytes_moved, flops

__all__ = ["bytes_moved", "flops"]
