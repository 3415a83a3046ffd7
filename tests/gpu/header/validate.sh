#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The device part of the header's validation: all cases, then the same under compute-sanitizer.
#
#   tests/gpu/header/validate.sh [folder for the logs]
#
# Prints one line for each run; docs/gpu-validation.md records them.
set -u
cd "$(dirname "$0")/../../.." || exit 1
logs=${1:-/tmp}
python=${PYTHON:-python3}
export PYTHONPATH=src

cases="-q -m gpu -p no:cacheprovider"
device=tests/gpu/header/test_on_device.py
status=0

# Traps and nvcc start processes of their own, so the sanitizer looks at test_on_device.py alone.
$python -m pytest $cases tests/gpu/header >"$logs/plain.log" 2>&1 || status=1
echo "plain: $(tail -1 "$logs/plain.log")"

for tool in memcheck racecheck synccheck; do
  compute-sanitizer --tool $tool --error-exitcode 1 --report-api-errors no --print-limit 20 \
    $python -m pytest $cases $device >"$logs/$tool.log" 2>&1 &
  eval "job_$tool=\$!"
done
for tool in memcheck racecheck synccheck; do
  eval "wait \$job_$tool" || status=1
  echo "$tool: $(grep -E ' passed| failed' "$logs/$tool.log" | tail -1);" \
    "$(grep -E 'SUMMARY' "$logs/$tool.log" | tail -1)"
done
exit $status
