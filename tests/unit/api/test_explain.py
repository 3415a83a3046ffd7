# SPDX-License-Identifier: Apache-2.0
"""explain(): the report is right, its Python is the kernel's, and its figures fit together."""

import subprocess
import sys

import numpy as np
import pytest

import axisfold
from axisfold import ArraySpec, explain
from axisfold.api import measure
from axisfold.api.explain_time import time_notes
from axisfold.api.measure import Times
from axisfold.config import config
from axisfold.errors import ArgumentError, DTypeError, KeywordError, ResourceError, ShapeError
from axisfold.ir.printer import print_kernel
from axisfold.passes.pipelines import legible
from axisfold.plan import read_limit as limits
from axisfold.plan.read_limit import ReadLimit, read_limit
from axisfold.plan.traffic import Traffic


@pytest.fixture(autouse=True)
def _small_buffer(monkeypatch):
    """How fast memory is does not matter here; a small buffer is quick to read."""
    monkeypatch.setattr(limits, "BUFFER_BYTES", 4 << 20)


def replayed(e):
    """Run the Python of an explanation and return its loops as text."""
    names = {}
    exec(e.python, names)  # noqa: S102 - the text is a program
    buffers = zip(names["args"], e.loops.params, strict=True)
    layouts = {arg: () for arg, buffer in buffers if buffer.is_compact}
    return print_kernel(legible(names["s"], names["args"], e.loops.name, layouts=layouts))


@pytest.mark.parametrize(
    ("op", "axis"), [("sum", 0), ("var", None), ("argmax", 1), (["min", "max"], (0, 2))]
)
def test_the_python_rebuilds_the_kernel(op, axis):
    e = explain(ArraySpec((20, 30, 4), "float32"), op, axis)
    assert replayed(e) == str(e.loops)
    assert e.python in str(e)
    assert str(e.loops) in str(e)


def test_the_report_tells_what_was_decided():
    e = explain(ArraySpec((4096, 4096), "float32"), "sum", axis=0)
    text = str(e)
    for part in (
        "sum of float32 (4096, 4096) over axis 0, for llvm\n",
        "# problem\nkept    4,096 elements, 4 bytes apart\n",
        "folded  4,096 elements, 16,384 bytes apart\n",
        f"# rule\n{e.rule}: ",
        "reads 64.0 MiB (1,048,576 lines of 64 bytes), writes 16.0 KiB\n",
        "predicted  ",
    ):
        assert part in text
    assert "measured" not in text
    assert e.times is None
    assert e.percent is None
    assert e.source.count("\n") > 10
    assert max(map(len, text.split("# tensor")[0].splitlines())) <= 100


def test_strided_elements_cost_their_lines():
    e = explain(np.ones((64, 64, 32), np.float32)[:, :, 0], "sum", axis=1, measure=False)
    assert e.traffic.read_bytes == 64 * 64 * 64
    assert "16.0 times its elements" in str(e)


def test_what_is_measured_is_consistent():
    x = np.ones((300, 400))
    e = explain(x, "sum", axis=0, repeats=3)
    assert e.times.call > 0
    assert e.times.kernel > 0
    assert e.predicted == pytest.approx(e.traffic.moved_bytes / e.limit.bytes_per_second)
    assert e.percent == pytest.approx(100 * e.predicted / e.times.call)
    assert f"limit      {e.percent:.0f} %" in str(e)
    assert (80 <= e.percent <= 125) == (e.notes == ())


@pytest.mark.parametrize(
    ("op", "options"),
    [
        ("var", {"correction": 1}), ("any", {}), (["mean", "max"], {}), ("sum", {"initial": 3}),
        ("softmax", {"empty": "zero"}),
    ],
)  # fmt: skip
def test_an_array_is_made_to_measure(op, options):
    spec = ArraySpec((50, 60), "float32", order="F")
    e = explain(spec, op, axis=0, measure=True, repeats=2, **options)
    assert e.times.call > 0


