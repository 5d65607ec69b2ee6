"""Generated attention as an implementation of transformers, for training.

    from hopper_attention_fwd import hopper_attention_fwd_causal
    from hopper_attention_bwd import attention_causal  # makes an operator with gradients of a forward
    register_attention("tlxgen", causal=attention_causal(hopper_attention_fwd_causal))
    model = AutoModelForCausalLM.from_pretrained(..., attn_implementation="tlxgen")

The kernels know whole sequences under the causal mask, or under none. Whatever else a model asks for (padding, windows,
packed sequences, dropout, a cache) is refused where it is asked for, not computed wrongly.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

Attention = Callable[..., Any]

# What models pass that changes the scores, and no kernel here has.
_UNKNOWN = ("softcap", "sliding_window", "s_aux", "position_bias", "cache", "head_mask")


def register_attention(name: str, *, causal: Attention | None = None, full: Attention | None = None) -> None:
    """Registers attention under `name`, for `attn_implementation=name`, with the masks that go with it.

    `causal` and `full`: functions of q (B, H, N, D), k and v (B, Hkv, N, D), Hkv a divisor of H, and `scale`; they give
    out (B, H, N, D), or a tuple that begins with it. The host function of a generated forward is one, and so is what
    `attention` of a generated backward makes of it, with the arguments of scaled_dot_product_attention.

    Raises ImportError where transformers has no AttentionInterface, ValueError where neither function is given.
    """
    if causal is None and full is None:
        raise ValueError(f"{name}: register_attention needs causal= or full=")
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, bidirectional_mask_function, causal_mask_function

    known = {causal_mask_function: "causal", bidirectional_mask_function: "full"}

    def mask(*_: Any, mask_function: Any = causal_mask_function, **told: Any) -> None:
        """No mask: that of the kernel is the model's. Raises ValueError for any other."""
        if mask_function not in known or told.get("local_size") is not None:
            raise ValueError(f"{name}: these kernels have no mask but the causal one; the model asks for another")
        padding = told.get("attention_mask")
        if padding is not None and not bool(padding.all()):
            raise ValueError(f"{name}: these kernels know no padding: give sequences of one length, no attention_mask")

    def forward(
        module: Any,
        query: Any,
        key: Any,
        value: Any,
        attention_mask: Any = None,
        *,
        scaling: float | None = None,
        dropout: float = 0.0,
        is_causal: bool | None = None,
        **told: Any,
    ) -> tuple[Any, None]:
        """out (B, N, H, D), and None for the probabilities."""
        if attention_mask is not None:
            raise ValueError(f"{name}: attention_mask: expected None")
        if dropout:
            raise ValueError(
                f"{name}: dropout of {dropout}; these kernels drop nothing (attention_dropout=0 in the config)"
            )
        if given := [what for what in _UNKNOWN if told.get(what) is not None]:
            raise ValueError(f"{name}: {', '.join(given)}: these kernels do without")
        wants = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
        kernel = causal if wants else full
        if kernel is None:
            raise ValueError(f"{name}: registered without {'causal' if wants else 'full'}=, which this layer needs")
        if wants and query.shape[2] != key.shape[2]:
            raise ValueError(
                f"{name}: {query.shape[2]} queries of {key.shape[2]} keys: it is for training; generate with another"
            )
        out = kernel(query, key, value, scale=scaling, **options_of(kernel, wants))
        out = out[0] if isinstance(out, tuple) else out
        return out.transpose(1, 2), None

    AttentionInterface.register(name, forward)
    AttentionMaskInterface.register(name, mask)


def options_of(kernel: Attention, causal: bool) -> dict[str, bool]:
    """What a function with the arguments of scaled_dot_product_attention has to be told besides."""
    try:
        known = inspect.signature(kernel).parameters
    except (TypeError, ValueError):  # a function in C, that of torch: its documented arguments
        return {"is_causal": causal, "enable_gqa": True}
    told = {"is_causal": causal, "enable_gqa": True}
    return {option: value for option, value in told.items() if option in known}
