#!/usr/bin/env bash
# The figures that need an NVIDIA GPU, within five minutes. PYTHON names an interpreter with the packages of
# requirements/dev.lock and voices.txt; by default the one that `make setup` made.
set -euo pipefail
cd "$(dirname "$0")/.."
export ORT_DISABLE_TELEMETRY=1
python=${PYTHON:-.venv/bin/python}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv
PYTHONPATH=src "$python" -m koegumi prepare --device cuda
PYTHONPATH=src timeout 240 "$python" -m bench.gpu
