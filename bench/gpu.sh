#!/usr/bin/env bash
# The figures that need an NVIDIA GPU, within five minutes: Kokoro's crew, and Bark's tables. PYTHON names an interpreter
# with the packages of requirements/dev.lock and voices.txt; by default the one that `make setup` made.
set -uo pipefail
cd "$(dirname "$0")/.."
export ORT_DISABLE_TELEMETRY=1 PYTHONPATH=src
python=${PYTHON:-.venv/bin/python}
status=0

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv || exit 1
# Neither half keeps the other from being measured.
{ "$python" -m koegumi prepare --device cuda && timeout 120 "$python" -m bench.gpu; } || status=$?
timeout 170 "$python" -m bench.bark --device cuda --rounds 1 --tokens 256 || status=$?
exit $status
