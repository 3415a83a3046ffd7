# SPDX-License-Identifier: Apache-2.0
"""The table of benchmarks: every case runs at a small size, and its values are checked."""

import json
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

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
    assert "| of limit, with results |" in found.stdout
    assert (tmp_path / "f.svg").read_text().startswith("<svg")
    figures = json.loads((tmp_path / "new" / "f.json").read_text())
    assert all(f["first"] > 0.001 for f in figures)


def test_shares_count_results_where_memory_holds_them(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    cpu, report = import_module("benchmarks.cpu"), import_module("benchmarks.report")
    pairs = cpu.Outcome("pairs", "memory", 0.9, 1000, 0.5, {cpu.OURS: 1.0}, written=500)
    assert (pairs.share(cpu.OURS), pairs.moved(cpu.OURS)) == (0.5, 0.75)
    assert "| 0.50 |  | 0.75 | 0 |" in report.table([pairs])
    pairs.written = 0
    assert "with results" not in report.table([pairs])


@pytest.mark.parametrize("kind", [(), ("--first",)])
def test_two_states_are_timed_in_turns(kind, tmp_path):
    # In the end the copy cannot plan, which tells that it is the copy that is timed.
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    command = [
        sys.executable, "-m", "benchmarks.duel", "--only", r"^sum f32 \(32, 32\)|^argmax f32 2",
        "--scale", "0.002", "--rounds", "2", *kind, str(ROOT), str(tmp_path),
    ]  # fmt: skip
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[:2]] == [
        "argmax f32 2^28",
        "sum f32 (32, 32) axis=0",
    ]
    assert all(len(re.findall(r"\d+\.\d+", line)) >= 2 for line in lines)
    planner = tmp_path / "src" / "axisfold" / "plan" / "planner.py"
    planner.write_text(planner.read_text() + "\n\nraise ValueError('the copy')\n")
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode != 0
    assert "the copy" in found.stderr


OPERATORS = {
    "PLUS": np.add, "MULTIPLIES": np.multiply, "MAXIMUM": np.maximum, "MINIMUM": np.minimum,
    "LOGICAL_OR": np.logical_or,
}  # fmt: skip


class Compute:
    """What the benchmarks use of cuda.compute, on NumPy arrays; it counts what is built."""

    def __init__(self):
        self.OpKind = SimpleNamespace(**{name: name for name in OPERATORS})
        self.built = 0

    def make_reduce_into(self, **_):
        self.built += 1

        def reduce(*, temp_storage, d_in, d_out, num_items, op, h_init):
            assert num_items == d_in.size
            if temp_storage is not None:
                d_out[0] = OPERATORS[op].reduce(d_in, dtype=h_init.dtype, initial=h_init[0])
            return 5

        return reduce

    def make_segmented_reduce(self, **_):
        self.built += 1

        def reduce(*, temp_storage, d_in, d_out, start_offsets_in, end_offsets_in, op, h_init,
                   num_segments, max_segment_size):  # fmt: skip
            assert len(start_offsets_in) == len(end_offsets_in) == num_segments
            assert (end_offsets_in - start_offsets_in).max() == max_segment_size
            ends = zip(start_offsets_in, end_offsets_in, strict=True)
            if temp_storage is not None:
                for n, (i, j) in enumerate(ends):
                    part = OPERATORS[op].reduce(d_in[i:j], dtype=h_init.dtype, initial=h_init[0])
                    d_out[n] = part
            return 0

        return reduce


@pytest.fixture
def compute(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    found = Compute()
    cupy = SimpleNamespace(from_dlpack=np.asarray, empty=np.empty, arange=np.arange)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cuda.compute", found)
    return found


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_cuda_compute_folds_whole_arrays_and_rows(compute, dtype):
    from benchmarks.gpu_peers import installed

    peer = installed(["cuda.compute"])["cuda.compute"]
    x = (np.random.default_rng(1).random((3, 7)) * 5 - 2).astype(dtype)
    names = {"bool": ["any"], "int8": ["sum"]}.get(dtype, ["sum", "prod", "max", "min"])
    for name in names:
        for array, axis in ((x, None), (x, 1), (x.T, None)):
            for _ in range(2):
                found = peer.operations[name](peer.take(array), axis=axis)
                expected = getattr(np, name)(array, axis=axis)
                np.testing.assert_allclose(found, expected, rtol=1e-6)
                assert found.dtype == expected.dtype
    assert compute.built == 3 * len(names)


def test_cuda_compute_says_what_it_does_not_do(compute, monkeypatch):
    from benchmarks.gpu_peers import installed

    peer = installed(["cuda.compute"])["cuda.compute"]
    for array, axis in ((np.ones((3, 4)), 0), (np.ones((3, 8))[:, ::2], 1)):
        with pytest.raises(NotImplementedError, match="nor rows"):
            peer.operations["sum"](array, axis=axis)
    # Without a driver the module has no such name.
    monkeypatch.delattr(compute, "OpKind", raising=True)
    assert installed(["cuda.compute"]) == {}
