# SPDX-License-Identifier: Apache-2.0
"""Object code on disk: found by text, CPU and version of LLVM, and compiled again if damaged."""

import subprocess
import sys

import pytest

import axisfold
from axisfold.config import config
from axisfold.errors import ArgumentError
from axisfold.runtime import cpu
from axisfold.runtime.cpu import compile_llvm

SOURCE = "define i32 @f() nounwind { ret i32 42 }"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "cache_dir", tmp_path)
    return tmp_path / "cpu"


@pytest.fixture
def compiles(monkeypatch):
    """Count the modules that LLVM compiles."""
    made, compile_now = [], cpu._module
    monkeypatch.setattr(
        cpu,
        "_module",
        lambda text, *args, **kw: made.append(text) or compile_now(text, *args, **kw),
    )
    return made


def run(text=SOURCE, **options):
    return compile_llvm(text, "f", **options).function(0, 0)()


def test_a_module_is_compiled_once(folder, compiles):
    assert [run(), run(), run()] == [42, 42, 42]
    assert len(compiles) == len(list(folder.iterdir())) == 1


def test_text_cpu_and_effort_are_in_the_key(folder, compiles, monkeypatch):
    run()
    assert run(SOURCE.replace("42", "43")) == 43
    run(effort="none")
    monkeypatch.setitem(cpu._state, "key", "another CPU")
    run()
    assert len(compiles) == 4


@pytest.mark.parametrize(
    "damage", [lambda d: b"", lambda d: d[:-1], lambda d: d[:-9] + bytes([d[-9] ^ 1]) + d[-8:]]
)
def test_damaged_files_are_rebuilt(folder, compiles, damage):
    run()
    (file,) = folder.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert [run(), run()] == [42, 42]
    assert len(compiles) == 2


def test_a_new_process_finds_what_another_compiled(folder):
    script = (
        "import numpy as np, axisfold; from axisfold.runtime import cpu\n"
        "compiled, real = [], cpu._module\n"
        "cpu._module = lambda text, *a, **k: compiled.append(text) or real(text, *a, **k)\n"
        "x = np.arange(2000000.0).reshape(2, -1)\n"
        "print(axisfold.sum(x, axis=1).tolist(), len(compiled))"
    )

    def fresh():
        command = [sys.executable, "-c", script]
        environment = {
            "AXISFOLD_CACHE_DIR": str(folder),
            "PYTHONPATH": axisfold.__path__[0] + "/..",
        }
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout.split("] ")

    (first, some), (second, none) = fresh(), fresh()
    assert first == second
    assert int(some) > 0
    assert int(none) == 0


@pytest.mark.parametrize("given", ["", 3, b"folder", True])
def test_a_folder_is_a_path(given):
    before = config.cache_dir
    with pytest.raises(ArgumentError, match=r"config.cache_dir is .*A402"):
        config.cache_dir = given
    assert config.cache_dir == before


def test_a_folder_may_be_text(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "cache_dir", str(tmp_path))
    assert config.cache_dir == tmp_path
    monkeypatch.setattr(config, "cache_dir", None)
    assert config.cache_dir is None
