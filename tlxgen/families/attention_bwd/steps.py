"""What the tasks of backward attention do, in order: their synchronisation, held against the source, and mathematics.

A product is waited for while others are under way, which `Products` counts here as it does for the template.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Protocol

from tlxgen.arch import DType
from tlxgen.families.attention.weights import Blocks
from tlxgen.plan import Order, Product, Step
from tlxgen.plan.products import Products
from tlxgen.plan.steps import steps

from .mx import FACTORS


class Facts(Protocol):
    """What the order of a consumer's steps depends on."""

    @property
    def row(self) -> str: ...
    @property
    def parts(self) -> int: ...
    @property
    def dq(self) -> bool: ...
    @property
    def dq_slots(self) -> int: ...
    @property
    def grads(self) -> int: ...
    @property
    def meet(self) -> str: ...
    @property
    def ahead(self) -> bool: ...
    @property
    def ordered(self) -> bool: ...
    @property
    def blocks(self) -> Blocks | None: ...
    @property
    def bias(self) -> DType | None: ...
    @property
    def dbias(self) -> str: ...
    @property
    def tight(self) -> bool: ...
    @property
    def uneven(self) -> bool: ...
    @property
    def slices(self) -> tuple[int, ...]: ...
    @property
    def slices_v(self) -> tuple[int, ...]: ...
    @property
    def dks(self) -> tuple[str, ...]: ...
    @property
    def dvs(self) -> tuple[str, ...]: ...
    @property
    def dqs(self) -> tuple[str, ...]: ...
    @property
    def dq_tiles(self) -> dict[str, int]: ...


def load(facts: Facts) -> tuple[Step, ...]:
    """K and V once, then Q and dO of each step; for a softmax with a number for each of their rows."""
    k, v, own_q, own_do = (
        tuple(f"load {name}" + "_tail" * (width < slices[0]) for width in slices)
        for name, slices in zip(("k", "v", "q", "do"), (facts.slices, facts.slices_v) * 2, strict=True)
    )
    once = ("expect k", *k, "expect v", *v)
    lse, delta = ("load lse", "load delta") if facts.row == "online_softmax" else ("", "")
    q: tuple[str, ...] = ("acquire q", "expect q", *own_q, lse)
    do = ("acquire do", "expect do", *own_do, delta)
    if facts.bias:
        q = (*q, "acquire bias", "expect bias", "load bias")
    last = q if facts.ahead and facts.blocks else ()  # without lists a step of the same loop
    return steps(*once, *q, *do, *last)


class RoundFacts(Protocol):
    """What the steps of the tasks on sm100 depend on."""

    @property
    def softmax(self) -> bool: ...
    @property
    def order(self) -> Order: ...
    @property
    def ds_in_tmem(self) -> bool: ...
    @property
    def dq_place(self) -> str: ...
    @property
    def pair(self) -> bool: ...
    @property
    def exchange(self) -> str: ...
    @property
    def dq_slots(self) -> int: ...
    @property
    def ordered(self) -> bool: ...
    @property
    def scaled(self) -> bool: ...
    @property
    def by_sequence(self) -> bool: ...


