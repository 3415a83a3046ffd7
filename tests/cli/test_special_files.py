# SPDX-License-Identifier: Apache-2.0
"""Pipes and devices in place of files."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="named pipes")


@pytest.fixture
def npy(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(3))
    return path


def test_an_output_that_is_no_regular_file_stays(refused, npy, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    expected = f"cannot write {pipe}: it is no regular file."
    assert refused("fold", npy, "--op", "sum", "-o", pipe) == expected
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_an_output_that_is_a_link_to_no_regular_file_stays(refused, npy, tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "out.npy"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    expected = f"cannot write {link}: it is no regular file."
    assert refused("fold", npy, "--op", "sum", "-o", link) == expected
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_an_input_from_a_pipe_is_refused(npy):
    args = [sys.executable, "-m", "axisfold.cli", "fold", "/dev/stdin", "--op", "sum"]
    done = subprocess.run(args, input=npy.read_bytes(), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        "axisfold: cannot read /dev/stdin: it is a pipe, and arrays are mapped from files. "
        "Save it to a file first.\n"
    )


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="/dev/full is Linux's")
def test_an_stdout_without_space_is_one_line(npy):
    args = [sys.executable, "-m", "axisfold.cli", "fold", str(npy), "--op", "sum"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(args, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "axisfold: cannot write to stdout: No space left on device.\n"
