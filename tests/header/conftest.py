# SPDX-License-Identifier: Apache-2.0
"""The header cases on the host: no device is needed."""

import sys
from pathlib import Path

import pytest

# The host machine needs the program headers of ELF files.
collect_ignore_glob = [] if sys.platform == "linux" else ["test_*.py"]

sys.path.insert(0, str(Path(__file__).parent / "support"))
pytest.register_assert_rewrite("header_cases")


@pytest.fixture(scope="session")
def machine():
    from header_support import HostMachine

    return HostMachine()
