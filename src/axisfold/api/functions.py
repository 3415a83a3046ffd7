# SPDX-License-Identifier: Apache-2.0
"""The named reductions as functions, one for each row of the catalogue."""

from __future__ import annotations

from axisfold.api.catalog import CATALOG, SPREADS
from axisfold.api.catalog.parameters import python_signature
from axisfold.api.dispatch import make_function
from axisfold.api.entries import enter

_ROWS = {**CATALOG, **SPREADS}
_functions = enter(
    {name: make_function(row) for name, row in _ROWS.items()},
    {name: python_signature(row.signature) for name, row in _ROWS.items()},
)

sum = _functions["sum"]
prod = _functions["prod"]
mean = _functions["mean"]
var = _functions["var"]
std = _functions["std"]
min = _functions["min"]
max = _functions["max"]
argmin = _functions["argmin"]
argmax = _functions["argmax"]
any = _functions["any"]
all = _functions["all"]
count_nonzero = _functions["count_nonzero"]
logsumexp = _functions["logsumexp"]
norm = _functions["norm"]
ptp = _functions["ptp"]
minmax = _functions["minmax"]
average = _functions["average"]
nansum = _functions["nansum"]
nanprod = _functions["nanprod"]
nanmean = _functions["nanmean"]
nanvar = _functions["nanvar"]
nanstd = _functions["nanstd"]
nanmin = _functions["nanmin"]
nanmax = _functions["nanmax"]
nanargmin = _functions["nanargmin"]
nanargmax = _functions["nanargmax"]
softmax = _functions["softmax"]
log_softmax = _functions["log_softmax"]
