"""What the tasks of forward attention do, in order: synchronisation, held against the source, and the rest in words."""

from __future__ import annotations

from tlxgen.plan import Step
from tlxgen.plan.steps import steps

from .facts import AttentionFacts


def _next(facts: AttentionFacts) -> tuple[Step, ...]:
    return steps("next" if facts.clc else "")


def _hear(facts: AttentionFacts) -> tuple[Step, ...]:
    """The number of the next item, where the producer draws it."""
    return steps("wait item", "release item") if facts.drawn else ()


def load(facts: AttentionFacts) -> tuple[Step, ...]:
    """The producer: Q of an item, then K and V, K a tile ahead where its product runs under the softmax."""
    q = steps("acquire q" if facts.stays else "", "expect q", *_loads(facts, "q"))
    k, v = (steps(f"acquire {ring}", f"expect {ring}", *_loads(facts, name)) for name, ring in _rings(facts).items())
    bias = steps("acquire bias", "expect bias", "load bias") if facts.bias else ()
    tiles = (*k, *bias, *k, *v, *bias, *v) if facts.k_ahead else (*k, *bias, *v)
    tell = steps("acquire item", "publish item") if facts.drawn else ()
    drawn = (*steps("ask"), *tell, *steps("reset")) if facts.drawn else ()
    return (*tell, *q, *tiles, *drawn, *_next(facts))


def _loads(facts: AttentionFacts, name: str) -> tuple[str, ...]:
    return (*_by_slices(facts, "load", name), f"load {name}_scale" if facts.scaled else "")


def _by_slices(facts: AttentionFacts, kind: str, name: str) -> tuple[str, ...]:
    """Loads or stores of all columns of an operand."""
    tail = len(set(facts.operand(name).slices)) > 1
    return f"{kind} {name}", f"{kind} {name}_tail" if tail else ""


def _rings(facts: AttentionFacts) -> dict[str, str]:
    return {name: facts.operand(name).ring for name in "kv"}


def consumer(facts: AttentionFacts, turns: str, *, aliased: bool) -> tuple[Step, ...]:
    """A consumer on Hopper. `turns`: their kind; `aliased`: O leaves through Q's buffer."""
    first = steps("hand mma_turn") if turns == "named" else ()  # the last replica's, so that the first begins
    take, hand = ("take mma_turn", "hand mma_turn") if turns != "none" else ("", "")
    k, v = _rings(facts).values()
    goes_back = facts.stays and not aliased
    release = steps("release q") if goes_back else ()
    read = (*steps(": keep Q in registers"), *steps("fence" if facts.stays else ""), *release) if facts.keep_q else ()
    bias = steps("wait bias", ": scores begin with it", "fence", "release bias") if facts.bias else ()
    scores, taken = (*steps(f"wait {k}"), *bias, *steps(take, "multiply scores")), f"release {k}"
    sums, last_sum = facts.sums, len(facts.sums) - 1
    product = steps(f"wait {v}", *(f"multiply {acc}" for acc in sums))
    added = steps(*(f"wgmma_wait {acc} {last_sum - i}" for i, acc in enumerate(sums)), f"release {v}")
    softmax = steps(": mask, softmax")
    alone = (*scores, *steps(hand, "wgmma_wait scores", taken), *softmax)
    if facts.overlap:
        waited = steps(hand, f"wgmma_wait scores {len(sums)}", taken)
        both = (*scores, *product, *waited, *softmax, *added, *steps(": rescale"))
        loop, last = (*alone, *both), (*product, *added)
    else:
        loop, last = (*alone, *steps(": rescale"), *product, *added), ()
    after = () if facts.keep_q else release
    free, store = "store_wait" if facts.stays and not aliased else "", ("fence", *_by_slices(facts, "store", "o"))
    again = ("store_wait", *store) if facts.in_parts else ()
    leave = steps(free, *store, *again, ": store LSE" if facts.lse else "")
    back = steps("store_wait", "release q" if facts.stays else "") if aliased else ()
    left = () if aliased else steps("store_wait")
    hear = _hear(facts)
    return (*first, *hear, *steps("wait q"), *read, *loop, *after, *last, *leave, *back, *hear, *left)


