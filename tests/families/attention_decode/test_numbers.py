"""Few queries against long keys in the simulator: lengths, pages, masks, splits, and what the host function refuses."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen import families  # noqa: E402
from tlxgen.families.attention_decode import benchmark, problem  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

ROOT = Path(__file__).parents[3]
NAME = "hopper_attention_decode"
DEVICE = torch.device("cuda", 0)
STRUCTURES = {s.name: s for s in families.kernels_of(ROOT / f"specs/{NAME}.yaml").structures}


def loaded(kind: str) -> tuple[Any, Any]:
    """The module of a structure, of one consumer where it says nothing, and its spec."""
    name = f"{NAME}_{kind}" if "replicate" in kind else f"{NAME}_{kind}_replicate1"
    return load_module(ROOT / "generated" / NAME / f"{name}.py"), STRUCTURES[name].variants[0].spec


def right(spec: Any, tensors: dict[str, Any], results: dict[str, Any]) -> None:
    """Raises AssertionError for results that are not the reference's; infinities must be the same."""
    for name, (wanted, norm) in problem.reference(spec, tensors).items():
        found = results[name].double()
        finite = wanted.isfinite()
        assert torch.equal(found[~finite].cpu(), wanted[~finite].cpu()), name
        error = float((found - wanted)[finite].norm()) if finite.any() else 0.0
        assert error <= problem.tolerance(spec, name) * norm, (name, error, norm)


def made(kind: str, shape: tuple[int, ...], lengths: list[int] | None = None, **options: Any) -> dict[str, Any]:
    """Results of a call on fresh inputs, with these lengths, which are held against the reference."""
    module, spec = loaded(kind)
    with Session("random", 1).active():
        tensors = problem.inputs(spec, shape, DEVICE) | options
        if lengths is not None:
            tensors["seqlens_k"] = torch.tensor(lengths, dtype=torch.int32, device=DEVICE)
        results, strays = problem.launch(module, spec, shape, tensors, None)
        right(spec, tensors, results)
    assert strays == 0
    return results


@pytest.mark.parametrize("kind", [name.removeprefix(f"{NAME}_") for name in STRUCTURES])
@pytest.mark.parametrize("shape", [(6, 4, 2, 3, 200), (1, 8, 1, 16, 700), (2, 3, 1, 1, 1100), (2, 2, 2, 7, 3)])
def test_every_structure_is_right_for_every_length(kind: str, shape: tuple[int, ...]) -> None:
    made(kind, shape)


@pytest.mark.parametrize("kind", ["lengths", "paged"])
def test_sequences_without_keys_are_zeros(kind: str) -> None:
    results = made(kind, (3, 2, 1, 2, 900), [0, 0, 0])
    assert not results["out"].any() and (results["lse"] == float("-inf")).all()


def test_queries_before_the_first_key_are_zeros() -> None:
    """Of five queries and three keys the first two see none, bottom-right; without a mask all see all."""
    results = made("lengths", (1, 2, 1, 5, 600), [3])
    assert not results["out"][:, :, :2].any() and results["out"][:, :, 2:].any(-1).all()
    assert made("lengths_no_causal", (1, 2, 1, 5, 600), [3])["lse"].isfinite().all()


def test_a_scale_is_taken() -> None:
    made("lengths", (2, 2, 1, 2, 130), scale=0.3)


@pytest.mark.parametrize("page", [16, 32, 64, 256])
def test_pages_of_every_size_are_gathered_in_order(page: int) -> None:
    module, spec = loaded("paged")
    with Session("random", 2).active():
        q = torch.randn(2, 4, 2, 128, device=DEVICE).to(torch.bfloat16)
        k, v = (torch.randn(40, page, 2, 128, device=DEVICE).to(torch.bfloat16) for _ in range(2))
        table = torch.randperm(40, device=DEVICE)[:20].view(2, 10).to(torch.int32)
        lengths = torch.tensor([10 * page, 3 * page + 5], dtype=torch.int32, device=DEVICE)
        tensors = {"q": q, "k": k, "v": v, "block_table": table, "seqlens_k": lengths}
        out, lse = getattr(module, NAME)(**tensors)
        right(spec, tensors, {"out": out, "lse": lse})


@pytest.mark.parametrize("kind", ["lengths", "lengths_head_dim64_replicate2_keys"])
def test_bits_are_the_same_whatever_the_order(kind: str) -> None:
    module, spec = loaded(kind)
    found = []
    for schedule, seed in (("random", 0), ("random", 1), ("starved", 0), ("eager", 0)):
        with Session(schedule, seed).active():
            if not found:
                tensors = problem.inputs(spec, (2, 4, 1, 2, 900), DEVICE)
            found.append(module.__dict__[NAME](**tensors))
    assert all(torch.equal(x, y) for one in found[1:] for x, y in zip(one, found[0], strict=True))


