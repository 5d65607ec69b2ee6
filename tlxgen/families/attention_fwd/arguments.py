"""The arguments of forward attention: those of its kernel, and those of its host function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tlxgen.arch import DType, Sm100
from tlxgen.families.attention.weights import History, Weights
from tlxgen.plan import Host, HostArgument, KernelArgument, Launch, Parameter, Size
from tlxgen.plan.arguments import address, descriptor, scalar

from .facts import AttentionFacts

EXTENTS = ("batches", "heads", "kv_heads", "n_q", "n_k")
LOG2_E = "math.log2(math.e)"
KEYS_LAST = "; this kernel takes v with contiguous keys: v.mT.contiguous().mT has them"


def launch(facts: AttentionFacts, sizes: Mapping[str, Size], parameters: list[Parameter]) -> Launch:
    """The kernel as a launch on an aligned problem has it."""
    kept = tuple((p.name, p.value) for p in parameters if not p.baked)
    arguments = (*_descriptors(facts, sizes), *_addresses(facts), *_numbers(facts), *_sizes(facts))
    return Launch("kernel", arguments, kept, 4)


def _descriptors(facts: AttentionFacts, sizes: Mapping[str, Size]) -> Iterator[KernelArgument]:
    rows = {"q": facts.rows, "k": sizes["BLOCK_N"], "v": sizes["BLOCK_N"], "o": facts.rows}
    lead = (1, 1, 1) if facts.packed else (1, 1)
    for o in facts.operands:
        element = (facts.out if o.name == "o" else facts.dtype).signature
        if o.name == "v" and facts.keys_last:
            box = (*lead, o.columns, rows["v"])
            yield descriptor("v_desc", element, box, "v", view="t.transpose(2, 3)", remedy=KEYS_LAST)
            continue
        how, of = "describe_ragged" if facts.packed else "describe", "out" if o.name == "o" else o.name
        for columns, suffix in zip(dict.fromkeys(o.slices), ("", "_tail"), strict=False):
            box = (*lead, rows[o.name], columns)
            yield descriptor(f"{o.name}{suffix}_desc", element, box, of, describe=how)
    if facts.bias:
        box = (*lead, facts.rows, sizes["BLOCK_N"])
        yield descriptor("bias_desc", facts.bias.signature, box, "attn_mask", view="unrepeated(t)")
    for name in "qkv" if facts.scaled else "":
        # (B, H, rows / 128, columns / 128, 2, 256), in the 5 dimensions of TMA; of V.T.
        count = facts.rows if name == "q" else sizes["BLOCK_N"]
        box = (1, count // Sm100.mx_rows, facts.head_dim // Sm100.mx_k, 2, 256)
        box = (box[0], box[2], box[1], *box[3:]) if name == "v" else box
        yield descriptor(f"{name}_scale_desc", "u8", box, f"{name}_scale", view="t.flatten(0, 1)")


def _addresses(facts: AttentionFacts) -> Iterator[KernelArgument]:
    if facts.lse:
        yield address("lse_ptr", "fp32", "lse")
    if facts.drawn:
        yield address("counter_ptr", "i32", "words")
    if facts.sink:
        yield address("sink_ptr", "fp32", "sink")
    for name, _ in lists(facts):
        yield address(f"{name}_ptr", "i32", name)
    yield from addresses(facts)


def lists(facts: Weights) -> Iterator[tuple[str, str]]:
    """The lists of blocks, each with what it names: how many, and which."""
    if facts.blocks:
        for kind, which in (("", "in which the mask says which scores count"), ("full_", "in which all do")):
            if not kind or facts.blocks.full:
                yield f"{kind}kv_num_blocks", which
                yield f"{kind}kv_indices", ""


def addresses(facts: Weights) -> Iterator[KernelArgument]:
    """What a forward and its backward are told of sequences and of their rows."""
    if facts.lengths == "keys":
        yield address("key_lengths_ptr", "i32", "key_lengths")
    if facts.packed:
        yield from (address(f"cu_seqlens_{side}_ptr", "i32", f"cu_seqlens_{side}") for side in "qk")
    if facts.history.targets:
        yield address("num_targets_ptr", "i32", "num_targets")
    if facts.row_factors:
        yield address("factor_ptr", "fp32", facts.factor)


def _numbers(facts: AttentionFacts) -> Iterator[KernelArgument]:
    if facts.row == "activation":
        if facts.alpha:
            yield scalar("half_alpha", "alpha / 2", "fp32")
        if not facts.row_factors:
            yield scalar("factor", facts.factor, "fp32")
    else:
        yield from exponents(facts)
        if facts.bias:
            yield scalar("bias_unit", "1 / scale", "fp32")


def exponents(facts: Weights) -> Iterator[KernelArgument]:
    """What makes exponents of two of a softmax's scores."""
    if facts.softcap:
        yield scalar("cap", f"softcap * {LOG2_E}", "fp32")
        yield scalar("scale_log2", f"2 * scale / softcap * {LOG2_E}", "fp32")
    elif facts.modified and facts.modified.unit == "scale":
        yield scalar("scale", "scale", "fp32")
    else:
        yield scalar("scale_log2", f"scale * {LOG2_E}", "fp32")