def softmax(facts: AttentionFacts) -> tuple[Step, ...]:
    """A task on Blackwell that makes weights of scores."""
    if not facts.rescaled:
        return (*steps("wait s", ": mask, activation", "publish p") * 2, *_next(facts))
    lse = steps(": store LSE") if facts.lse and not facts.lse_apart else ()
    free = "release sf_qk" if facts.scaled else ""
    tile, last = steps("wait s", free, ": mask, maximum"), steps("publish factor")
    return (*tile, *steps("publish p"), *tile, *last, *steps("publish p"), *last, *lse, *_next(facts))


def tcgen05(facts: AttentionFacts, *, aliased: bool) -> tuple[Step, ...]:
    """The warp that issues the products on Blackwell."""
    back = steps("release q") if facts.stays and not aliased else ()
    tile = _interleaved(facts, back) if facts.overlap else _one_after_the_other(facts, back)
    return (*tile, *_next(facts))


def _products(facts: AttentionFacts) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Scores of a group, and its probabilities by V, slice by slice."""
    k, v = (f"copy {ring}_scale" if facts.scaled else "" for ring in _rings(facts).values())
    scales = steps("acquire sf_qk", "copy q_scale", k) if facts.scaled else ()
    return (*scales, *steps("multiply s", "publish s")), (
        *steps("acquire acc" if facts.rescaled else ""),
        *steps("wait p", v, "multiply acc") * facts.slices,
    )


def _whole_item(facts: AttentionFacts) -> tuple[Step, ...]:
    """O, where nobody rescales it from one product to the next."""
    return steps("" if facts.rescaled or not facts.stays else "acquire acc")


def _interleaved(facts: AttentionFacts, back: tuple[Step, ...]) -> tuple[Step, ...]:
    """Those of two groups: one's under the other's softmax."""
    k, v = _rings(facts).values()
    scores, product = _products(facts)
    wait_k, wait_v, k_read, v_read = (steps(f"{do} {ring}") for do in ("wait", "release") for ring in (k, v))
    wait_q, publish = steps("wait q"), steps("publish acc")
    first = (*wait_k, *wait_q, *scores, *wait_q, *scores, *k_read, *wait_v, *_whole_item(facts), *product)
    loop = (*wait_k, *scores, *product, *v_read, *scores, *k_read, *wait_v, *product)
    return (*first, *loop, *back, *publish, *product, *v_read, *publish)


def _one_after_the_other(facts: AttentionFacts, back: tuple[Step, ...]) -> tuple[Step, ...]:
    k, v = _rings(facts).values()
    scores, product = _products(facts)
    groups = facts.replicas
    multiply = (*steps(f"wait {k}"), *scores * groups, *steps(f"release {k}"))
    add = (*steps(f"wait {v}"), *product * groups, *steps(f"release {v}"))
    return (*steps("wait q"), *_whole_item(facts), *multiply, *add, *back, *steps("publish acc"))


def correction(facts: AttentionFacts, *, aliased: bool) -> tuple[Step, ...]:
    """Rescales O on Blackwell, and at last divides it by the sum."""
    rescale = ": rescale O where a maximum has risen a lot" if facts.lazy else ": rescale O"
    each = ("wait factor", rescale, "release acc") if facts.rescaled else ()
    one = facts.stays and not aliased and not facts.store_task
    free = "acquire o" if facts.store_task else f"store_wait {facts.replicas - 1}" if one else ""
    leave = steps("fence", "publish o" if facts.store_task else "store o")
    back = steps("store_wait", "release q" if facts.stays else "") if aliased else ()
    last = steps("store_wait") if not facts.store_task and not aliased else ()
    return (
        *steps("ask" if facts.clc else "", *each),
        *steps(
            "wait factor" if facts.rescaled else "",
            ": store LSE" if facts.lse_apart else "",
            "wait acc",
            free,
            ": normalise",
            "release acc" if facts.stays else "",
        ),
        *(*leave, *back, *_next(facts), *last),
    )


def store(facts: AttentionFacts) -> tuple[Step, ...]:
    return (*steps("wait o", "store o", "store_wait", "release o"), *_next(facts))
