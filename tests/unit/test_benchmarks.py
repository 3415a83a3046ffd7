# SPDX-License-Identifier: Apache-2.0
"""The table of benchmarks: every case runs at a small size, and its values are checked."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_few_cases_run_and_are_right(tmp_path):
    found = subprocess.run(
        [
            sys.executable, "-m", "benchmarks", "cpu", "--only", "^(sum f32|argmax|any)",
            "--peers", "numpy", "--scale", "0.004", "--repeats", "1", "--group", "memory",
            "--json", str(tmp_path / "new" / "f.json"), "--svg", str(tmp_path / "f.svg"),
        ],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr + found.stdout
    assert "| sum f32 2^28 |" in found.stdout
    assert (tmp_path / "f.svg").read_text().startswith("<svg")
