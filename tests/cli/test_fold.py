# SPDX-License-Identifier: Apache-2.0
import os
import stat

import numpy as np
import pytest
from typer.testing import CliRunner

from axisfold.cli.app import app
from axisfold.cli.errors import CommandError
from axisfold.cli.files import open_array


@pytest.fixture
def data():
    return np.random.default_rng(7).normal(size=(5, 3, 4))


@pytest.fixture
def npy(tmp_path, data):
    np.save(tmp_path / "x.npy", data)
    return tmp_path / "x.npy"


@pytest.fixture
def npz(tmp_path, data):
    np.savez(tmp_path / "two.npz", x=data, y=np.arange(6.0))
    return tmp_path / "two.npz"


def test_prints_a_scalar(command, npy, data):
    outcome = command("fold", npy, "--op", "max")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[-1].split() == ["max", "float64", str(data.max())]


def test_prints_the_origin_first(command, npy):
    first = command("fold", npy, "--op", "sum", "--axis", "0,1").out.splitlines()[0]
    assert first == f"{npy}: float64, shape (5, 3, 4), axis (0, 1)"


def test_prints_several_operations_side_by_side(command, npy, data):
    lines = command("fold", npy, "--op", "min,argmax", "--axis", "0,2").out.splitlines()
    assert lines[1].split() == ["index", "min", "argmax"]
    assert [line.split()[1] for line in lines[2:]] == [str(v) for v in data.min(axis=(0, 2))]


def test_prints_a_matrix_in_full(command, npy, data):
    lines = command("fold", npy, "--op", "max", "--axis", "0").out.splitlines()
    assert lines[1] == "max"
    shown = [[float(cell) for cell in line.split()[1:]] for line in lines[3:]]
    assert np.array_equal(shown, data.max(axis=0))


def test_prints_results_of_the_inputs_shape(command, tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1.0, 1.0], [0.0, -800.0]]))
    out = command("fold", tmp_path / "x.npy", "--op", "softmax", "--axis", "1").out
    rows = [line.split() for line in out.splitlines()[3:]]
    assert rows == [["0", "0.5", "0.5"], ["1", "1.0", "0.0"]]


def test_prints_a_large_result_as_a_summary(command, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(200.0).reshape(100, 2))
    line = command("fold", tmp_path / "x.npy", "--op", "max", "--axis", "1").out.splitlines()[-1]
    assert line.split() == ["max", "float64", "100", "1.0", "100.0", "199.0"]


def test_prints_an_empty_result(command, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((0, 3)))
    outcome = command("fold", tmp_path / "x.npy", "--op", "sum", "--axis", "1")
    assert outcome.out.splitlines()[-1].split() == ["sum", "float64", "0", "-", "-", "-"]


def test_runs_under_typers_own_runner(npy, data):
    result = CliRunner().invoke(app, ["fold", str(npy), "--op", "min"])
    assert result.exit_code == 0
    assert str(data.min()) in result.stdout


@pytest.mark.parametrize("axis", ["0", "-1", "0,2", "1,-1"])
def test_writes_one_operation_as_npy(command, npy, data, tmp_path, axis):
    out = tmp_path / "out.npy"
    outcome = command("fold", npy, "--op", "sum", "--axis", axis, "-o", out)
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == f"wrote {out}"
    axes = tuple(int(a) for a in axis.split(","))
    assert np.allclose(np.load(out), data.sum(axis=axes), rtol=1e-14, atol=1e-14)


def test_writes_several_operations_as_npz(command, npy, data, tmp_path):
    out = tmp_path / "out.npz"
    assert command("fold", npy, "--op", "mean,var", "--axis", "0", "-o", out).code == 0
    with np.load(out) as written:
        assert sorted(written.files) == ["mean", "var"]
        assert np.allclose(written["mean"], data.mean(axis=0), rtol=1e-13)
        assert np.allclose(written["var"], data.var(axis=0), rtol=1e-13)


def test_several_results_turn_npy_into_npz(command, npy, tmp_path):
    outcome = command("fold", npy, "--op", "mean,var", "-o", tmp_path / "out.npy")
    assert outcome.out.splitlines()[-1] == f"wrote {tmp_path / 'out.npz'}"
    assert not (tmp_path / "out.npy").exists()


def test_several_results_never_replace_a_file_that_was_not_named(refused, npy, npz):
    message = refused("fold", npy, "--op", "mean,var", "-o", npz.with_suffix(".npy"))
    assert message == (
        f"2 results need a .npz file, and {npz} exists already. "
        f"Name it with -o {npz} to replace it."
    )


def test_keepdims_and_dtype_reach_the_fold(command, npy, tmp_path):
    out = tmp_path / "out.npy"
    command(
        "fold", npy, "--op", "sum", "--axis", "1", "--keepdims", "--dtype", "float32", "-o", out
    )
    assert (np.load(out).shape, np.load(out).dtype) == ((5, 1, 4), np.float32)


