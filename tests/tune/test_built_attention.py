"""What `build` makes of a tuned attention spec: a package that chooses by shape, as GEMM's does."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.build import build  # noqa: E402
from tlxgen.families import kernels_of  # noqa: E402
from tlxgen.families.gemm.model import Gpu  # noqa: E402
from tlxgen.loading import load_file  # noqa: E402
from tlxgen.sim import DEVICE, Session, verify  # noqa: E402

SPEC = """\
kernel: attention_fwd
name: attend
arch: sm90
problem: {head_dim: 64}
mask: {kind: causal}
variants:
  axes: {schedule.kind: [persistent, grid], tile.n: [64, 128]}
tuned: tuned/h200/attend.yaml
"""
TABLE = """\
kernel: attend
device: H200
sms: 132
classes:
- class: [1, 2, 2, 50, 64]
  winner: {values: {schedule.kind: grid, tile.n: 64}}
- class: [1, 2, 1, 200, 200]
  winner: {values: {schedule.kind: persistent, tile.n: 128}}
- class: [2, 2, 2, 70, 300]
  winner: {values: {schedule.kind: persistent, tile.n: 64}}
"""
GPU = Gpu("H200", 132)
WON = {
    (1, 2, 2, 50, 64): ("grid", 64),
    (1, 2, 1, 200, 200): ("persistent", 128),
    (2, 2, 2, 70, 300): ("persistent", 64),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with its modules, of which each test loads a copy, as it changes what it has loaded."""
    root = tmp_path_factory.mktemp("built")
    for name, text in (("specs/attend.yaml", SPEC), ("tuned/h200/attend.yaml", TABLE)):
        path = root / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    build(root / "specs" / "attend.yaml")
    return root


@pytest.fixture
def package(built: Path, tmp_path: Path) -> ModuleType:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    return load_file(tmp_path / "generated" / "attend" / "_attend.py")


def modules(package: ModuleType) -> list[ModuleType]:
    return [import_module(f".{name}", package.__package__) for name in package.MODULES]


def tensors(shape: tuple[int, ...]) -> list[Any]:
    b, h, kv, n, m = shape
    return [torch.randn(*s, device=DEVICE).to(torch.bfloat16) for s in ((b, h, n, 64), (b, kv, m, 64), (b, kv, m, 64))]


def exact(tensors: list[Any]) -> Any:
    q, k, v = (t.as_subclass(torch.Tensor).double() for t in tensors)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def test_every_tuned_shape_gets_its_winner(package: ModuleType) -> None:
    for shape, (kind, columns) in WON.items():
        module, config = package.pick(shape, GPU)
        assert module.__name__.endswith(f"attend_{kind}")
        assert config.kwargs["BLOCK_N"] == columns
        assert config is module.CONFIGS[module.TUNED[shape]] is module.pick_config(*shape, GPU)
    assert len(package.TUNED) == len(WON)


@pytest.mark.parametrize(
    ("shape", "gpu"), [((2, 16, 16, 4000, 4000), GPU), ((1, 2, 2, 49, 64), GPU), ((1, 2, 2, 50, 64), Gpu("H100", 132))]
)
def test_other_shapes_and_other_devices_get_the_least_estimate(
    package: ModuleType, shape: tuple[int, ...], gpu: Gpu
) -> None:
    clocks = [(m.clocks(c, *shape, 132), m, c) for m in modules(package) for c in m.CONFIGS]
    module, config = package.pick(shape, gpu)
    assert (module.clocks(config, *shape, 132), module, config) in clocks
    assert module.clocks(config, *shape, 132) == min(c for c, _, _ in clocks)


def test_the_package_attends(package: ModuleType) -> None:
    """In the simulator, as it stands: each shape by the module that won it."""
    launched: list[str] = []
    package.gpu_of = lambda index: GPU
    for module in modules(package):
        prepare = module.prepare

        def noting(*arguments: Any, module: Any = module, prepare: Any = prepare) -> Any:
            launched.append(module.__name__.rpartition("_")[2])
            return prepare(*arguments)

        module.prepare = noting

    def program(session: Session) -> None:
        torch.manual_seed(session.seed)
        for shape in WON:
            given = tensors(shape)
            out, lse = package.attend(*given)
            assert torch.allclose(out.as_subclass(torch.Tensor).double(), exact(given), rtol=2e-2, atol=2e-2)
            assert lse.shape == out.shape[:3]

    report = verify(program, (("random", 0),))
    assert (report.seen, report.runs) == ([], 1)
    assert launched == [kind for kind, _ in WON.values()]


def test_the_package_goes_together_with_a_backward(package: ModuleType, tmp_path: Path) -> None:
    """It says of itself what its modules do, so that `attention` takes it as a forward, and refuses another's mask."""
    for module in modules(package):
        assert package.attend.operator.about == module.attend.operator.about != {}
    text = "kernel: attention_bwd\nname: backward_{0}\narch: sm90\nproblem: {{head_dim: 64}}\nmask: {{kind: {0}}}\n"
    for mask in ("causal", "none"):
        path = tmp_path / "specs" / f"backward_{mask}.yaml"
        path.write_text(text.format(mask))
        backward = load_file(build(path).folder / f"{kernels_of(path).structures[0].name}.py")
        if mask == "causal":
            assert_it_has_gradients(backward.attention(package.attend))
        else:
            with pytest.raises(ValueError, match="mask"):
                backward.attention(package.attend)


def assert_it_has_gradients(attention: Any) -> None:
    """What autograd calls, as it calls it: autograd itself takes the simulator's tensors for such of the CPU."""
    operator = attention.operator

    def program(session: Session) -> None:
        torch.manual_seed(session.seed)
        given = tensors((1, 2, 1, 70, 80))
        out, lse = operator.run(*given, None)
        dout = torch.randn(*out.shape, device=DEVICE).to(torch.bfloat16)
        made = operator.backward("run", (True, True, True, False), *given, None, out, lse, dout, None)
        plain = [t.as_subclass(torch.Tensor).double().requires_grad_() for t in given]
        expected = torch.autograd.grad(exact(plain), plain, dout.as_subclass(torch.Tensor).double())
        for ours, right in zip(made, expected, strict=False):  # none of scale
            assert torch.allclose(ours.as_subclass(torch.Tensor).double(), right, rtol=5e-2, atol=5e-2)

    report = verify(program, (("random", 0),))
    assert (report.seen, report.runs) == ([], 1)


def test_the_package_refuses_what_no_module_can_take(package: ModuleType) -> None:
    with pytest.raises(ValueError, match="expected a CUDA device"):
        package.attend(*[torch.zeros(1, 2, 8, 64) for _ in range(3)])
