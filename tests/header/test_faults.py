# SPDX-License-Identifier: Apache-2.0
"""The host machine finds planted mistakes, and AXISFOLD_CHECK broken preconditions."""

import numpy as np
import pytest
from header_support import KERNELS, HostMachine, KernelFault

FAULTS = KERNELS / "faults.cu"
CHECKS = KERNELS / "checks.cu"

PLANTED = [
    ("divergent_barrier", 64, "divergent barrier"),
    ("two_barriers", 64, "divergent barrier"),
    ("early_return", 64, "divergent barrier"),
    ("absent_lane", 20, "names lane 20, which the block does not have"),
    ("lane_elsewhere", 32, "divergent shuffle"),
    ("returned_lane", 32, "names lane 31, which has returned"),
    ("caller_not_named", 32, "does not name the calling lane"),
    ("reads_unnamed_lane", 32, "which the mask does not name"),
    ("different_masks", 32, "divergent shuffle"),
    ("missing_barrier", 64, "depends on the order"),
    ("out_of_bounds", 64, "a write outside of an array"),
]


@pytest.mark.parametrize(("kernel", "threads", "message"), PLANTED)
def test_planted_fault_is_found(
    machine: HostMachine, kernel: str, threads: int, message: str
) -> None:
    with pytest.raises(KernelFault) as caught:
        machine.launch(FAULTS, kernel, 1, threads, np.zeros(threads, "i4"))
    assert message in str(caught.value)


def test_the_same_shuffle_is_no_fault_in_a_whole_warp(machine: HostMachine) -> None:
    out = np.zeros(32, "i4")
    machine.launch(FAULTS, "absent_lane", 1, 32, out)
    assert out.tolist() == [*range(1, 32), 31]


def test_uninitialised_shared_memory_is_no_zero(machine: HostMachine) -> None:
    out = np.zeros(64, "f4")
    machine.launch(FAULTS, "uninitialised", 1, 64, out)
    assert np.isnan(out[0])
    assert (out[1:] == 1).all()


def test_the_textbook_tree_loses_elements(machine: HostMachine) -> None:
    out = np.zeros(64, "i4")
    machine.launch(FAULTS, "power_of_two_tree", 1, 64, out)
    assert (out == 64).all()
    lost = np.zeros(48, "i4")
    machine.launch(FAULTS, "power_of_two_tree", 1, 48, lost)
    assert lost[0] == 32


def test_divergent_cluster_barrier_is_found(machine: HostMachine) -> None:
    with pytest.raises(KernelFault, match="divergent cluster barrier"):
        machine.launch(FAULTS, "divergent_cluster", 2, 32, np.zeros(64, "i4"), cluster=2)


CHECKED = [
    ("too_many_threads", 1056, "at most 1024 threads"),
    ("missing_shared", 64, "shared memory for one value of each warp"),
    ("global_scratch", 64, "must lie in the shared memory"),
    ("mask_of_absent_lanes", 20, "names lanes that this warp does not have"),
    ("mask_without_caller", 32, "does not name the calling lane"),
    ("wrong_block_trait", (32, 2), "more dimensions than the block trait reads"),
    ("sort_of_too_many", 1, "num counts elements of the block"),
]


@pytest.mark.parametrize(("kernel", "block", "message"), CHECKED)
def test_checked_precondition_traps(
    machine: HostMachine, kernel: str, block: int | tuple[int, ...], message: str
) -> None:
    out = np.zeros(2048, "i4")
    with pytest.raises(KernelFault) as caught:
        machine.launch(CHECKS, kernel, 1, block, out, defines=["AXISFOLD_CHECK=1"])
    assert "axisfold: " in str(caught.value)
    assert message in str(caught.value)


def test_checks_are_silent_on_right_use(machine: HostMachine) -> None:
    x = np.arange(100, dtype="i4")
    first, everyone = np.zeros(1, "i4"), np.zeros(100, "i4")
    checked = ["AXISFOLD_CHECK=1"]
    machine.launch(KERNELS / "block.cu", "sum_i32", 1, 100, x, first, everyone, defines=checked)
    assert first[0] == x.sum()
    out = np.zeros(2, "f4")
    ones = np.ones(100, "f4")
    machine.launch(KERNELS / "torch.cu", "block_sum_1d", 1, 100, ones, out, defines=checked)
    assert out.tolist() == [100, 300]