def test_replaces_an_output_and_keeps_its_permissions(command, npy, tmp_path):
    out = tmp_path / "out.npy"
    out.write_bytes(b"old")
    out.chmod(0o640)
    assert command("fold", npy, "--op", "sum", "-o", out).code == 0
    assert np.load(out).shape == ()
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


def test_leaves_no_other_file(command, npy, tmp_path):
    command("fold", npy, "--op", "sum", "-o", tmp_path / "out.npy")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.npy", "x.npy"]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_reads_members(command, tmp_path, data, save, order):
    save(tmp_path / "m.npz", x=np.asarray(data, order=order), y=np.zeros(2))
    for args in ([f"{tmp_path}/m.npz:x"], [tmp_path / "m.npz", "--member", "x"]):
        outcome = command("fold", *args, "--op", "max")
        assert outcome.out.splitlines()[0].startswith(f"{tmp_path}/m.npz:x: float64")
        assert outcome.out.split()[-1] == str(data.max())


def test_a_single_member_needs_no_name(command, tmp_path):
    np.savez(tmp_path / "m.npz", only=np.arange(4))
    assert command("fold", tmp_path / "m.npz", "--op", "sum").out.split()[-1] == "6"


def test_reads_the_other_byte_order(command, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(5, dtype=">f4" if np.little_endian else "<f4"))
    assert command("fold", tmp_path / "x.npy", "--op", "sum").out.split()[-1] == "10.0"


@pytest.mark.parametrize("save", [np.save, np.savez])
def test_maps_the_file_and_does_not_read_it(tmp_path, save):
    path = tmp_path / ("x.npy" if save is np.save else "x.npz")
    save(path, np.arange(10.0))
    data = open_array(str(path), None).data
    assert isinstance(data.base, np.memmap)
    assert not data.flags.writeable


