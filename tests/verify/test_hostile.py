"""Files that do their worst: each is one clear message, in bounded time and memory, and the others are not disturbed.

Those that hang are targets of one run, with 2 seconds each, the others of another; all with 1 GiB. Whether a file hangs
where it should is not judged by the clock: one that was stopped before it came there is run again, with more time.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HANGS_S, OTHERS_S = 2, 1000  # the second is no limit: nothing comes near it
LONGER_S = (8, 30, 200)  # for those that a busy machine has not brought as far as where they hang
HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
KERNEL = """
@triton.jit
def kernel(out):
    {body}

def main():
    out = torch.zeros(4, device="cuda")
    kernel[(1,)](out)
"""
MAIN = HEAD + "def main():\n    "

# name -> (text, status, words of the message, line that it names or 0)
FILES: dict[str, tuple[str, str, str, int]] = {
    "fine": (HEAD + KERNEL.format(body="tl.store(out, 1.0)"), "clean", "", 0),
    "loops_at_import": ("x = 0\nwhile True: x += 1\n", "error", "timed out after 2 s (importing)", 2),
    "loops_in_host_code": (MAIN + "while True: pass\n", "error", "timed out after 2 s (schedule lazy", 5),
    "sleeps": (MAIN + "import time; time.sleep(1000)\n", "error", "timed out after 2 s", 5),
    "loops_in_the_kernel": (
        HEAD + KERNEL.format(body="i = 0\n    while i >= 0:\n        i = i * 1\n    tl.store(out, i)"),
        "findings",
        "no-progress",
        0,
    ),
    "unrolls_for_ever_in_the_kernel": (
        HEAD + KERNEL.format(body="x = sum(i * 0 for i in iter(int, 1))"),
        "error",
        "timed out after 2 s (schedule lazy",
        7,
    ),
    "eats_memory_in_host_code": (
        MAIN + "x = []\n    while True:\n        x.append(bytearray(1 << 24))\n",
        "error",
        "it needs more than 1 GiB of memory beyond torch and triton",
        0,
    ),
    "eats_memory_at_import": ("x = [0]\nwhile True:\n    x += x\n", "error", "it needs more than 1 GiB", 0),
    "eats_memory_with_torch": (MAIN + "torch.zeros(1 << 32)\n", "error", "it needs more than 1 GiB", 0),
    "eats_memory_in_the_kernel": (
        HEAD + KERNEL.format(body="tl.store(out, tl.zeros((1 << 20, 1 << 14), tl.float32))"),
        "error",
        "it needs more than 1 GiB",
        0,
    ),
    "raises_at_import": ("def f():\n    raise ValueError('no luck')\nf()\n", "error", "raised ValueError: no luck", 2),
    "raises_in_host_code": (MAIN + "raise OSError('no luck')\n", "error", "the host code raised OSError: no luck", 5),
    "raises_in_the_kernel": (
        HEAD + KERNEL.format(body="tl.store(out, 1 // 0)"),
        "findings",
        "divided by zero",
        7,
    ),
    "fails_its_own_check": (MAIN + "assert 1 == 2, 'off by one'\n", "findings", "own check failed", 5),
    "imports_what_is_not_there": ("import nowhere_at_all\n", "error", "No module named 'nowhere_at_all'", 1),
    "is_no_python": ("def f(:\n    pass\n", "error", "not Python", 1),
    "is_binary": ("\x00\x01\x02\x7fELF", "error", "null bytes", 0),
    "nests_deeply": ("x = " + "(" * 5000 + ")" * 5000 + "\n", "error", "not Python", 1),
    "exits": ("import sys\nsys.exit(3)\n", "error", "left the process: exit(3)", 2),
    "exits_hard": (MAIN + "import os; os._exit(7)\n", "error", "ended the process with status 7", 0),
    "segfaults": (
        MAIN + "import ctypes; ctypes.string_at(0)\n",
        "error",
        "crashed with SIGSEGV (schedule lazy",
        5,
    ),
    "kills_itself": (MAIN + "import os; os.kill(os.getpid(), 9)\n", "error", "crashed with SIGKILL", 0),
    "prints_megabytes": (
        MAIN + "print('x' * 50_000_000)\n    kernel[(1,)](torch.zeros(4, device='cuda'))\n"
        "@triton.jit\ndef kernel(out):\n    tl.store(out, 1.0)\n",
        "clean",
        "",
        0,
    ),
    "writes_to_every_descriptor": (
        MAIN + "import os\n    for fd in range(20):\n        try: os.write(fd, b'{\"report\": 1}x' * 10 + b'\\n')\n"
        "        except OSError: pass\n    raise OSError('done')\n",
        "error",
        "done",
        9,
    ),
    "answers_for_us": (
        MAIN + "import os\n    for fd in range(20):\n        try: os.write(fd, b'{\"end\": true}\\n')\n"
        "        except OSError: pass\n    while True: pass\n",
        "error",
        "broke off after 0 of 1 runs",
        0,
    ),
    "answers_nonsense": (
        MAIN + "import os\n    for fd in range(20):\n        try: os.write(fd, b'{\"report\": 1}\\n')\n"
        "        except OSError: pass\n",
        "error",
        "answered what is no answer",
        0,
    ),
    "reads_stdin": (MAIN + "input()\n", "error", "EOFError", 5),
    "has_children": (
        MAIN + "import subprocess\n    subprocess.Popen(['sleep', '3217'])\n    raise OSError('parent done')\n",
        "error",
        "parent done",
        7,
    ),
    "launches_nothing": (MAIN + "return 1\n", "error", "launched no kernel", 4),
    "has_no_such_function": ("def mine(): pass\n", "error", "no 'main' here; did you mean 'mine'?", 1),
    "is_a_number": ("main = 3\n", "error", "main is a int, not a function", 1),
    "needs_arguments": ("def main(a, *, b): pass\n", "error", "main needs arguments: a, b", 1),
    "is_a_kernel": (HEAD + KERNEL.replace("kernel", "main").format(body="pass").split("def main():")[0], "error",
                    "main is a kernel: its launch must be declared", 6),
    "asks_for_cuda": (MAIN + "torch.cuda.Event().record()\n", "error", "not for the CUDA runtime", 5),
}  # fmt: skip


HANGING = [name for name, (_, _, words, _) in FILES.items() if words.startswith("timed out")]
OTHERS = [name for name in FILES if name not in HANGING]


@dataclass(frozen=True)
class Outcome:
    """One run: its exit status, what it printed, and the record's entry for each file."""

    status: int
    stdout: str
    stderr: str
    targets: dict[str, Any]