def extents(facts: Weights) -> Iterator[KernelArgument]:
    """Those of a mask."""
    if facts.window:
        yield from (scalar("LEFT", "left"), scalar("RIGHT", "right"))
    if facts.history.context:
        yield scalar("CONTEXT", "contextual_seq_len")
    if facts.history.near:
        yield scalar("NEAR", "near")
    if facts.history.full:
        yield scalar("FULL", "full")


def _sizes(facts: AttentionFacts) -> Iterator[KernelArgument]:
    yield from extents(facts)
    if facts.bias:
        yield from (scalar(f"BIAS_{x}", f"differs(attn_mask, {i})", specialized=False) for i, x in enumerate("BH"))
    if facts.blocks:
        for i, x in enumerate("BH"):
            yield scalar(f"LISTS_{x}", f"lists_apart(kv_num_blocks)[{i}]", specialized=False)
        for kind in ("", "full_") if facts.blocks.full else ("",):
            yield scalar(f"{kind}columns".upper(), f"{kind}kv_indices.shape[3]", specialized=False)
    if facts.told:
        heads = {"HEADS": "batches * heads", "H": "heads", "H_PER_KV": "heads // kv_heads"}
    else:
        heads = {"B": "batches", "H": "heads", "H_KV": "kv_heads"}
    yield from (scalar(name, value, single=True) for name, value in heads.items())
    if not facts.drawn:
        yield scalar("N_Q", "n_q", divisible=True)
    if facts.lengths == "dense":
        yield scalar("N_K", "n_k", divisible=True)
    if facts.packed and (facts.lse or facts.drawn):
        yield scalar("T_Q", "q.shape[0]", divisible=True)
    together = "heads_together(n_k, heads, kv_heads)" if facts.many_heads else "heads // kv_heads"
    if facts.strided and not facts.window:
        together = "heads_in_turn(n_q, n_k, heads, kv_heads, block_m, programs)"
    yield scalar("GROUP_H", "together" if facts.evened else together, single=not facts.many_heads)
    if facts.told and facts.persistent:
        yield from (scalar("num_items", "items"), scalar("step", "programs"))


def host(facts: AttentionFacts) -> Host:
    """The host function's arguments. Of packed sequences `n_q` is the longest of Q, `n_k` the mean of K."""
    return Host(tuple(_host(facts)), EXTENTS)


