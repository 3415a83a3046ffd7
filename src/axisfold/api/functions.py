# SPDX-License-Identifier: Apache-2.0
"""The named reductions as functions, one for each row of the catalogue."""

from __future__ import annotations

from axisfold.api.catalog import CATALOG
from axisfold.api.dispatch import make_function

sum = make_function(CATALOG["sum"])
prod = make_function(CATALOG["prod"])
mean = make_function(CATALOG["mean"])
var = make_function(CATALOG["var"])
std = make_function(CATALOG["std"])
min = make_function(CATALOG["min"])
max = make_function(CATALOG["max"])
argmin = make_function(CATALOG["argmin"])
argmax = make_function(CATALOG["argmax"])
any = make_function(CATALOG["any"])
all = make_function(CATALOG["all"])
count_nonzero = make_function(CATALOG["count_nonzero"])
logsumexp = make_function(CATALOG["logsumexp"])
norm = make_function(CATALOG["norm"])