def test_two_consumers_are_for_more_than_64_rows() -> None:
    """One would read all keys twice. For up to 64 rows one is taken, since two consumers are slower at a tile."""
    package = load_module(ROOT / "generated" / NAME / f"_{NAME}.py")
    one, two = (loaded(f"lengths_replicate{n}")[0] for n in (1, 2))
    for shape in ((1, 32, 4, 16, 131072), (2, 64, 8, 16, 32768)):
        assert 1.6 <= one.clocks(one.CONFIGS[0], *shape, 132) / two.clocks(two.CONFIGS[0], *shape, 132) <= 2.1
    for shape in ((16, 32, 4, 1, 32768), (4, 64, 8, 8, 65536)):
        assert 0.9 <= one.clocks(one.CONFIGS[0], *shape, 132) / two.clocks(two.CONFIGS[0], *shape, 132) <= 0.95
    few = (1, 8, 1, 9, 65536)  # 72 rows: the start of CTAs weighs in
    assert 1.5 <= one.clocks(one.CONFIGS[0], *few, 132) / two.clocks(two.CONFIGS[0], *few, 132) <= 1.6
    assert tuple(f"{NAME}_lengths_replicate{n}" for n in (1, 2)) == package.MODULES


def test_two_consumers_take_tiles_in_turns_where_one_is_slower_than_memory() -> None:
    """With D 64; not where parts need not be combined, and not for more than 64 rows."""
    package = load_module(ROOT / "generated" / NAME / f"_{NAME}_head_dim64.py")
    shapes = ((16, 32, 4, 1, 32768), (8, 64, 8, 1, 16384), (132, 8, 1, 1, 1024), (1, 32, 4, 16, 131072))
    picked = [package.pick(shape, SimpleNamespace(sms=132))[0].__name__ for shape in shapes]
    assert [name.partition("_replicate")[2] for name in picked] == ["2_keys", "2_keys", "1", "2"]


def test_the_host_splits_keys_so_that_the_sms_are_busy_and_no_more() -> None:
    module, _ = loaded("lengths")
    config = module.CONFIGS[0]
    for shape in ((1, 8, 1, 1, 131072), (4, 64, 8, 1, 32768), (16, 64, 8, 1, 8192)):
        splits, items = module.splits_of(config, *shape, 132), shape[0] * shape[2]
        rounds = -(-items * splits // 132)
        assert 0.85 <= items * splits / (132 * rounds) <= 1
    assert module.splits_of(config, 1, 8, 1, 1, 64, 132) == 1
    assert module.splits_of(config, 132, 8, 1, 1, 8192, 132) == 1


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"q": (2, 3, 1, 128)}, ValueError, "3 heads of q, 2 of k and v"),
        ({"q": (2, 4, 128)}, ValueError, r"expected \(B, H, Nq, D\)"),
        ({"v": (8, 32, 2, 128)}, ValueError, "v: shape"),
        (
            {"k": (8, 48, 2, 128), "v": (8, 48, 2, 128)},
            ValueError,
            "k: pages of 48 keys, expected 16, 32, 64, 128 or 256",
        ),
        ({"block_table": (3, 4)}, ValueError, r"block_table: shape \(3, 4\)"),
        ({"seqlens_k": (3,)}, ValueError, r"seqlens_k: shape \(3,\), expected \(2,\)"),
        ({"scale": -1.0}, ValueError, "scale"),
    ],
)
def test_an_argument_that_the_kernel_cannot_take_is_named(
    change: dict[str, Any], error: type[Exception], words: str
) -> None:
    module, _ = loaded("paged")
    shapes = {"q": (2, 4, 1, 128), "k": (8, 64, 2, 128), "v": (8, 64, 2, 128), "block_table": (2, 4), "seqlens_k": (2,)}
    with Session("eager", 0).active():
        given: dict[str, Any] = {}
        for name, value in (shapes | change).items():
            kind = torch.bfloat16 if name in "qkv" else torch.int32
            given[name] = torch.ones(value, dtype=kind, device=DEVICE) if isinstance(value, tuple) else value
        with pytest.raises(error, match=words):
            getattr(module, NAME)(**given)


@pytest.mark.parametrize("kind", ["dense", "paged"])
def test_what_is_timed_gives_right_numbers(kind: str) -> None:
    module, spec = loaded(kind)
    with Session("random", 0).active():
        tensors = problem.inputs(spec, (2, 4, 2, 2, 300), DEVICE)
        out, lse = benchmark.call(module, spec, (2, 4, 2, 2, 300), tensors)()
        right(spec, tensors, {"out": out, "lse": lse})
    cpu = problem.inputs(spec, (1, 4, 2, 2, 300), torch.device("cpu"))
    (found,) = benchmark.baselines(spec)["torch"](cpu)()
    wanted, norm = problem.reference(spec, cpu)["out"]
    assert float((found.double() - wanted).norm()) <= 1e-2 * norm
