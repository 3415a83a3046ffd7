# SPDX-License-Identifier: Apache-2.0
"""Reductions that went wrong in public: one table of cases, which all backends run."""

from public_cases import extremes, kinds, others, places, sums

# Every row of the table of reports.
IDS = [
    "B001", "B003", "B005", "B006", "B008", "B010", "B011", "B013", "B015", "B016", "B018",
    "B020", "B021", "B023", "B025", "B026", "B028", "B030", "B031", "B033", "B035", "B036",
    "B038", "B040", "B041", "B043", "B045", "B046", "B048", "B050", "B051", "B053", "B055",
    "B056", "B058", "B060", "B061", "B063", "B065", "B066", "B068", "B070", "B071", "B073",
    "B075", "B076", "B078", "B080", "B081", "B083", "B085", "B086", "B088", "B090", "B091",
    "B093", "B095", "B096", "B098", "B100", "B101", "B103", "B105", "B106", "B108", "B110",
    "B111", "B113", "B115", "B116", "B118", "B120", "B121", "B123", "B125", "B126", "B128",
    "B130", "B131", "B133", "B135", "B136", "B138", "B139", "B140", "B141", "B142", "B143",
    "B144", "B145", "B146", "B147", "B148", "B149", "B150", "B151", "B152", "B153", "B154",
    "B155", "B156", "S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "V1", "V2", "V3", "V4", "V5",
    "V6",
]  # fmt: skip

REPORTS = sorted(
    (report for module in (sums, extremes, kinds, places, others) for report in module.REPORTS),
    key=lambda report: IDS.index(report.id),
)
