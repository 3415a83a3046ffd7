# SPDX-License-Identifier: Apache-2.0
"""nvcc compiles the library without warnings for all architectures; its programs run."""

import shutil
import subprocess
from pathlib import Path

import pytest
from header_support.paths import EXAMPLES, HEADER_TESTS, INCLUDE, KERNELS

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on the path"),
]

FLAGS = [
    *("nvcc", "-std=c++17", "--expt-relaxed-constexpr", "-Werror", "all-warnings"),
    *("-Xcompiler", "-Wall,-Wextra", "-I", str(INCLUDE)),
]
SOURCES = [
    *sorted(EXAMPLES.glob("*.cu")),
    *(path for path in sorted(KERNELS.glob("*.cu")) if path.name != "faults.cu"),
    *sorted((HEADER_TESTS / "nvcc").glob("*.cu")),
]
PROGRAMS = [path for path in SOURCES if "int main()" in path.read_text()]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.name)
def test_every_architecture(path: Path, tmp_path: Path) -> None:
    oldest = (75, 80, 86, 89) if path.name != "cluster.cu" else ()
    codes = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in (*oldest, 90, 100, 120)]
    command = [*FLAGS, "--threads", "8", *codes, "-c", str(path), "-o", str(tmp_path / "object.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.name)
def test_program_is_right(path: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    command = [*FLAGS, "-arch=native", str(path), "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "right" in done.stdout