def test_several_inputs_and_patterns():
    x, y = np.ones((8, 9), np.float32), np.ones(9, np.float32)
    dot = axisfold.Reducer(
        "dot",
        state={"s": "acc"},
        identity={"s": 0},
        lift=lambda x, y: {"s": x * y},
        combine=lambda a, b: {"s": a.s + b.s},
        finalize=lambda a: a.s,
    )
    e = explain((x, y), dot, axis=1, repeats=2)
    assert e.title == "dot of float32 (8, 9), float32 (9,) over axis 1"
    assert e.traffic.element_bytes == 4 * (8 * 9 + 9)
    pattern = explain(np.ones((4, 6)), "sum", "a (b p) -> b", p=2, measure=False)
    assert pattern.traffic.written_bytes == 3 * 8


def test_a_part_of_the_data_is_what_the_whole_has(monkeypatch):
    """The kernel on a part in cache computes the fold of that part."""
    from axisfold.api.arguments import item_of
    from axisfold.api.dispatch import plan_request
    from axisfold.api.options import Request
    from axisfold.api.places import views_of

    x = np.arange(64 * 96, dtype=np.float64).reshape(64, 96)
    request = Request("fold", (item_of("sum"),), axis=0)
    kernel = measure.KernelCall(plan_request(request, [x]), views_of([x]))
    run, size = kernel.within(x.nbytes // 4)
    run()
    shapes = [(i, j) for i in (16, 32, 64) for j in (24, 48, 96) if i * j * 8 == size]
    assert any(np.array_equal(kernel.results[0][:j], x[:i, :j].sum(0)) for i, j in shapes)
    kernel()
    assert np.array_equal(kernel.results[0], x.sum(0))


def notes(**changed):
    given = {"call": 1.0, "kernel": 1.0, "one_thread": 2.0, "cached": 9e-10, "repeats": 3}
    given |= {"threads": 2} | changed
    traffic = Traffic(10**9, 10**9, 10**3, 64)
    return list(
        time_notes(Times(**given), traffic, ReadLimit(2e9, 2, "here"), ReadLimit(1e9, 1, "here"))
    )


@pytest.mark.parametrize(
    ("changed", "start"),
    [
        ({"kernel": 0.1, "one_thread": 0.2}, "call overhead: 900 ms of 1.00 s"),
        ({"one_thread": 1.1}, "threads: 2 threads are 1.10 times as fast as one, while memory"),
        ({"one_thread": 0.5}, "threads: 2 threads are no faster than one"),
        ({}, "kernel: it is bound by arithmetic; on data in its cache one thread folds 1.11"),
        ({"cached": 1e-10}, "memory: the kernel waits for it"),
    ],
)
def test_where_the_time_goes(changed, start):
    found = notes(**changed)
    assert any(line.startswith(start) for line in found), found


def test_the_read_limit_is_measured_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "cache_dir", tmp_path)
    monkeypatch.setattr(limits, "_measured", {})
    measured = []

    def fake(threads, size):
        measured.append(threads)
        return 1e9 * len(measured)

    monkeypatch.setattr(limits, "measure_read", fake)
    assert read_limit(1).bytes_per_second == 1e9
    limits._measured.clear()
    assert read_limit(1).bytes_per_second == 1e9  # from the folder
    assert read_limit(1, refresh=True).bytes_per_second == 2e9
    assert read_limit(2).bytes_per_second == 3e9
    for file in tmp_path.rglob("*.json"):
        file.write_text("{damaged")
    limits._measured.clear()
    assert read_limit(1).bytes_per_second == 4e9
    assert measured == [1, 1, 2, 1]


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_arrays_of_other_libraries(library):
    import importlib

    x = importlib.import_module(library).ones((40, 50))
    e = explain(x, "sum", axis=0, repeats=2)
    assert e.title == "sum of float32 (40, 50) over axis 0"
    assert e.times.call > 0


def test_on_cuda_without_a_gpu():
    pytest.importorskip("cuda.bindings.nvrtc")
    e = explain(ArraySpec((1000, 1000), "float32"), "sum", axis=1, target="cuda -arch=sm_80")
    assert (e.language, e.limit, e.times) == ("CUDA C++", None, None)
    (first,) = e.resources
    assert first.registers > 0
    assert first.occupancy.blocks > 0
    assert "registers" in str(e)
    assert "__global__" in e.source


