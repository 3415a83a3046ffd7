# SPDX-License-Identifier: Apache-2.0
"""``python -m axisfold.cli``: the same as the command ``axisfold``."""

from axisfold.cli import main

if __name__ == "__main__":
    main()
