"""The family of examples/first_family: installed beside tlxgen it builds, verifies and compiles, and it stays small.

docs/first-family.md shows its files and what tlxgen prints of them.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.render import test_protocol
from tlxgen import families
from tlxgen.errors import SpecErrors
from tlxgen.render import steps
from tlxgen.spec import load

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "first_family"
PAGE = (ROOT / "docs" / "first-family.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BUILD, VERIFY = "tlxgen build specs/scale_add.yaml", "tlxgen verify specs/scale_add.yaml"
LINES = 150  # that are not blank: Python, template and spec


def files() -> list[Path]:
    """All of the plug-in but the file that makes it installable."""
    return sorted(p for p in EXAMPLE.rglob("*") if p.suffix in (".py", ".j2", ".yaml"))


def site_in(folder: Path) -> Path:
    """A folder with the package and what an installation says of its entry points."""
    declared = re.search(r'^\[project\.entry-points\."(.*)"\]\n(\w+) = "(.*)"$', pyproject(), re.MULTILINE)
    assert declared
    info = folder / "site" / "scale_add-0.1.0.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: scale-add\nVersion: 0.1.0\n")
    info.joinpath("entry_points.txt").write_text(f"[{declared[1]}]\n{declared[2]} = {declared[3]}\n")
    shutil.copytree(EXAMPLE / "scale_add", info.parent / "scale_add")
    return info.parent


def spec_in(folder: Path) -> Path:
    path = folder / "specs" / "scale_add.yaml"
    path.parent.mkdir()
    shutil.copy(EXAMPLE / "specs" / "scale_add.yaml", path)
    return path


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return site_in(tmp_path)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return spec_in(tmp_path)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What each command prints in one folder, where none changes the spec."""
    folder = tmp_path_factory.mktemp("printed")
    blocks = [block.partition("\n")[0].removeprefix("$ ") for kind, block in BLOCK.findall(PAGE) if kind == "console"]
    commands = list(dict.fromkeys([BUILD, f"{BUILD} --check", VERIFY, *blocks]))
    return dict(zip(commands, tlxgen(site_in(folder), spec_in(folder), *commands), strict=True))


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plug-in in this process, too; what it leaves behind is removed."""
    monkeypatch.syspath_prepend(str(site))
    for name in [n for n in sys.modules if n.partition(".")[0] == "scale_add"]:
        monkeypatch.delitem(sys.modules, name)


def pyproject() -> str:
    return (EXAMPLE / "pyproject.toml").read_text()


# One process for all commands, as it has the same to import for each; what one warns of, the next warns of again.
RUN = """
import contextlib, io, json, sys, warnings
from tlxgen import cli
printed = []
for command in sys.argv[1:]:
    sys.argv = command.split()
    warnings.simplefilter("always")
    errors, output = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(output):
        try:
            cli.main()
        except SystemExit as end:
            status = end.code or 0
    printed.append([status, errors.getvalue() + output.getvalue()])
