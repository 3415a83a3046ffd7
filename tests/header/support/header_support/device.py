# SPDX-License-Identifier: Apache-2.0
"""Run the header cases on a CUDA device through cuda.core."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from header_support.machine import Dim, KernelFault, three
from header_support.nvrtc import compile_file


class DeviceMachine:
    """The first CUDA device. Arrays travel there and back on every launch."""

    def __init__(self) -> None:
        from cuda.core import Device

        self._device = Device()
        self._device.set_current()
        self._stream = self._device.create_stream()
        major, minor = self._device.compute_capability
        self.arch = f"sm_{major}{minor}"
        self.name: str = self._device.name

    def launch(
        self,
        source: Path,
        kernel: str,
        grid: Dim,
        block: Dim,
        *arguments: Any,
        cluster: int = 1,
        defines: Sequence[str] = (),
    ) -> None:
        """Compile a file, run one of its kernels and wait."""
        code, _ = compile_file(source, self.arch, tuple(defines))
        self.launch_code(code, kernel, grid, block, *arguments, cluster=cluster)

    def launch_code(
        self, code: Any, kernel: str, grid: Dim, block: Dim, *arguments: Any, cluster: int = 1
    ) -> None:
        """Run a kernel of object code; arrays among the arguments are updated in place."""
        from cuda.bindings import driver
        from cuda.core import LaunchConfig, launch

        function = code.get_kernel(kernel)
        # With a cluster size, cuda.core counts the grid in clusters.
        x, y, z = three(grid)
        config = LaunchConfig(
            grid=(x // cluster, y, z),
            block=three(block),
            cluster=(cluster, 1, 1) if cluster > 1 else None,
        )
        given: list[Any] = []
        buffers: list[tuple[np.ndarray, Any]] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                buffer = self._device.allocate(max(1, argument.nbytes), stream=self._stream)
                if argument.nbytes:
                    _check(
                        driver.cuMemcpyHtoD(
                            int(buffer.handle), argument.ctypes.data, argument.nbytes
                        )
                    )
                buffers.append((argument, buffer))
                given.append(buffer)
            else:
                given.append(argument)
        self._stream.sync()
        launch(self._stream, config, function, *given)
        self._stream.sync()
        for argument, buffer in buffers:
            if argument.nbytes:
                _check(
                    driver.cuMemcpyDtoH(argument.ctypes.data, int(buffer.handle), argument.nbytes)
                )
            buffer.close()


def _check(result: tuple[Any, ...]) -> None:
    if int(result[0]) != 0:
        raise KernelFault(f"the driver answered {result[0]}")