class Round:
    """Writes the steps of the tasks on Blackwell, those of the MMA in the order of products."""

    def __init__(self, facts: RoundFacts) -> None:
        self.facts = facts

    @property
    def ds_acquired(self) -> bool:
        """Whether dS has a barrier of its own by which its slot goes back."""
        return not self.facts.order.free_by("ds", "dp")

    @property
    def once(self) -> tuple[str, ...]:
        """Rings that are filled once."""
        return ("k", "v", "k_columns") if self.facts.by_sequence else ("k", "v")

    def load(self) -> tuple[Step, ...]:
        """K and V once, then Q, for a softmax the numbers of its rows, and dO of each step; of two CTAs each loads its
        rows of Q and dO, which are columns of S and dP, and its columns, which are those of dK and dV."""
        once = [step for ring in self.once for step in (f"expect {ring}", *self.loads(ring))]
        numbers = ("acquire numbers", "expect numbers", "load lse", "load delta") if self.facts.softmax else ()
        more = ("do_columns", "q_columns") if self.facts.by_sequence else ()
        q, *others = ((f"acquire {ring}", f"expect {ring}", *self.loads(ring)) for ring in ("q", "do", *more))
        return steps(*once, *q, *numbers, *(step for loads in others for step in loads))

    def loads(self, ring: str) -> tuple[str, ...]:
        """A tile, and its MX scales."""
        return (f"load {ring}", f"load {ring}_scale") if self.facts.scaled else (f"load {ring}",)

    def compute(self) -> tuple[Step, ...]:
        """From scores and their gradient to P and dS."""
        softmax = self.facts.softmax
        p = ": P^T = exp(K Q^T - LSE)" if softmax else ": P^T = f(K Q^T)"
        s_read, dp_read = ("release sf_s", "release sf_dp") if self.facts.scaled else ("", "")
        weights = ("wait numbers" if softmax else "", "wait s", s_read, p, "meet s_read", "publish p")
        in_tmem = ("meet dp_read", "publish ds_tmem") if self.facts.ds_in_tmem else ()
        ds = ": dS^T = P^T (V dO^T - delta)" if softmax else ": dS^T = f'(K Q^T) V dO^T"
        gradient = ("wait dp", dp_read, ds, *in_tmem)
        done = "release numbers" if softmax else ""
        acquire = "acquire ds" if self.ds_acquired else ""
        if self.facts.exchange == "copy":
            leave: tuple[str, ...] = ("fence", "expect ds", "send ds", "publish ds")
        elif self.facts.exchange:
            leave = ("expect ds", "send ds", "fence", "publish ds")
        else:
            leave = ("fence", "publish ds")
        return steps(*weights, *gradient, acquire, *leave, done)

    def relay(self) -> tuple[Step, ...]:
        """Tells the first of two CTAs that both halves of dS are there."""
        return steps("wait ds", "fence" if self.facts.exchange == "store" else "", "rendezvous ds")

    def mma(self) -> tuple[Step, ...]:
        """The products of a round: those of its own step, and those of the step before."""
        found = [f"wait {ring}" for ring in self.once]
        if self.facts.dq_place == "s":
            found.append("acquire dq")
        for product in self.facts.order.products:
            found.append("acquire sf_s" if self.room_before(product) else "")
            found += [f"{do} {ring}" for do, ring in self.before(product)]
            found += [f"copy {name}_scale" for name in self.factors(product)]
            found.append(f"multiply {product.into}")
            found += [f"{do} {ring}" for do, ring in self.done(product)]
            if self.p_after(product):
                found.append("wait p")
        return steps(*found, "publish sums")

    def multiplied(self, product: Product) -> tuple[str, ...]:
        """Whose MX scales a product reads from tensor memory."""
        return FACTORS[product.into] if self.facts.scaled else ()

    def factors(self, product: Product) -> tuple[str, ...]:
        """Whose MX scales are copied there before: those of P are stored."""
        return tuple(name for name in self.multiplied(product) if name != "p")

    def room_before(self, product: Product) -> bool:
        """Whether scales lie behind P from this product on: this step's scores must have been read."""
        return self.facts.scaled and product == self.facts.order.product("dq")

    def runs(self) -> Iterator[tuple[int, tuple[Product, ...], bool]]:
        """The products of a round in runs of one step, and whether room behind P is acquired before each."""
        for behind, products in self.facts.order.runs():
            at = next((i for i, product in enumerate(products) if self.room_before(product)), 0)
            if at:
                yield behind, products[:at], False
            yield behind, products[at:], bool(at)

    def p_after(self, product: Product) -> bool:
        """Whether P is waited for after a product: S has been read, beside which dQ, the next one, takes its place."""
        products = self.facts.order.products
        return self.facts.dq_place == "s" and products.index(product) + 1 == products.index(
            self.facts.order.product("dq")
        )

    def before(self, product: Product) -> Iterator[tuple[str, str]]:
        """What a product waits for: operands that none of its step has had before it, and where dQ lay, or will lie."""
        for ring in product.reads:
            readers = [p for p in self.facts.order.products if ring in p.reads]
            if ring in self.once or min(readers, key=self.facts.order.place) != product:
                continue
            if ring != "p" or self.facts.dq_place != "s":
                yield "rendezvous" if ring == "ds" and self.facts.pair else "wait", ring
        if product.into == {"dp": "dp", "none": "dq"}.get(self.facts.dq_place):
            yield "acquire", "dq"
        if product.into == "s" and self.facts.scaled:
            yield "acquire", "sf_dp"

    def done(self, product: Product) -> Iterator[tuple[str, str]]:
        """What a product publishes when it is done, but for dV and dK, which come last; and whose slots it releases."""
        if product.into not in ("dv", "dk"):
            yield "publish", product.into
        back = ("q", "do", "q_columns", "do_columns", *(("ds",) if self.ds_acquired else ()))
        yield from (("release", ring) for ring in self.facts.order.releases(product, back))

    def reduce(self) -> tuple[Step, ...]:
        """dQ of each step on its way out, then dV and dK."""
        free = f"store_wait {self.facts.dq_slots - 1}"
        dq_free = f"store_wait {2 * (self.facts.dq_slots - 1)}" if self.facts.pair else free
        turn, over = ("await adds", "signal adds") if self.facts.ordered else ("", "")
        dq = (turn, "wait dq", dq_free, "fence", "store dq", "release dq", over)
        return steps(*dq, "wait sums", *(free, "fence", "store dv"), *(free, "fence", "store dk"), "store_wait")


