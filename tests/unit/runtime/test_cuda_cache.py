# SPDX-License-Identifier: Apache-2.0
"""The cache of compiled programs on disk: whatever is wrong with a file, it is compiled again."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from axisfold.config import cache_folder, config
from axisfold.errors import CompileError, UnsupportedError
from axisfold.runtime.cuda import compile as compiling
from axisfold.runtime.cuda.compile import compile_cuda
from axisfold.runtime.disk import DiskCache, pack, unpack

SOURCE = """
extern "C" __global__ void __launch_bounds__(256) first(float *out, long long n) {
    if (threadIdx.x < n) out[threadIdx.x] = 1;
}
extern "C" __global__ void second(float *out) { __shared__ float s[64]; __syncthreads();
    s[threadIdx.x] = out[threadIdx.x]; __syncthreads(); out[threadIdx.x] = s[63 - threadIdx.x]; }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "cache_dir", tmp_path)
    monkeypatch.setattr(compiling, "_memory", {})
    return tmp_path / "cuda"


@pytest.fixture
def compiles(monkeypatch):
    """Count the programs that NVRTC compiles."""
    made = []
    compile_now = compiling._compile
    monkeypatch.setattr(
        compiling, "_compile", lambda *args: made.append(args[1]) or compile_now(*args)
    )
    return made


def from_disk(source=SOURCE, arch="sm_80"):
    compiling.clear_memory()
    return compile_cuda(source, arch)


def test_a_program_is_compiled_once(folder, compiles):
    first = from_disk()
    assert compile_cuda(SOURCE, "sm_80") is first
    assert from_disk() == first
    assert len(compiles) == 1
    assert len(list(folder.iterdir())) == 1


def test_source_arch_and_options_are_in_the_key(folder, compiles, monkeypatch):
    from_disk()
    from_disk(SOURCE + "\n")
    from_disk(arch="sm_90")
    monkeypatch.setattr(compiling, "_OPTIONS", (*compiling._OPTIONS, "-lineinfo"))
    from_disk()
    assert len(set(compiles)) == len(compiles) == 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:40],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: b"#!/bin/sh\n" + data,
        lambda data: data[:-7] + bytes([data[-7] ^ 1]) + data[-6:],
        lambda data: b"\0" * len(data),
    ],
)
def test_damaged_and_foreign_files_are_rebuilt(folder, compiles, damage):
    whole = from_disk()
    (file,) = folder.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert from_disk().code == whole.code
    assert from_disk().code == whole.code
    assert len(compiles) == 2


def test_a_folder_in_place_of_a_file_is_a_miss(folder, compiles):
    from_disk()
    (file,) = folder.iterdir()
    file.unlink()
    file.mkdir()
    from_disk()
    assert len(compiles) == 2


def test_without_a_folder_programs_are_kept_in_memory(tmp_path, monkeypatch, compiles):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setattr(compiling, "_memory", {})
    for place in (blocked, None):
        monkeypatch.setattr(config, "cache_dir", place)
        assert from_disk() is compile_cuda(SOURCE, "sm_80")
    assert len(compiles) == 2


def test_a_full_disk_is_no_error(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert from_disk().code
    assert list(folder.iterdir()) == []


def test_the_least_recently_used_entries_go_first(tmp_path):
    cache = DiskCache(tmp_path, limit_bytes=10 * len(pack("key0", b"x" * 100)))
    for n in range(10):
        cache.put(f"key{n}", b"x" * 100)
        os.utime(tmp_path / f"key{n}.entry", (n, n))
    assert cache.get("key0") == b"x" * 100  # used just now
    stale, fresh = tmp_path / "write-1.part", tmp_path / "write-2.part"
    stale.write_bytes(b"")
    os.utime(stale, (0, 0))
    fresh.write_bytes(b"")
    cache.put("key10", b"x" * 100)
    left = {int(path.stem[3:]) for path in tmp_path.glob("*.entry")}
    assert left == {0, 5, 6, 7, 8, 9, 10}
    assert (stale.exists(), fresh.exists()) == (False, True)


def test_entries_of_any_bytes():
    for entry in (b"", b"\0", os.urandom(1000)):
        assert unpack("key", pack("key", entry)) == entry
        assert unpack("another", pack("key", entry)) is None


WRITER = """
import sys
from pathlib import Path
from axisfold.runtime.disk import DiskCache
cache = DiskCache(Path(sys.argv[1]), limit_bytes=60_000)
for n in range(300):
    key, entry = str(n % 7), bytes([n % 7]) * (4000 + n % 7)
    found = cache.get(key)
    assert found in (None, entry), (key, len(found))
    cache.put(key, entry)
"""


def test_processes_share_a_folder(tmp_path):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], env=python_path())
        for _ in range(4)
    ]
    assert [writer.wait() for writer in writers] == [0] * 4
    assert not list(tmp_path.glob("*.part"))
    for file in tmp_path.glob("*.entry"):
        assert set(unpack(file.stem, file.read_bytes())) == {int(file.stem)}


def python_path():
    source = Path(compiling.__file__).parents[3]
    return os.environ | {"PYTHONPATH": str(source)}


def test_cache_folder():
    home = {"XDG_CACHE_HOME": "/somewhere"}
    assert cache_folder(home) == Path("/somewhere/axisfold")
    assert cache_folder(home | {"AXISFOLD_CACHE_DIR": "/given"}) == Path("/given")
    assert cache_folder(home | {"AXISFOLD_CACHE_DIR": ""}) is None
    assert cache_folder({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache" / "axisfold"


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_120"])
def test_resources_of_kernels(folder, arch):
    cubin = compile_cuda(SOURCE, arch)
    assert cubin.code.startswith(b"\x7fELF")
    info = cubin.info()
    assert set(info) == {"first", "second"}
    assert info["first"].registers > 0
    assert (info["first"].shared_bytes, info["second"].shared_bytes) == (0, 256)
    assert (info["second"].barriers, info["second"].spilled_bytes) == (1, 0)


def test_spills_are_reported(folder):
    reads = "".join(f"float a{i} = x[{i} * n];" for i in range(64))
    stores = "".join(f"x[{i} * n + 1] = a{i};" for i in reversed(range(64)))
    source = (
        'extern "C" __global__ void __launch_bounds__(1024, 2) k(float *x, long long n)'
        f"{{ {reads} __syncthreads(); {stores} }}"
    )
    info = compile_cuda(source, "sm_90").info()["k"]
    assert info.registers <= 32
    assert min(info.spilled_bytes, info.reloaded_bytes, info.stack_bytes) > 0


def test_resources_of_a_kernel_that_nvrtc_had_in_its_cache(folder):
    cubin = compile_cuda(SOURCE, "sm_90")
    assert replace(cubin, report="").info() == cubin.info()


def test_refused_source_is_shown_with_its_lines(folder):
    source = SOURCE.replace("= 1;", "= one;")
    with pytest.raises(CompileError) as caught:
        compile_cuda(source, "sm_90")
    text = str(caught.value)
    assert caught.value.code == "I203"
    assert "NVRTC refused generated code for sm_90" in text
    assert 'identifier "one" is undefined' in text
    assert "    3 |     if (threadIdx.x < n) out[threadIdx.x] = one;" in text
    assert not folder.exists()


def test_unknown_architecture():
    with pytest.raises(UnsupportedError, match=r"does not compile for 'sm_99'. Use one of sm_75, "):
        compile_cuda(SOURCE, "sm_99")
