# SPDX-License-Identifier: Apache-2.0
"""Benchmarks from the terminal: ``python -m benchmarks cpu [--only …] [--json F]``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.cases import CASES
from benchmarks.cpu import Outcome, measure, prepare
from benchmarks.cpu_first import first_calls
from benchmarks.measure import machine, versions
from benchmarks.peers import NAMES, installed
from benchmarks.report import chart, page, summary, svg, table

from axisfold.config import config


def _arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("what", choices=["cpu", "gpu"])
    parser.add_argument("--only", default="", help="regular expression that names must contain")
    parser.add_argument(
        "--group", default="memory,small", help="of memory, small, curve (default: memory,small)"
    )
    parser.add_argument(
        "--peers",
        help="libraries, or none (default: all; on a GPU torch.compile, cupy, jax, cuda.compute)",
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of the large arrays")
    parser.add_argument("--threads", type=int, default=config.threads)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--no-check", action="store_true", help="do not check values")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    parser.add_argument("--markdown", type=Path, help="write a page with the table to a file")
    parser.add_argument("--svg", type=Path, help="write the chart to a file")
    return parser.parse_args(given)


def main(given: list[str]) -> int:
    """Measure and print; the status is 1 if a value of axisfold's is wrong."""
    options = _arguments(given)
    for path in (options.json, options.markdown, options.svg):
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)  # now: measuring takes minutes
    if options.what == "gpu":
        return _gpu(options, given)
    groups = options.group.split(",")
    chosen = [c for c in CASES if c.group in groups and re.search(options.only, c.name)]
    firsts = first_calls([c.name for c in chosen], options.scale, options.threads)
    prepare(options.threads)
    wanted = NAMES if options.peers is None else tuple(options.peers.split(","))
    wanted = tuple(n for n in wanted if n in NAMES)
    peers = installed(options.threads, wanted)
    about = (
        f"{machine()}; threads {options.threads}; scale {options.scale}",
        versions(tuple(peers)),
        f"{datetime.now(UTC):%Y-%m-%d}",
        f"command: `python -m benchmarks {shlex.join(given)}`",
    )
    print("\n".join(about), end="\n\n")
    outcomes: list[Outcome] = []
    for case in chosen:
        print(f"  {case.name}", file=sys.stderr, flush=True)
        outcome = measure(case, peers, options.scale, options.repeats, check=not options.no_check)
        outcome.first = firsts.get(case.name, 0.0)
        outcomes.append(outcome)
    print(table(outcomes))
    return _report(options, outcomes, about)


def _gpu(options: argparse.Namespace, given: list[str]) -> int:
    gpu = importlib.import_module("benchmarks.gpu")  # needs PyTorch and CuPy
    groups = options.group.split(",")
    outcomes, about = gpu.run(
        options, lambda name, group: group in groups and bool(re.search(options.only, name))
    )
    about += (f"{datetime.now(UTC):%Y-%m-%d}",)
    about += (f"command: `python -m benchmarks {shlex.join(given)}`",)
    return _report(options, outcomes, about, gpu.TITLE, gpu.METHOD, gpu.COUNTED)


def _report(
    options: argparse.Namespace, outcomes: list[Outcome], about: tuple[str, ...], *head: str
) -> int:
    """Print a chart and means, and write what is asked for."""
    print(chart(outcomes))
    print(summary(outcomes))
    if options.json:
        options.json.write_text(json.dumps([o.as_json() for o in outcomes], indent=1) + "\n")
    if options.svg:
        options.svg.write_text(svg(outcomes))
    if options.markdown:
        near = options.svg and os.path.relpath(options.svg, options.markdown.parent)
        options.markdown.write_text(page(outcomes, about, near or "", *head))
    return int(any("axisfold" in o.wrong for o in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
