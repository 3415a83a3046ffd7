# SPDX-License-Identifier: Apache-2.0
"""Under NVRTC, CUDA's own 16-bit floats are element types when their headers come first."""

import io

import numpy as np
import pytest

pytestmark = pytest.mark.gpu

SOURCE = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <axisfold/axisfold.cuh>
using namespace axisfold;

extern "C" __global__ void halves(const __half* x, const __nv_bfloat16* y, __half* half,
                                  __nv_bfloat16* brain) {
  __half read[1];
  kps::ReadData<__half, 1, 1, true>(read, x, blockDim.x);
  const __half top = block_reduce(read[0], kps::MaxFunctor<__half>{});
  const __nv_bfloat16 bottom = block_reduce(y[threadIdx.x], minimum<__nv_bfloat16>{});
  const float sum = block_reduce(static_cast<accumulator_t<__half>>(read[0]), plus<float>{});
  if (threadIdx.x == 0) {
    half[0] = top;
    half[1] = kps::DivideFunctor<__half>(4)(static_cast<__half>(sum));
    half[2] = kps::MaxFunctor<__half>{}.initial();
    brain[0] = bottom;
    brain[1] = kps::MinFunctor<__nv_bfloat16>{}.initial();
  }
}
"""


def test_halves_of_cuda(machine) -> None:
    from cuda.core import Program, ProgramOptions
    from header_support.paths import INCLUDE

    pathfinder = pytest.importorskip("cuda.pathfinder")
    toolkit = pathfinder.find_nvidia_header_directory("cudart")
    if toolkit is None:
        pytest.skip("the CUDA headers are not installed")
    folders = [str(INCLUDE), toolkit, f"{toolkit}/cccl"]
    options = ProgramOptions(arch=machine.arch, std="c++17", include_path=folders)
    log = io.StringIO()
    code = Program(SOURCE, "c++", options).compile("cubin", logs=log)
    assert log.getvalue().strip("\0 \n") == ""

    x = np.arange(-50, 50, dtype="f2")
    x[7] = 3.5
    y = (np.arange(100, dtype="f4") - 20).view("u4") >> 16  # exact in bfloat16
    half, brain = np.zeros(3, "f2"), np.zeros(2, "u2")
    machine.launch_code(code, "halves", 1, 100, x, y.astype("u2"), half, brain)
    assert half.tolist() == [49, x.astype("f4").sum() / 4, -np.inf]
    assert (brain.astype("u4") << 16).view("f4").tolist() == [-20, np.inf]
