#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Schedules of every kind at small sizes, and every rule once, under compute-sanitizer.
#
#   tests/gpu/sanitize.sh [folder for the logs]
#
# Prints one line for each tool; docs/gpu-validation.md records them.
set -u
cd "$(dirname "$0")/../.." || exit 1
logs=${1:-/tmp}
python=${PYTHON:-python3}
export PYTHONPATH=src
# The tools find each other's compiled programs here.
export AXISFOLD_CACHE_DIR="${AXISFOLD_CACHE_DIR:-$logs/axisfold-cache}"

file=tests/gpu/programs/test_schedules.py
rules=tests/gpu/functions/test_rules.py
cases="-q -m gpu -p no:cacheprovider $file::test_small $file::test_kernels
  $rules::test_once $rules::test_ordered_once $rules::test_softmax_once"
tools="memcheck racecheck synccheck"
status=0

for tool in $tools; do
  compute-sanitizer --tool $tool --error-exitcode 1 --report-api-errors no --print-limit 20 \
    $python -m pytest $cases >"$logs/programs-$tool.log" 2>&1 &
  eval "job_$tool=\$!"
done
for tool in $tools; do
  eval "wait \$job_$tool" || status=1
  echo "$tool: $(grep -E ' passed| failed' "$logs/programs-$tool.log" | tail -1);" \
    "$(grep -E 'SUMMARY' "$logs/programs-$tool.log" | tail -1)"
done
exit $status
