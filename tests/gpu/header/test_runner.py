# SPDX-License-Identifier: Apache-2.0
"""The runner of the examples, with both libraries that it knows."""

import pytest
from header_cases.examples import RUNNER

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("library", ["cupy", "cuda.core"])
def test_runner_finds_every_example_right(library: str, capsys: pytest.CaptureFixture) -> None:
    pytest.importorskip(library)
    assert RUNNER.main(["--with", library, "--count", "100003"]) == 0
    assert capsys.readouterr().out.count("right") == len(RUNNER.EXAMPLES)
