"""`tlxgen init`: a spec of every family and architecture that builds as it is, and overwrites nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tlxgen import cli, families
from tlxgen.errors import TlxgenError
from tlxgen.explain import ARCHES, commented, uncommented
from tlxgen.spec import load

Run = Callable[..., tuple[int, str, str]]
FAMILIES = {name: families.load(name) for name in families.names()}


def has(family: families.Family, arch: str) -> bool:
    """Whether the family has a kernel for it."""
    try:
        commented(family, "mine", arch)
    except TlxgenError:
        return False
    return True


MADE = [(name, arch) for name, family in FAMILIES.items() for arch in ARCHES if has(family, arch)]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tlxgen", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert isinstance(end.value.code, int)
        return end.value.code, *capsys.readouterr()

    return run


def kernels(path: Path, text: str) -> families.Kernels:
    path.write_text(text)
    document = load(path)
    return families.of(document).kernels(document)


def test_every_family_has_a_spec_to_begin_with() -> None:
    assert {kernel for kernel, _ in MADE} == set(FAMILIES)
    assert ("gemm", "sm100") in MADE and ("attention_bwd_dq", "sm100") not in MADE


@pytest.mark.parametrize(("kernel", "arch"), MADE)
def test_all_of_its_variants_are_kept(tmp_path: Path, kernel: str, arch: str) -> None:
    made = kernels(tmp_path / "s.yaml", commented(FAMILIES[kernel], "mine", arch))
    assert len(made.kept) >= 2 ** len(FAMILIES[kernel].first_axes) and not made.rejected


@pytest.mark.parametrize(("kernel", "arch"), MADE)
def test_every_comment_holds_the_default(tmp_path: Path, kernel: str, arch: str) -> None:
    """With all keys that are in comments it is the same kernel."""
    text = commented(FAMILIES[kernel], "mine", arch)
    whole = uncommented(text)
    assert len(YAML(typ="safe", pure=True).load(whole)) > len(YAML(typ="safe", pure=True).load(text)) + 5
    first, second = (kernels(tmp_path / f"{i}.yaml", t) for i, t in enumerate((text, whole)))
    plans = [[(s.name, [v.plan for v in s.variants]) for s in one.structures] for one in (first, second)]
    assert plans[0] == plans[1]


@pytest.mark.parametrize(("kernel", "arch"), MADE)
def test_its_lines_fit_a_screen(kernel: str, arch: str) -> None:
    assert [line for line in commented(FAMILIES[kernel], "mine", arch).splitlines() if len(line) > 120] == []


def test_a_family_that_lacks_the_architecture_says_which_it_has() -> None:
    with pytest.raises(TlxgenError, match="attention_bwd_dq has no kernel for sm100") as error:
        commented(FAMILIES["attention_bwd_dq"], "mine", "sm100")
    assert error.value.remedy == "it has sm90"


def test_into_an_empty_folder_and_built(tmp_path: Path, run: Run) -> None:
    code, output, errors = run("init", "--kernel", "norm_fwd", "--name", "mine")
    assert (code, errors) == (0, "")
    assert output.splitlines() == [
        "wrote specs/mine.yaml",
        "wrote specs/spec.schema.json",
        "next: tlxgen build specs/mine.yaml",
    ]
    assert run("build", "specs")[0] == 0
    assert (tmp_path / "generated" / "mine" / "lock.json").exists()


def test_nothing_is_overwritten(tmp_path: Path, run: Run) -> None:
    assert run("init")[0] == 0
    for name in ("my_gemm.yaml", "spec.schema.json"):
        (tmp_path / "specs" / name).write_text("mine")
    code, output, errors = run("init")
    assert (code, output) == (2, "") and "specs/my_gemm.yaml is there already" in errors
    code, output, _ = run("init", "--name", "other")
    assert code == 0 and "kept specs/spec.schema.json" in output
    assert {(tmp_path / "specs" / n).read_text() for n in ("my_gemm.yaml", "spec.schema.json")} == {"mine"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--kernel", "gem"], "no kernel family 'gem'"),
        (["--name", "Bad-1"], "a kernel cannot be called 'Bad-1'"),
        (["--name", "class"], "a kernel cannot be called 'class'"),
        (["--name", "prepare"], "the module needs the name prepare"),
        (["--kernel", "attention_bwd_dq", "--arch", "sm100"], "has no kernel for sm100"),
        (["--arch", "sm80"], "sm80"),
        (["file"], "file/specs"),
    ],
)
def test_what_cannot_be_made_is_one_error(tmp_path: Path, run: Run, arguments: list[str], words: str) -> None:
    (tmp_path / "file").write_text("kept")
    code, output, errors = run("init", *arguments)
    assert (code, output) == (2, "") and words in errors and "Traceback" not in errors
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_like_a_shipped_spec(tmp_path: Path, run: Run) -> None:
    code, output, errors = run("init", "--like", "hopper_gemm_cluster", "--name", "mine")
    assert (code, errors) == (0, "") and output.startswith("wrote specs/mine.yaml\nwrote specs/hopper_gemm.yaml\n")
    text = (tmp_path / "specs" / "mine.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=spec.schema.json\n") and "\nname: mine\n" in text
    assert run("list", "specs/mine.yaml")[0] == 0


@pytest.mark.parametrize(
    ("like", "words"),
    [
        ("hoper_gemm", "did you mean 'hopper_gemm'?"),
        ("../x", "no shipped spec"),
        ("hopper_gemm_tuned", "were measured for it"),
    ],
)
def test_like_what_cannot_be_copied(tmp_path: Path, run: Run, like: str, words: str) -> None:
    code, output, errors = run("init", "--like", like)
    assert (code, output) == (2, "") and words in errors
    assert not list(tmp_path.iterdir())
