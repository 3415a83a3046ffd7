# SPDX-License-Identifier: Apache-2.0
"""The kernels in the documentation compile, and its tables name what exists."""

import re

import pytest
from header_support.nvrtc import compile_text
from header_support.paths import INCLUDE, ROOT

pytest.importorskip("cuda.core", reason="NVRTC comes with the extra `cuda`")

PAGE = (ROOT / "docs" / "kernel-primitives.md").read_text()
BLOCKS = re.findall(r"```cuda\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_code_of_the_page_compiles(number: int) -> None:
    assert compile_text(BLOCKS[number], "sm_90")[1] == ""


def test_names_of_the_tables_exist() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    names = {
        name for row in rows for name in re.findall(r"`([A-Za-z_]\w+)[`<(]", row.split("|")[1])
    }
    headers = "\n".join(path.read_text() for path in INCLUDE.rglob("*.cuh"))
    missing = {name for name in names if not re.search(rf"\b{name}\b", headers)}
    assert missing - {"Binary", "Ternary"} == set()
    assert len(names) > 50


def test_every_file_has_a_licence_line_and_a_purpose() -> None:
    for path in INCLUDE.rglob("*.cuh"):
        lines = path.read_text().splitlines()
        assert lines[0] == "// SPDX-License-Identifier: Apache-2.0", path.name
        assert lines[1].startswith("// "), path.name
        assert len(lines) <= 400, path.name
