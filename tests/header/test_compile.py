# SPDX-License-Identifier: Apache-2.0
"""NVRTC compiles every kernel without a word, and explains what it refuses."""

from pathlib import Path

import pytest
from header_support.nvrtc import compile_file, compile_text
from header_support.paths import EXAMPLES, INCLUDE, KERNELS

pytest.importorskip("cuda.core", reason="NVRTC comes with the extra `cuda`")

# Planted faults are for the host machine alone.
SOURCES = sorted(p for p in KERNELS.glob("*.cu") if p.name != "faults.cu")
HEADERS = sorted(INCLUDE.rglob("*.cuh"))


def architectures(path: Path) -> list[str]:
    oldest = ["sm_80"] if "cluster" not in path.name else []
    return [*oldest, "sm_90", "sm_120"]


@pytest.mark.parametrize(
    ("path", "arch"),
    [pytest.param(p, arch, id=f"{p.name}-{arch}") for p in SOURCES for arch in architectures(p)],
)
def test_kernels_compile_without_warnings(path: Path, arch: str) -> None:
    code, log = compile_file(path, arch, is_quick=arch != "sm_90")
    assert log == ""
    assert len(code.code) > 1000


@pytest.mark.parametrize("name", ["warp.cu", "block.cu", "torch.cu", "kps_compute.cu"])
def test_kernels_compile_with_checks(name: str) -> None:
    assert compile_file(KERNELS / name, "sm_90", ("AXISFOLD_CHECK=1",), is_quick=True)[1] == ""


def test_oldest_architecture() -> None:
    assert compile_file(KERNELS / "block.cu", "sm_75", is_quick=True)[1] == ""


@pytest.mark.parametrize("path", HEADERS, ids=lambda p: p.name)
def test_every_header_stands_alone(path: Path) -> None:
    name = path.relative_to(INCLUDE)
    text = f'#include <{name}>\nextern "C" __global__ void empty() {{}}\n'
    assert compile_text(text, "sm_90")[1] == ""


def test_macros_of_the_prelude_end_with_it() -> None:
    text = """
    #include <axisfold/kps_prelude.cuh>
    #include <axisfold/kps_prelude_end.cuh>
    #include <axisfold/kps_prelude.cuh>
    #if !defined(block_size) || !defined(REDUCE_VEC_num) || !defined(HOSTDEVICE)
    #error "a second text has no prelude"
    #endif
    #include <axisfold/kps_prelude_end.cuh>
    #if defined(block_size) || defined(REDUCE_VEC_SIZE) || defined(HOSTDEVICE)
    #error "a macro of the prelude is left"
    #endif
    """
    assert compile_text(text, "sm_90")[1] == ""


REFUSED = [
    ("warp_reduce<0>(1, plus<int>{})", "Width must be between 1 and 32 lanes."),
    ("warp_reduce<33>(1, plus<int>{})", "Width must be between 1 and 32 lanes."),
    ("block_reduce(1, kps::SubFunctor<int>{})", "use Order::preserved."),
    ("grid_fold(x, 1, same{}, kps::SubFunctor<int>{})", "the operator must commute."),
    ("grid_fold<99>(x, 1, same{}, plus<int>{})", "Unroll must be between 1 and 16"),
    ("torch::WarpReduce(1, kps::SubFunctor<int>{})", "the operator must commute."),
    ("warp_reduce(deep{}, plus<deep>{})", "must be trivially copyable"),
    ("bitwise_and<float>{}(1, 2)", "bitwise_and combines integers only."),
    ("tuple<>{}", "at least one component."),
    ("(kps::ReadData<int, 1, 2, true>(x, x, 1))", "NY must be 1."),
    ("(kps::ReadData<int, int, 0, 1>(x, x, 1, 1, 1, 1))", "at least 1 each."),
    (
        "(kps::ReadData<int, 1, 1, true, true>(x, x, 1))",
        "IsBoundary is the last template argument.",
    ),
    ("(kps::ReadData<int, 1, 1, 1, 1, true>(x, x, 1))", "Too many template arguments"),
    ("(kps::ReadData<int, 1, 1, nullptr>(x, x, 1))", "IsBoundary (bool) or, in the older list"),
    ("(vector<int, 3>{})", "needs a power of two of elements"),
    ("limits<deep>::max()", "knows bool, integers and floating types only."),
    ("(moments<int>{})", "moments needs a floating type"),
    (
        "(kps::Reduce<int, 1, 1, kps::SubFunctor<int>, kps::details::kGlobalMode>(x, x, {}, true))",
        "must be associative and commutative.",
    ),
]


@pytest.mark.parametrize(("expression", "sentence"), REFUSED)
def test_illegal_arguments_get_a_sentence(expression: str, sentence: str) -> None:
    text = f"""
    #include <axisfold/axisfold.cuh>
    using namespace axisfold;
    struct same {{ __device__ int operator()(int a) const {{ return a; }} }};
    struct deep {{ int a; __device__ deep() {{}} __device__ deep(const deep& b) : a(b.a) {{}} }};
    __device__ deep operator+(deep a, deep) {{ return a; }}
    extern "C" __global__ void wrong(int* x) {{ static_cast<void>({expression}); }}
    """
    with pytest.raises(Exception, match="compilation log") as caught:
        compile_text(text, "sm_90")
    assert sentence in str(caught.value)


def test_clusters_need_a_newer_architecture() -> None:
    with pytest.raises(Exception, match="compilation log") as caught:
        compile_file(KERNELS / "cluster.cu", "sm_80")
    assert "cluster_reduce needs sm_90 or newer" in str(caught.value)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.cu")), ids=lambda p: p.name)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_examples_compile_without_warnings(path: Path, arch: str) -> None:
    assert compile_file(path, arch)[1] == ""