def _host(facts: AttentionFacts) -> Iterator[HostArgument]:
    packed, d, dv = facts.packed, facts.head_dim, facts.head_dim_v
    shapes = {"q": ("Tq, H", "len(q), heads"), "k": ("Tk, Hkv", "len(k), kv_heads")}
    if not packed:
        shapes = {"q": ("B, H, Nq", "batches, heads, n_q"), "k": ("B, Hkv, Nk", "batches, kv_heads, n_k")}
    kind = facts.dtype.torch
    q, k = (f"({shapes[x][0]}, {d})" for x in "qk")
    ends = ", sequences end to end" if packed else ""
    rows = " Rows are contiguous, all other strides multiples of 16 bytes."
    meaning = f"{q} {kind}{ends}; Hkv divides H.{rows}"
    yield _tensor("q", meaning, f"({shapes['q'][1]}, {d})", facts.dtype)
    yield _tensor("k", f"{k} {kind}, likewise.", f"({shapes['k'][1]}, {d})", facts.dtype)
    meaning = f"({shapes['k'][0]}, {dv}) {kind}, "
    meaning += "with contiguous keys, other strides multiples of 16 bytes." if facts.keys_last else "likewise."
    meaning += f"\nProbabilities, times {2**facts.lift}, are rounded to {kind}." if facts.lift else ""
    yield _tensor("v", meaning, f"({shapes['k'][1]}, {dv})", facts.dtype)
    yield from _scales(facts) if facts.scaled else ()
    yield from bias(facts)
    yield from _blocks(facts)
    if packed:
        yield from lengths("q")
    yield from weighing(facts)
    yield from mask(facts)
    yield from row(facts, facts.head_dim)
    shape = f"({shapes['q'][1]}, {dv})"
    meaning = f"({shapes['q'][0]}, {dv}) {facts.out.torch}; allocated when absent."
    yield HostArgument("out", meaning, "Tensor", "None", True, shape, (facts.out.torch,), result=True)
    if facts.lse:
        meaning = "the log of the sum of exp(score) of each query"
        meaning += ", the sink's among them" if facts.sink else "; a query that sees no key has -inf, and 0 in out"
        lead = ("H, Tq", "heads, len(q)") if packed else ("B, H, Nq", "batches, heads, n_q")
        meaning = f"({lead[0]}) float32: {meaning}; allocated when absent."
        fp32 = ("float32",)
        yield HostArgument("lse", meaning, "Tensor", "None", True, f"({lead[1]})", fp32, "contiguous", result=True)


def bias(facts: Weights) -> Iterator[HostArgument]:
    if facts.bias:
        meaning = (
            f"(B or 1, H or 1, Nq, Nk) {facts.bias.torch}, added to scaled scores; of which -inf hides.\nRows are "
        )
        meaning += "contiguous, all other strides multiples of 16 bytes; batch entries and heads may be expanded."
        shape = 'shared(attn_mask, "attn_mask", batches, heads, n_q, n_k)'
        yield HostArgument("attn_mask", meaning, shape=shape, dtypes=(facts.bias.torch,))


def _blocks(facts: Weights) -> Iterator[HostArgument]:
    """Those of a BlockMask, by its names. What lies behind the counted indices of a row is not read."""
    for name, which in lists(facts):
        counts = f"{name.removesuffix('indices')}num_blocks" if not which else name
        if which:
            assert facts.blocks
            rows = f"triton.cdiv(n_q, {facts.blocks.m})"
            first = f'shared({name}, "{name}", batches, heads, {rows})'
            shape = first if name == "kv_num_blocks" else "kv_num_blocks.shape"
            meaning = f"(B or 1, H or 1, Nq / {facts.blocks.m}) int32, how many blocks of {facts.blocks.m} queries by "
            meaning += f"{facts.blocks.n} keys a row of blocks has {which}."
        else:
            shape, meaning = f"(*{counts}.shape, *{name}.shape[-1:])", "(.., columns) int32: which, by their keys."
        yield HostArgument(name, meaning, shape=shape, dtypes=("int32",), wants="contiguous")


def weighing(facts: Weights) -> Iterator[HostArgument]:
    """What lengths, sink and cap ask for."""
    if facts.lengths == "keys":
        meaning = "(B,) int32 on the device, how many keys of each batch entry are there, 0 to Nk."
        meaning += "\nWhat lies past them must be finite: it is read, and multiplied by 0."
        yield _vector("key_lengths", meaning, "batches", "int32")
    if facts.sink:
        meaning = "(H,) float32, a logit for each head that takes part in the softmax and has no value."
        yield _vector("sink", meaning, "heads", "float32")
    if facts.softcap:
        meaning = "positive; scaled scores x become softcap * tanh(x / softcap)."
        yield HostArgument("softcap", meaning, schema="float", keyword=True)


