# SPDX-License-Identifier: Apache-2.0
"""What `import axisfold` offers, whatever was imported before."""

import subprocess
import sys

import pytest

import axisfold


@pytest.mark.parametrize("name", axisfold.__all__)
def test_every_public_name_exists(name):
    assert name in dir(axisfold)
    assert getattr(axisfold, name) is not None


@pytest.mark.parametrize("first", ["axisfold.lower.program", "axisfold.build", "axisfold.config"])
def test_submodules_do_not_hide_public_names(first):
    """axisfold.lower is a function, although a folder of the package has that name too."""
    script = (
        f"import axisfold, {first}; from axisfold.build import lower, build; "
        "from axisfold.config import config; "
        "assert axisfold.lower is lower and axisfold.build is build; "
        "assert axisfold.config is config; "
        "import axisfold.api.functions; assert axisfold.lower is lower"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'axisfold' has no attribute 'median'"):
        _ = axisfold.median
