"""Which tests one process runs."""

from __future__ import annotations

import pytest

from tests.conftest import GENERATED, group_of


@pytest.mark.parametrize(
    ("nodeid", "group"),
    [
        ("tests/plan/test_rule.py::test_a[x-y]", "tests/plan/test_rule.py"),
        ("tests/package/test_cpp.py::TestLaunches::test_a", "tests/package/test_cpp.py"),
        (
            f"tests/sim/test_generated.py{GENERATED}hopper_gemm-hopper_gemm_c]",
            "tests/sim/test_generated.py hopper_gemm",
        ),
        ("tests/sim/test_generated.py::test_few_sms", "tests/sim/test_generated.py"),
    ],
)
def test_a_files_tests_are_one_group_and_generated_modules_one_a_folder(nodeid: str, group: str) -> None:
    assert group_of(nodeid) == group