def mask(facts: Weights) -> Iterator[HostArgument]:
    """What a mask asks for."""
    if facts.window:
        meaning = "how many keys a query sees to the left and to the right of its own; None for all."
        yield HostArgument(
            *("window", meaning, "SymInt[]", "(None, None)", True),
            encoded="[-1 if extent is None else extent - (extent < 0) for extent in window]",
            decoded="tuple(None if extent == -1 else extent for extent in window)",
        )
    yield from _history(facts.history)


def _scales(facts: AttentionFacts) -> Iterator[HostArgument]:
    """Scales as mx_quantize makes them, along the head dimension of q and k and along the keys of v."""
    d, dv = (x // Sm100.mx_k for x in (facts.head_dim, facts.head_dim_v))
    q, k, v = f"triton.cdiv(n_q, 128), {d}", f"triton.cdiv(n_k, 128), {d}", f"{dv}, triton.cdiv(n_k, 128)"
    blocks = {"q": ("batches, heads", q), "k": ("batches, kv_heads", k), "v": ("batches, kv_heads", v)}
    said = {
        "q": f"(B, H, Nq / 128, {d}, 2, 256) float8_e8m0fnu or uint8: a scale for 32 elements along the head\n"
        "dimension, in blocks of 512 bytes for 128 rows and 4 scales, as mx_quantize makes them; what fills up a\n"
        "block is not NaN.",
        "k": f"(B, Hkv, Nk / 128, {d}, 2, 256), likewise.",
        "v": f"(B, Hkv, {dv}, Nk / 128, 2, 256), of v.mT: a scale for 32 keys.",
    }
    for name, (lead, rest) in blocks.items():
        shape, types = f"({lead}, {rest}, 2, 256)", ("float8_e8m0fnu", "uint8")
        yield HostArgument(f"{name}_scale", said[name], shape=shape, dtypes=types, wants="contiguous")


def _history(history: History) -> Iterator[HostArgument]:
    if history.targets:
        yield _vector(
            "num_targets", "(B,) int32, how many keys of each sequence, its last, are targets.", "batches", "int32"
        )
    for has, name, meaning in (
        (history.context, "contextual_seq_len", "how many keys of each sequence, its first, are contextual."),
        (history.near, "max_attn_len", "from how many places away a query sees keys; 0: from all."),
        (history.full, "min_full_attn_seq_len", "so many of the last queries before the targets, and these, see all."),
    ):
        if has:
            yield HostArgument(name, meaning, schema="SymInt", keyword=True)


def row(facts: Weights, head_dim: int) -> Iterator[HostArgument]:
    """What the weights of a row ask for."""
    if facts.row == "online_softmax":
        yield HostArgument("scale", f"positive; 1 / sqrt({head_dim}) when absent.", "float?", "None", True)
    if facts.alpha:
        yield HostArgument("alpha", "what scores are multiplied by before the activation.", "float", keyword=True)
    if facts.row_factors:
        yield _vector(facts.factor, "(Tq,) float32, what each row of out is multiplied by.", "len(q)", "float32")
    elif facts.factor:
        yield HostArgument(facts.factor, "what out is multiplied by.", "float", keyword=True)


def lengths(longest: str) -> Iterator[HostArgument]:
    """Where packed sequences lie, and the length of the longest of these sides."""
    meaning = "(B + 1,) int32 on the device, where each sequence begins and the last one ends; of k likewise."
    for name, text in (("cu_seqlens_q", meaning), ("cu_seqlens_k", "")):
        yield HostArgument(name, text, shape="(batches + 1,)", dtypes=("int32",), wants="contiguous")
    for side in longest:
        meaning = f"the length of the longest sequence of {side}, or more."
        yield HostArgument(f"max_seqlen_{side}", meaning, schema="SymInt")


def _tensor(name: str, meaning: str, shape: str, dtype: DType) -> HostArgument:
    return HostArgument(name, meaning, shape=shape, dtypes=(dtype.torch,))


def _vector(name: str, meaning: str, extent: str, dtype: str) -> HostArgument:
    return HostArgument(name, meaning, keyword=True, shape=f"({extent},)", dtypes=(dtype,), wants="contiguous")
