# SPDX-License-Identifier: Apache-2.0
import pytest

from axisfold.plan import read_limit

SUM = ("explain", "--op", "sum", "--shape", "512,512", "--dtype", "float32")


@pytest.fixture(autouse=True)
def _small_buffer(monkeypatch):
    monkeypatch.setattr(read_limit, "BUFFER_BYTES", 4 << 20)


def test_explains(command):
    outcome = command(*SUM, "--axis", "0")
    assert (outcome.code, outcome.err) == (0, "")
    marks = [
        "sum of float32 (512, 512) over axis 0, for llvm\n",
        "# problem\n",
        "# rule\ncolumn_in_cache: ",
    ]
    marks += ["# memory and time\n", "predicted", "# tensor expression and schedule\n", "# loops\n"]
    marks += ["# LLVM IR\n"]
    places = [outcome.out.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "define i32" not in outcome.out
    assert "measured" not in outcome.out


def test_order_and_source(command):
    out = command(*SUM, "--axis", "0", "--order", "F", "--full").out
    assert "# rule\nrow: " in out
    assert "define i32" in out


def test_measures(command):
    assert "measured   " in command(*SUM, "--measure", "--refresh").out


def test_cuda(command):
    out = command(*SUM, "--axis", "1", "--target", "cuda", "--full").out
    assert ", for cuda -arch=sm_" in out
    assert "__global__" in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--order", "X"), "ArraySpec has order 'X'."),
        (("--target", "metal"), "target 'metal' is not available"),
        (("--axis", "7"), "axis 7 is out of range"),
    ],
)
def test_refused(refused, args, message):
    assert refused(*SUM, *args).startswith(message)


def test_tunes(command, monkeypatch):
    from axisfold.api import tune
    from axisfold.config import config

    monkeypatch.setattr(tune, "median_seconds", lambda repeats, *kernels: [1.0] * len(kernels))
    monkeypatch.setattr(config, "cache_dir", None)
    out = command("tune", *SUM[1:], "--axis", "1").out
    assert out.startswith("rule row: ")
    assert "winner: the defaults\n" in out
    assert "not kept" in out