# Commands one after another in one process, which has one nursery for them: to import torch takes as long as they do.
COMMANDS = """
import json, os, sys
from tlxgen.cli import main
for number, words in enumerate(json.loads(sys.argv[1])):
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(os.open(f"{number}{stream.name[1:-1]}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream.fileno())
    sys.argv = ["tlxgen", *words]
    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code
    with open(f"{number}status", "w") as file:
        json.dump(status, file)
"""


def verify(folder: Path, *runs: tuple[list[str], int]) -> list[Outcome]:
    """Verifies some files after others, each time with a limit of its own in seconds."""
    commands = [
        ["verify", *(f"{name}.py:main" for name in names), "--schedule", "lazy",
         "--timeout", str(timeout_s), "--memory", "1", "--json", f"{number}.json"]
        for number, (names, timeout_s) in enumerate(runs)
    ]  # fmt: skip
    subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(commands)], cwd=folder, check=True, timeout=3000,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    found = []
    for number in range(len(runs)):
        status, stdout, stderr = ((folder / f"{number}{what}").read_text() for what in ("status", "stdout", "stderr"))
        targets = json.loads((folder / f"{number}.json").read_text())["targets"]
        found.append(Outcome(int(status), stdout, stderr, {t["target"].removesuffix(".py:main"): t for t in targets}))
    return found


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    folder = tmp_path_factory.mktemp("hostile")
    for name, (text, *_) in FILES.items():
        (folder / f"{name}.py").write_text(text)
    hanging, others = verify(folder, (HANGING, HANGS_S), (OTHERS, OTHERS_S))
    for longer in LONGER_S:
        early = [name for name in HANGING if FILES[name][2] not in _begun(hanging.targets[name])]
        if early:
            hanging.targets.update(verify(folder, (early, longer))[0].targets)
    return [hanging, others]


def _begun(target: dict[str, Any]) -> str:
    """What a target that was stopped is said to have been about, as if it had had the shortest time."""
    return re.sub(r"timed out after \d+ s", f"timed out after {HANGS_S} s", target["error"]["text"])


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_one_clear_message(name: str, outcomes: list[Outcome]) -> None:
    _, status, words, line = FILES[name]
    target = next(o.targets[name] for o in outcomes if name in o.targets)
    said = (_begun(target) if "error" in target else "") + "".join(f["id"] + f["message"] for f in target["findings"])
    assert target["status"] == status, said
    assert words in said
    places = [p["line"] for f in target["findings"] for p in f["places"]] + [target.get("error", {}).get("line")]
    assert not line or line in places, said
    assert "Traceback" not in said and len(said) < 2000


@pytest.mark.parametrize("index", [0, 1])
def test_no_traceback_no_flood_exit_2_and_an_order(index: int, outcomes: list[Outcome]) -> None:
    done = outcomes[index]
    assert done.status == 2, done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert len(done.stdout) < 20_000 and not done.stderr
    assert list(outcomes[index].targets) == (HANGING, OTHERS)[index]


def test_nothing_is_left_behind(outcomes: list[Outcome]) -> None:
    assert outcomes
    commands = [p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if _readable(p)]
    assert not any(b"sleep\x003217" in command for command in commands)


def _readable(path: Path) -> bool:
    try:
        path.read_bytes()
    except OSError:
        return False
    return True
