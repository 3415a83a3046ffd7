# SPDX-License-Identifier: Apache-2.0
"""The catalogue: every named reduction as one row of a table.

A row gives the reducer, how elements are converted before they are folded, the dtype of the
result (NumPy's rules), and what the function's pages say.  The functions, their signatures, their
docstrings and most tests are made from the rows.
"""

from __future__ import annotations

from axisfold.api.catalog.moments import deviation, variance
from axisfold.api.catalog.parameters import PARAMETERS
from axisfold.api.catalog.row import Row
from axisfold.api.catalog.table import CATALOG, SPREADS

__all__ = ["CATALOG", "PARAMETERS", "SPREADS", "Row", "deviation", "variance"]
