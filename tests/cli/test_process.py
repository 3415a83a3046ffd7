# SPDX-License-Identifier: Apache-2.0
"""The command line as a program of its own."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import axisfold


def test_a_fold_from_file_to_file(process, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(12.0).reshape(3, 4))
    out = tmp_path / "out.npz"
    outcome = process("fold", tmp_path / "x.npy", "--op", "sum,max", "--axis", "0", "-o", out)
    assert (outcome.code, outcome.err) == (0, "")
    assert "\x1b" not in outcome.out
    with np.load(out) as written:
        assert written["sum"].tolist() == [12.0, 15.0, 18.0, 21.0]


def test_a_terminal_that_knows_ascii_only(process, tmp_path):
    np.save(tmp_path / "niño.npy", np.arange(3))
    args = ("fold", tmp_path / "niño.npy", "--op", "sum")
    outcome = process(*args, PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert (outcome.code, outcome.err) == (0, "")
    assert "ni?o.npy" in outcome.out


def test_wrong_use_is_one_line_and_code_2(process, tmp_path):
    outcome = process("fold", tmp_path / "no.npy", "--op", "sum")
    assert (outcome.code, outcome.out) == (2, "")
    expected = f"axisfold: cannot read {tmp_path / 'no.npy'}: No such file or directory.\n"
    assert outcome.err == expected


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["frob"], "No such command 'frob'."),
        (["fold"], "Missing argument 'FILE'."),
        (["fold", "x.npy"], "Missing option '--op'."),
        (["fold", "x.npy", "--op", "sum", "--frob"], "No such option: --frob"),
    ],
)
def test_wrong_options_are_one_line(refused, args, message):
    assert refused(*args).startswith(message)


def test_version(command):
    assert command("--version").out == f"axisfold {axisfold.__version__}\n"


@pytest.mark.parametrize("args", [[], ["--help"]])
def test_help(command, args):
    outcome = command(*args)
    assert outcome.code == 0
    assert "fold" in outcome.out
    assert "show" in outcome.out


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_a_missing_extra_is_named(process, module):
    script = f"import sys; sys.modules[{module!r}] = None; from axisfold.cli import main; main()"
    outcome = process(program=("-c", script))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"axisfold: the command line needs {module}. Run: pip install 'axisfold[cli]'\n"
    )


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_interrupt_ends_with_code_130(tmp_path):
    pipe = tmp_path / "x.npy"
    os.mkfifo(pipe)
    args = [sys.executable, "-m", "axisfold.cli", "fold", str(pipe), "--op", "sum"]
    # A shell's background jobs, and so their children, ignore interrupts: this one must not.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    child = subprocess.Popen(args, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    try:
        writer = _open_when_read(pipe, child)
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)
        os.close(writer)
    finally:
        child.kill()
        child.wait()
    assert (child.returncode, err) == (130, "")


def _open_when_read(pipe, child):
    """Open the pipe once the other side waits for its content."""
    for _ in range(2000):
        with contextlib.suppress(OSError):  # ENXIO: there is no reader yet
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        assert child.poll() is None
        time.sleep(0.01)
    raise AssertionError("the pipe was never read")


@pytest.mark.skipif(os.name != "posix", reason="pipes")
def test_a_reader_that_leaves_early_sees_no_traceback():
    args = [sys.executable, "-m", "axisfold.cli", "show", "--op", "var", "--shape", "9,9"]
    child = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.close()
    err = child.stderr.read()
    child.stderr.close()
    assert (child.wait(), err) == (1, b"")