def test_opens_a_file_larger_than_memory(tmp_path):
    rows = 1 << 37
    with open(tmp_path / "huge.npy", "wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (rows,)}
        np.lib.format.write_array_header_2_0(file, header)
        try:
            os.ftruncate(file.fileno(), file.tell() + rows * 8)
        except OSError:
            pytest.skip("the file system has no sparse files of this size")
    try:
        assert open_array(str(tmp_path / "huge.npy"), None).data.shape == (rows,)
    except OSError:
        pytest.skip("the address space is too small")


class TestRefused:
    def test_missing_file(self, refused, tmp_path):
        path = tmp_path / "no.npy"
        expected = f"cannot read {path}: No such file or directory."
        assert refused("fold", path, "--op", "sum") == expected

    def test_folder(self, refused, tmp_path):
        assert "Is a directory" in refused("fold", tmp_path, "--op", "sum")

    @pytest.mark.parametrize("content", [b"", b"hello", b"\x93NUM"])
    def test_another_format(self, refused, tmp_path, content):
        (tmp_path / "x.npy").write_bytes(content)
        expected = f"{tmp_path / 'x.npy'} is neither a .npy nor a .npz file."
        assert refused("fold", tmp_path / "x.npy", "--op", "sum") == expected

    @pytest.mark.parametrize("length", [7, 9, 40, 127])
    def test_damaged_header(self, refused, npy, length):
        npy.write_bytes(npy.read_bytes()[:length])
        assert f"{npy} is damaged: " in refused("fold", npy, "--op", "sum")

    def test_header_of_nonsense(self, refused, npy):
        npy.write_bytes(npy.read_bytes().replace(b"'descr'", b"'dascr'"))
        assert f"{npy} is damaged: " in refused("fold", npy, "--op", "sum")

    def test_truncated(self, refused, npy):
        npy.write_bytes(npy.read_bytes()[:-1])
        assert refused("fold", npy, "--op", "sum") == (
            f"{npy} is truncated: shape (5, 3, 4) of float64 needs 480 bytes, but 479 are there."
        )

    @pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
    def test_damaged_archive(self, refused, tmp_path, save):
        path = tmp_path / "m.npz"
        save(path, x=np.arange(1000.0))
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        assert f"{path} is damaged: " in refused("fold", path, "--op", "sum")

    def test_damaged_member(self, refused, tmp_path):
        path = tmp_path / "m.npz"
        np.savez_compressed(path, x=np.arange(1000.0))
        content = bytearray(path.read_bytes())
        content[200:260] = bytes(60)
        path.write_bytes(bytes(content))
        assert "damaged" in refused("fold", path, "--op", "sum")

    @pytest.mark.parametrize("save", [np.save, np.savez])
    def test_objects(self, refused, tmp_path, save):
        path = tmp_path / ("o.npy" if save is np.save else "o.npz")
        save(path, np.array([{}], dtype=object), allow_pickle=True)
        assert "holds Python objects (dtype object)" in refused("fold", path, "--op", "sum")

    @pytest.mark.parametrize("dtype", ["M8[D]", "S3", "U3", "longdouble", "i4,f4"])
    def test_unsupported_dtype(self, refused, tmp_path, dtype):
        np.save(tmp_path / "x.npy", np.zeros(3, dtype))
        message = refused("fold", tmp_path / "x.npy", "--op", "sum")
        assert message.endswith("[axisfold-D101]")

    def test_members_are_named_when_one_is_needed(self, refused, npz):
        assert refused("fold", npz, "--op", "sum") == (
            f"{npz} has 2 members: x, y. Name one as {npz}:MEMBER or with --member."
        )

    def test_unknown_member(self, refused, npz):
        expected = f"{npz} has no member 'z'. Its members are x, y."
        assert refused("fold", f"{npz}:z", "--op", "sum") == expected
        assert refused("fold", npz, "--member", "z", "--op", "sum") == expected

    def test_member_of_a_npy(self, refused, npy):
        expected = f"{npy} is a .npy file: it has no member 'x'."
        assert refused("fold", npy, "--member", "x", "--op", "sum") == expected

    def test_unknown_operation(self, refused, npy):
        message = refused("fold", npy, "--op", "mean,median")
        assert message.startswith("--op 'mean,median': unknown operation 'median'. Use sum, prod, ")

    @pytest.mark.parametrize(
        ("axis", "message"),
        [
            ("3", "axis 3 is out of range for an array of 3 axes. Valid axes are from -3 to 2."),
            ("0,-3", "axis (0, -3) names an axis twice. Name each axis once."),
            ("x", "--axis 'x' is not an axis such as 0, or several such as 0,1."),
            ("", "--axis '' is not an axis such as 0, or several such as 0,1."),
        ],
    )
    def test_bad_axis(self, refused, npy, axis, message):
        assert refused("fold", npy, "--op", "sum", "--axis", axis).startswith(message)

    def test_min_of_nothing(self, refused, tmp_path):
        np.save(tmp_path / "e.npy", np.zeros((0, 3)))
        message = refused("fold", tmp_path / "e.npy", "--op", "sum,min", "--axis", "0")
        assert message.startswith(
            "min of no elements has no value: axis 0 of shape (0, 3) is empty."
        )

    def test_bad_dtype(self, refused, npy):
        assert refused("fold", npy, "--op", "sum", "--dtype", "no").startswith(
            "'no' is not a dtype."
        )

    def test_the_input_as_output(self, refused, npy):
        before = npy.read_bytes()
        expected = f"-o {npy} is the input itself. Choose another file."
        assert refused("fold", npy, "--op", "sum", "-o", npy) == expected
        link = npy.with_name("link.npy")
        link.symlink_to(npy)
        assert "is the input itself" in refused("fold", npy, "--op", "sum", "-o", link)
        assert npy.read_bytes() == before

    def test_output_in_no_folder(self, refused, npy, tmp_path):
        out = tmp_path / "no" / "out.npy"
        expected = f"cannot write {out}: folder {tmp_path / 'no'} does not exist."
        assert refused("fold", npy, "--op", "sum", "-o", out) == expected

    def test_output_is_a_folder(self, refused, npy, tmp_path):
        expected = f"cannot write {tmp_path}: it is a folder."
        assert refused("fold", npy, "--op", "sum", "-o", tmp_path) == expected

    def test_a_failed_write_leaves_the_old_file(self, refused, npy, tmp_path, monkeypatch):
        out = tmp_path / "out.npy"
        out.write_bytes(b"old")

        def full(*args, **kwargs):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("axisfold.cli.files.np.save", full)
        message = refused("fold", npy, "--op", "sum", "-o", out)
        assert message == f"cannot write {out}: No space left on device."
        assert out.read_bytes() == b"old"
        assert sorted(p.name for p in tmp_path.iterdir()) == ["out.npy", "x.npy"]

    def test_a_failed_fold_writes_nothing(self, refused, npy, tmp_path):
        refused("fold", npy, "--op", "sum", "--axis", "7", "-o", tmp_path / "out.npy")
        assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy"]

    @pytest.mark.parametrize("save", [np.save, np.savez, np.savez_compressed])
    def test_any_damage_is_a_command_error(self, tmp_path, save):
        """Bytes overwritten at random give an array or a CommandError, never another exception."""
        random = np.random.default_rng(11)
        path = tmp_path / ("x.npy" if save is np.save else "x.npz")
        save(path, np.arange(20.0).reshape(4, 5))
        whole = path.read_bytes()
        refusals = 0
        for _ in range(300):
            content = bytearray(whole)
            for place in random.integers(0, len(whole), random.integers(1, 6)):
                content[place] = random.integers(0, 256)
            path.write_bytes(bytes(content))
            try:
                open_array(str(path), None)
            except CommandError:
                refusals += 1
        assert refusals > 30
