# SPDX-License-Identifier: Apache-2.0
"""AXISFOLD_CHECK traps on a device. A trap ends the context: each case is its own process."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

SUPPORT = Path(__file__).parents[2] / "header" / "support"
PROGRAM = """
import sys
sys.path.insert(0, {support!r})
import numpy as np
from header_support import KERNELS
from header_support.device import DeviceMachine
out = np.zeros(2048, "i4")
DeviceMachine().launch(
    KERNELS / "checks.cu", {kernel!r}, 1, {block!r}, out, defines=["AXISFOLD_CHECK=1"]
)
print("finished")
"""

CHECKED = [
    ("missing_shared", 64, "shared memory for one value of each warp"),
    ("global_scratch", 64, "must lie in the shared memory"),
    ("mask_of_absent_lanes", 20, "names lanes that this warp does not have"),
    ("mask_without_caller", 32, "does not name the calling lane"),
    ("wrong_block_trait", (32, 2), "more dimensions than the block trait reads"),
    ("sort_of_too_many", 1, "num counts elements of the block"),
]


@pytest.mark.parametrize(("kernel", "block", "sentence"), CHECKED)
def test_checked_precondition_traps(
    kernel: str, block: int | tuple[int, ...], sentence: str
) -> None:
    program = PROGRAM.format(support=str(SUPPORT), kernel=kernel, block=block)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "finished" not in done.stdout
    assert sentence in done.stdout, done.stdout + done.stderr


def test_checks_are_silent_on_right_use(machine) -> None:
    import numpy as np
    from header_support import KERNELS

    def launch(name, kernel, threads, *arguments):
        source = KERNELS / name
        machine.launch(source, kernel, 1, threads, *arguments, defines=["AXISFOLD_CHECK=1"])

    for threads in (20, 100, 1024):
        x = np.arange(threads, dtype="i4")
        first, everyone = np.zeros(1, "i4"), np.zeros(threads, "i4")
        launch("block.cu", "sum_i32", threads, x, first, everyone)
        assert first[0] == x.sum()
        out, ones = np.zeros(2, "f4"), np.ones(threads, "f4")
        launch("torch.cu", "block_sum_1d", threads, ones, out)
        assert out.tolist() == [threads, 3 * threads]