class Consumer:
    """Writes the steps of a consumer in the order of its source."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.flight = facts, Products()
        self.found: list[Step] = []

    def do(self, *texts: str) -> None:
        self.found += steps(*texts)

    def issue(self, name: str, slices: Sequence[int] = (1,)) -> None:
        """A product, of operands in so many buffers."""
        for _ in slices:
            self.flight.issue(name)
            self.do(f"multiply {name}")

    def issue_each(self, names: Sequence[str]) -> None:
        for name in names:
            self.issue(name)

    def wait_for(self, name: str) -> None:
        self.do(f"wgmma_wait {name} {self.flight.after(name)}")

    def steps(self) -> tuple[Step, ...]:
        self.do("wait k", "wait v")
        if self.facts.ahead:
            self.next_scores()
            self.wait_for("scores")
        else:
            self.next_scores()
        self.do("wait do")
        if not self.facts.tight:
            self.issue("dp", self.facts.slices_v)
        for part in range(self.facts.parts):
            self.gradients(part)
        if self.facts.meet == "named":
            self.meet_then_add()
        else:
            self.add_while_others_store()
        self.finish()
        return tuple(self.found)

    def next_scores(self) -> None:
        self.do("wait q")
        if self.facts.bias:
            self.do("wait bias", ": scores begin with it", "fence", "release bias")
        self.issue("scores", self.facts.slices)

    def gradients(self, part: int) -> None:
        last = part == self.facts.parts - 1
        if not last:
            self.issue("next_scores", self.facts.slices)
        if part or not self.facts.ahead:
            self.wait_for("next_scores" if part else "scores")
        softmax = self.facts.row == "online_softmax"
        self.do(": P^T = exp(K Q^T - LSE)" if softmax else ": P^T = f(K Q^T)")
        if self.facts.tight:
            self.issue("dp", self.facts.slices_v)
        self.wait_for("dp")
        self.do(": dS^T = P^T (V dO^T - delta)" if softmax else ": dS^T = f'(K Q^T) V dO^T")
        if self.facts.dbias == "added":
            self.do("store_wait", "fence", "store dbias")
        self.issue_each(self.facts.dvs)
        if not self.facts.dq:
            self.issue_each(self.facts.dks)
        if not last:
            self.issue("dp", self.facts.slices_v)

    def meet_then_add(self) -> None:
        self.do("fence", "meet ds_meeting")
        self.issue_dq()
        self.take_dv()
        self.issue_dk()
        self.wait_for("dq")
        self.room_for_dq()
        self.add_dq()
        self.take_dk()

    def add_while_others_store(self) -> None:
        facts = self.facts
        later = facts.dbias == "added"  # which has the buffer until then
        if facts.dq:
            if not later:
                self.room_for_dq()
            self.do("fence", "publish ds", "store dbias" if facts.dbias == "stored" else "")
            self.issue_dk()
        self.take_dv()
        if facts.ahead:
            self.next_scores()
            self.take_dk()
        if facts.dq:
            self.do("wait ds")
            self.issue_dq()
        if facts.ahead:
            self.wait_for("scores")
        else:
            self.take_dk()
        if facts.dq:
            self.wait_for(facts.dqs[0])
            if later:
                self.room_for_dq()
            self.add_dq()
        for name, tile in zip(facts.dqs[1:], [*facts.dq_tiles][1:], strict=not facts.uneven):
            self.issue(name)
            self.room_for_dq()
            self.wait_for(name)
            self.add_dq(tile)

    def issue_dq(self) -> None:
        self.issue(self.facts.dqs[0])
        self.do("await adds" if self.facts.ordered else "")

    def issue_dk(self) -> None:
        for _ in range(self.facts.parts):
            self.issue_each(self.facts.dks)

    def take_dv(self) -> None:
        for name in self.facts.dvs:
            self.wait_for(name)
        self.do("" if self.facts.dq else "fence", "release do")

    def take_dk(self) -> None:
        for name in self.facts.dks:
            self.wait_for(name)
        self.do("release q")

    def room_for_dq(self) -> None:
        self.do("signal adds" if self.facts.ordered else f"store_wait {self.facts.dq_slots - 1}")

    def add_dq(self, tile: str = "dq") -> None:
        self.do("fence", f"store {tile}")

    def finish(self) -> None:
        in_the_way = self.facts.dq and not self.facts.uneven
        self.do("signal adds" if self.facts.ordered else "store_wait" if in_the_way else "")
        gradients, slots = ["dv"] * len(self.facts.dvs) + ["dk"] * len(self.facts.dks), self.facts.grads
        if self.facts.uneven:
            gradients[1::2] = "dv_tail", "dk_tail"
        for i, name in enumerate(gradients):
            self.do(f"store_wait {slots - 1}" if i >= slots else "", "fence", f"store {name}")
        self.do("store_wait")


class ColumnsConsumer(Consumer):
    """The same where consumers share out columns: all read P and dS of all."""

    def steps(self) -> tuple[Step, ...]:
        self.do("wait k", "wait v")
        self.next_scores()
        if self.facts.ahead:
            self.wait_for("scores")
        self.do("wait do")
        self.issue("dp")
        if not self.facts.ahead:
            self.wait_for("scores")
        self.do(": P^T = exp(K Q^T - LSE)")
        self.wait_for("dp")
        self.do(": dS^T = P^T (V dO^T - delta)", "fence", "publish ds")
        self.add_up()
        self.finish()
        return tuple(self.found)

    def add_up(self) -> None:
        dks, dqs = self.facts.dks, self.facts.dqs
        if self.facts.ahead:
            self.next_scores()
        self.do("wait ds")
        for name in (*dqs[:1], "dv", *dks):
            self.issue(name)
        if self.facts.ahead:
            self.wait_for("scores")
        for name, after in itertools.pairwise(dqs):
            self.add_part(name)
            self.issue(after)
        self.wait_for("dv")
        self.do("" if self.facts.dq else "fence", "release do")
        for name in dks:
            self.wait_for(name)
        self.do("release q")
        if dqs:
            self.add_part(dqs[-1])

    def add_part(self, name: str) -> None:
        self.room_for_dq()
        self.wait_for(name)
        self.add_dq()

    def finish(self) -> None:
        self.do("store_wait" if self.facts.dq else "", "fence", "store dv")
        for i, _ in enumerate(self.facts.dks):
            slots = self.facts.grads
            self.do(f"store_wait {slots - 1}" if i >= slots - 1 else "", "fence", "store dk")
        self.do("store_wait")