def test_other_targets():
    spec = ArraySpec((100, 100), "float32")
    assert "#include" in explain(spec, "sum", axis=1, target="c").source
    assert "primfn" in explain(spec, "sum", axis=1, target="sim").source


@pytest.mark.parametrize(
    ("call", "error", "code"),
    [
        (lambda: ArraySpec((3, -1)), ShapeError, "A421"),
        (lambda: ArraySpec((3, 4), strides=(8,)), ShapeError, "A421"),
        (lambda: ArraySpec((3.5,)), ShapeError, "A421"),
        (lambda: ArraySpec((1 << 40, 1 << 40)), ShapeError, "A421"),
        (lambda: ArraySpec((3,), order="X"), ArgumentError, "A422"),
        (lambda: ArraySpec((1 << 50,)).allocate(1), ResourceError, "A423"),
        (lambda: explain(np.ones(3), "sum", repeats=0), ArgumentError, "A424"),
        (lambda: explain(np.ones(3), ["sum"], correction=1), KeywordError, "A340"),
        (lambda: explain(np.ones(3), "nothing"), ArgumentError, "A305"),
    ],
)
def test_refused(call, error, code):
    with pytest.raises(error) as caught:
        call()
    assert caught.value.code == code


def test_bfloat16_is_no_integer_of_16_bits(monkeypatch):
    # In a process of its own: in this one, another test has imported ml_dtypes.
    program = "import axisfold as af; print(af.ArraySpec((100,), 'bfloat16').dtype)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert run.stdout == "bfloat16\n", run.stderr
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # as if it were not installed
    with pytest.raises(DTypeError) as caught:
        ArraySpec((100,), "bfloat16")
    assert caught.value.code == "A425"


def test_an_allocated_array_has_the_layout():
    for strides in ((-32, 8), (8, 24), (0, 8), (100, -16)):
        spec = ArraySpec((3, 2), "float32", strides)
        array = spec.allocate(1)
        assert array.strides == strides
        assert array.shape == (3, 2)
        assert (array == 1).all()


def test_a_notebook_sees_the_loops():
    from html.parser import HTMLParser

    e = explain(ArraySpec((999, 1000), "float32"), "sum", axis=0)
    page = e._repr_html_()
    open_tags = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag != "br":
                open_tags.append(tag)

        def handle_endtag(self, tag):
            assert open_tags.pop() == tag

        def handle_startendtag(self, tag, attrs):
            pass

    Reader().feed(page)
    assert open_tags == []
    for part in ("for k0", "shared by threads", "lanes of a vector", "into state", "<details>"):
        assert part in page


def test_the_picture_has_every_loop_inside_its_box():
    import xml.etree.ElementTree as ET

    from axisfold.api.loop_svg import draw_loops
    from axisfold.ir.stmt import For
    from axisfold.ir.walk import post_order

    for target in ("llvm", "cuda -arch=sm_90"):
        e = explain(ArraySpec((999, 1000), "float32"), "argmax", axis=1, target=target)
        picture = ET.fromstring(draw_loops(e.loops))
        ground, *boxes = picture.findall("{*}rect")
        assert len(boxes) == sum(isinstance(n, For) for n in post_order(e.loops.body))
        for text in picture.findall("{*}text"):
            assert 0 < float(text.get("x")) < float(ground.get("width"))
            assert 0 < float(text.get("y")) < float(ground.get("height"))
        kinds = {box.get("class") for box in boxes}
        assert ("af-bound" in kinds) == (target != "llvm")


def test_names_are_escaped():
    evil = axisfold.Reducer(
        "<script>alert(1)</script>",
        state={"s": "acc"},
        identity={"s": 0},
        lift=lambda x: {"s": x},
        combine=lambda a, b: {"s": a.s + b.s},
        finalize=lambda a: a.s,
    )
    page = explain(ArraySpec((9, 9)), evil, axis=0)._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