print(json.dumps(printed))
"""


def tlxgen(site: Path, spec: Path, *commands: str) -> list[str]:
    """What each command prints in the folder above `specs`, warnings first."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]), "COLUMNS": "200"}
    words = [sys.executable, "-c", RUN, *commands]
    done = subprocess.run(words, cwd=spec.parents[1], env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    for status, shown in (printed := json.loads(done.stdout)):
        assert status == 0, shown
    return [shown for _, shown in printed]


def test_it_builds_and_verifies(printed: Mapping[str, str]) -> None:
    assert "5 files written to generated/scale_add (2 modules, 6 variants, 6 rejected)" in printed[BUILD]
    assert printed[f"{BUILD} --check"]
    assert "0 findings in" in printed[VERIFY]


@pytest.mark.compiles
def test_it_compiles(site: Path, spec: Path) -> None:
    """For either architecture, in one process whose compilers have all to import."""
    axes = "{problem.dtype: [bf16, fp32], tile.n: [64]}"
    for arch in ("sm90", "sm100"):
        text = f"kernel: scale_add\nname: scale_{arch}\narch: {arch}\nvariants:\n  axes: {axes}\n"
        spec.with_name(f"{arch}.yaml").write_text(text)
    each = tlxgen(site, spec, *(f"tlxgen compile specs/{arch}.yaml --strict" for arch in ("sm90", "sm100")))
    for shown in each:
        assert "2 of 2 kernels compiled" in shown and shown.count("yes") == 2


@pytest.mark.usefixtures("installed")
def test_a_spec_may_not_take_a_name_that_its_module_needs(spec: Path) -> None:
    whole = spec.read_text()
    for name in ("prepare", "tile_at", "empty_rows"):  # of the shared template, its own, and of what is imported
        spec.write_text(whole.replace("name: scale_add", f"name: {name}"))
        document = load(spec)
        with pytest.raises(SpecErrors) as told:
            families.of(document).kernels(document)
        assert [e.message for e in told.value.errors] == [f"the module needs the name {name} for something else"]


@pytest.mark.usefixtures("installed")
def test_its_template_spells_no_protocol(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test_protocol.test_a_familys_templates_spell_no_protocol(spec, monkeypatch)


@pytest.mark.usefixtures("installed")
def test_it_can_be_checked_and_timed(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `tlxgen check` and `tlxgen bench` ask of a family, on the simulator's GPU."""
    import torch

    from tlxgen.bench.spec import Bench
    from tlxgen.build import build
    from tlxgen.check import on_gpu
    from tlxgen.sim import DEVICE, Session, load_module

    made = Bench(spec, build(spec).folder)
    family, variant = made.family, made.kernels.structures[0].variants[0]
    module = load_module(made.folder / "scale_add_bf16.py")
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    with Session("eager", 0).active():
        found = on_gpu.run(family.problem(), module, variant.spec, (70, 130), module.CONFIGS[0], 2, 0)
        tensors = family.problem().inputs(variant.spec, (70, 130), DEVICE)
        ours = family.benchmark().call(module, variant.spec, (70, 130), tensors)()
    assert found["passed"], found
    plain = {n: t.as_subclass(torch.Tensor) if isinstance(t, torch.Tensor) else t for n, t in tensors.items()}
    theirs = made.cases((70, 130))[0].make(plain)()
    problem = made.problem((70, 130), DEVICE)
    assert problem.bytes_moved == 3 * 70 * 130 * 2 and problem.wrong(plain, theirs) == ""
    assert problem.wrong(plain, ours.as_subclass(torch.Tensor)) == "" and problem.wrong(plain, theirs + 1)


@pytest.mark.usefixtures("installed")
def test_one_launch_serves_every_number(spec: Path) -> None:
    """alpha makes no difference to a layout: an integer, and another number, find the call that is known."""
    import torch

    from tlxgen.build import build
    from tlxgen.sim import DEVICE, Session, load_module

    module = load_module(build(spec).folder / "scale_add_fp32.py")
    with Session("eager", 0).active():
        a, b = (torch.randn(70, 132, device=DEVICE) for _ in "ab")
        results = [module.scale_add(a, b, alpha) for alpha in (2, 0.5, -1)]
    plain = [t.as_subclass(torch.Tensor) for t in (a, b, *results)]
    for alpha, result in zip((2, 0.5, -1), plain[2:], strict=True):
        assert torch.allclose(result, alpha * plain[0] + plain[1], atol=1e-5)
    assert len(module.CALLS) == 1


def test_it_is_small() -> None:
    lines = [line for path in files() for line in path.read_text().splitlines() if line.strip()]
    assert len(lines) <= LINES, len(lines)


def test_every_block_of_the_page_is_a_part_of_a_file_and_every_file_is_on_the_page() -> None:
    texts = {path: path.read_text() for path in [*files(), EXAMPLE / "pyproject.toml"]}
    shown = dict.fromkeys(texts, "")
    for kind, block in BLOCK.findall(PAGE):
        if kind not in ("console", "bash"):
            owners = [path for path, text in texts.items() if block in text]
            assert len(owners) == 1, block
            shown[owners[0]] += block
    for path, text in texts.items():
        assert words(shown[path]) == words(text), f"{path.name} is not all on the page, in its order"


def words(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def test_the_page_shows_what_tlxgen_prints(printed: Mapping[str, str]) -> None:
    blocks = [block for kind, block in BLOCK.findall(PAGE) if kind == "console"]
    assert blocks
    for block in blocks:
        command, *lines = block.splitlines()
        where = iter([line.split() for line in printed[command.removeprefix("$ ")].splitlines()])
        for line in lines:  # some of the lines, in order; what takes a time is not compared
            wanted = line.split()
            assert line == "..." or any(timeless(wanted) == timeless(found) for found in where), (command, line)


def timeless(line: list[str]) -> list[str]:
    """Up to how much was simulated, and for how long."""
    return list(itertools.takewhile(lambda word: not word.endswith("runs,"), line))


@pytest.mark.usefixtures("installed")
def test_its_tasks_do_what_its_plan_says(spec: Path) -> None:
    document = load(spec)
    family = families.of(document)
    structure = family.kernels(document).structures[0]
    from tlxgen.render import environment
    from tlxgen.render.module import context

    env = environment.environment(families.templates(family))
    steps.check(environment.render(env, family.template, context(structure)), structure.plan, {})
