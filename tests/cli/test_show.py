# SPDX-License-Identifier: Apache-2.0
import re

import pytest

SUM = ("show", "--op", "sum", "--shape", "4096,4096", "--dtype", "float32")


def test_shows_every_stage_in_order(command):
    outcome = command(*SUM, "--axis", "1")
    assert (outcome.code, outcome.err) == (0, "")
    marks = [
        "# plan\nrule row",
        "# tensor expression\nfrom axisfold import te\n",
        "# schedule\ns = te.create_schedule(result.op)\n",
        "# loop IR\nprimfn(",
        "# device program\nprimfn(",
        "# LLVM IR\n",
        "define i32 @",
    ]
    places = [outcome.out.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "\x1b" not in outcome.out


@pytest.mark.parametrize(
    ("section", "start"),
    [
        ("te", "from axisfold import te\n"),
        ("schedule", "s = te.create_schedule("),
        ("ir", "primfn("),
        ("device", "primfn("),
    ],
)
def test_one_section_alone(command, section, start):
    assert command(*SUM, "--axis", "1", "--only", section).out.startswith(start)


def test_machine_code(command):
    text = command(*SUM, "--axis", "1", "--only", "asm").out
    assert re.search(r"\brow\w*_fold:", text)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (("--axis", "1"), "row"),
        (("--axis", "0"), "column"),
        (("--axis", "0", "--order", "F"), "row"),
        (("--axis", "1", "--order", "F"), "column"),
        (("--axis", "0,1"), "long_row"),
        ((), "long_row"),
    ],
)
def test_the_rule_follows_axis_and_layout(command, options, rule):
    assert f"\nrule {rule}" in command(*SUM, *options).out


def test_a_shape_needs_no_memory(command):
    shape = ",".join(["1000000"] * 3)
    outcome = command("show", "--op", "sum", "--shape", shape, "--axis", "0", "--only", "ir")
    assert outcome.code == 0


def test_several_operations_share_a_kernel(command):
    out = command("show", "--op", "min,max", "--shape", "9,9", "--axis", "1", "--only", "ir").out
    assert out.count("primfn(") == 1


def test_colours_on_a_terminal_only(command, monkeypatch):
    args = ("show", "--op", "max", "--shape", "8,8", "--axis", "1", "--only", "te")
    plain = command(*args).out
    assert "\x1b" not in plain
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in command(*args).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert command(*args).out == plain


def test_c_source(command):
    for options in (("--target", "c", "--only", "c"), ("--only", "c")):
        assert "#include <stdint.h>" in command(*SUM, "--axis", "1", *options).out
    out = command(*SUM, "--axis", "1", "--target", "c").out
    assert "\n# C source\n" in out
    assert "\n# LLVM IR\n" not in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--shape", "3,x"), "--shape '3,x' is not extents such as 4096,4096."),
        (("--shape", "3,-1"), "--shape '3,-1': extent -1 is negative."),
        (("--shape", "3", "--order", "X"), "--order 'X' is not an order. Use C or F."),
        (("--shape", "3", "--only", "x"), "--only 'x' is no section. Use te, schedule, ir, device"),
        (("--shape", "3", "--target", "metal"), "target 'metal' is not available in this release."),
        (("--shape", "3", "--dtype", "object"), "dtype object is not supported"),
        (("--shape", "3", "--axis", "1"), "axis 1 is out of range for an array of 1 axes."),
        (
            ("--shape", "99999999999,99999999999"),
            "shape (99999999999, 99999999999) of float64 has ",
        ),
    ],
)
def test_refused(refused, args, message):
    assert refused("show", "--op", "sum", *args).startswith(message)


def test_softmax_has_the_shape_of_its_input(command, refused):
    args = ("show", "--op", "softmax", "--shape", "4,8", "--axis", "1")
    assert "result = te.compute((n0, m0), " in command(*args, "--only", "te").out
    message = "--style and --threads are about results of folds, and these have the input's shape."
    assert refused(*args, "--target", "sim", "--threads", "4").startswith(message)


def test_min_of_nothing_is_refused(refused):
    assert refused("show", "--op", "min", "--shape", "0").startswith("min of no elements")


def test_cuda_source_without_a_gpu(command):
    out = command(*SUM, "--axis", "1", "--target", "cuda").out
    marks = ["# tensor expression\n", "# schedule\n", "# device program\n", "# CUDA C++\n"]
    places = [out.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "__global__" in out[places[-1] :]
    for options in (("--only", "asm", "--target", "cuda"), ("--only", "cuda")):
        outcome = command(*SUM, *options)
        assert outcome.code == 2
        assert "is no section of target" in outcome.err
