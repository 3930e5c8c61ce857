# Two commands are enough: `make serve` and `make test`. Both set up what they need, once.
PYTHON ?= python3
PORT ?= 50021
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps
export ORT_DISABLE_TELEMETRY = 1

.PHONY: setup serve test check fault test-clients test-schema test-bark test-docker test-docker-cuda soak voice test-voice-build bench-voice bench-bark bench-concurrency bench-latency bench-multi bench-share lock clean

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
	  || { echo "Koegumi needs Python 3.11, 3.12 or 3.13; try make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.runtime: $(VENV)/.python requirements/runtime.lock requirements/build.lock requirements/voices.txt pyproject.toml
	$(PIP) -r requirements/runtime.lock -r requirements/build.lock -r requirements/voices.txt
	$(PIP) --no-build-isolation --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.lock
	$(PIP) -r requirements/dev.lock
	touch $@

## setup: make .venv and prepare the voices (once; later runs only check)
setup: $(VENV)/.runtime
	$(BIN)/koegumi prepare

## serve: real voices on 127.0.0.1:50021
serve: setup
	$(BIN)/koegumi serve --port $(PORT) $(ARGS)

## test: the default suite, a process a core; TESTARGS=-n0 for one
test: setup $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile $(TESTARGS)

## fault: real workers killed, stopped and hung, within time bounds
fault: setup $(VENV)/.dev
	$(BIN)/python -m pytest -m fault tests/fault $(TESTARGS)

# A client is installed as its lock says, in an environment that has nothing of ours.
CLIENTS := voicevox-client voicevox-py mcp-server-voicevox demo-video-generator
.venv-clients/%/.installed: requirements/clients/%.lock $(VENV)/.python
	$(BIN)/python -m venv .venv-clients/$*
	.venv-clients/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	touch $@
.PRECIOUS: .venv-clients/%/.installed

## test-clients: clients of VOICEVOX as they are, and the calls of its editor
test-clients: setup $(VENV)/.dev $(CLIENTS:%=.venv-clients/%/.installed)
	$(BIN)/python -m pytest -m clients tests/clients $(TESTARGS)

## test-schema: 5,000 generated cases and no 500; KOEGUMI_SCHEMA_CASES=500 is shorter
test-schema: setup $(VENV)/.dev .venv-clients/schemathesis/.installed
	$(BIN)/python -m pytest -m schema tests/schema $(TESTARGS)

# transformers and torch, in an environment that has nothing of ours.
.venv-bark/.installed: requirements/bark/transformers.lock requirements/bark/torch.txt $(VENV)/.python
	$(BIN)/python -m venv .venv-bark
	.venv-bark/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/bark/transformers.lock -r requirements/bark/torch.txt
	touch $@

## test-bark: our Bark against transformers', token by token; needs a CPU build of torch, see requirements/bark
test-bark: setup $(VENV)/.dev .venv-bark/.installed
	$(BIN)/python -m pytest -m bark tests/bark $(TESTARGS)

## soak: the same for longer, and memory; by hand
soak: setup $(VENV)/.dev
	KOEGUMI_FAULT_SECONDS=180 $(BIN)/python -m pytest -m "fault or soak" tests/fault $(TESTARGS)

## bench-concurrency: the tables of the README, and bench/out/concurrency.png
bench-concurrency: setup $(VENV)/.dev
	$(BIN)/python -m bench.concurrency $(ARGS)

## bench-bark: the tables of the article on Bark, with random weights; makes 5 GB in bench/out
bench-bark: setup $(VENV)/.dev
	$(BIN)/python -m bench.bark $(ARGS)

## bench-latency: a busy server's answers to /version and /audio_query
bench-latency: setup $(VENV)/.dev
	$(BIN)/python -m bench.latency $(ARGS)

## bench-share: what a crew gives of what bare processes give
bench-share: setup $(VENV)/.dev
	$(BIN)/python -m bench.share $(ARGS)

## bench-multi: one /multi_synthesis on one worker and on two
bench-multi: setup $(VENV)/.dev
	$(BIN)/python -m bench.multi $(ARGS)

## voice: models/koegumi.vvm from nothing but free parts, in about 70 minutes on two cores
.venv-voice/.installed: requirements/voice-build.txt $(VENV)/.python
	$(BIN)/python -m venv .venv-voice
	.venv-voice/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@
voice: setup .venv-voice/.installed
	BIN=$(BIN) models/build/build.sh models/out models/koegumi.vvm

## test-voice: the API's tests with the voices of models/koegumi.vvm in the place of the tests' own
VOICE ?= models/koegumi.vvm
test-voice: setup $(VENV)/.dev
	$(BIN)/koegumi voices check $(VOICE)
	KOEGUMI_TEST_VOICE=$(VOICE) $(BIN)/python -m pytest $(VOICE_TESTS:%=tests/api/test_server_%.py) \
	  -k "not formulas and not other_phonemes" $(TESTARGS)
VOICE_TESTS := about bad_input error_cases field_reports_calls field_reports_kana sounds

## test-voice-build: the same with a handful of sentences, in a few minutes; the voice is bad, and must work
test-voice-build: setup $(VENV)/.dev .venv-voice/.installed
	rm -rf models/out/tiny
	BIN=$(BIN) models/build/build.sh models/out/tiny models/out/tiny/koegumi.vvm tiny
	KOEGUMI_VOICE_FILE=models/out/tiny/koegumi.vvm $(BIN)/python -m pytest tests/voice $(TESTARGS)

## bench-voice: what the voice is worth, beside its teacher; ARGS=--check fails where a figure is not met
bench-voice: setup $(VENV)/.dev
	$(BIN)/python -m bench.voice $(ARGS)

## check: ruff, mypy and hadolint
check: $(VENV)/.dev .venv-hadolint/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	.venv-hadolint/bin/hadolint Dockerfile deploy/proxy/Dockerfile

.venv-hadolint/.installed: requirements/hadolint.lock $(VENV)/.python
	$(BIN)/python -m venv .venv-hadolint
	.venv-hadolint/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	touch $@

# What gives its command a Docker engine, where none runs; empty where one does.
DOCKER_WRAPPER ?=

## test-docker: the image for the CPU, compose and the fronts behind nginx, on a real engine
test-docker: $(VENV)/.dev
	$(DOCKER_WRAPPER) $(BIN)/python -m pytest -m docker tests/docker $(TESTARGS)

## test-docker-cuda: the image for GPUs, as far as a machine without one goes; 3 GB
test-docker-cuda: $(VENV)/.dev
	$(DOCKER_WRAPPER) $(BIN)/python -m pytest -m docker_cuda tests/docker $(TESTARGS)

## lock: write the lock files anew from pyproject.toml and the .in files (needs uv)
LOCK := uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
  --no-emit-index-url --no-emit-find-links
# Environments that have nothing of ours do without our overrides too.
lock:
	$(LOCK) pyproject.toml --output-file requirements/runtime.lock
	$(LOCK) pyproject.toml --group dev --constraint requirements/runtime.lock --output-file requirements/dev.lock
	$(LOCK) --group build --constraint requirements/dev.lock --output-file requirements/build.lock
	for file in requirements/clients/*.in requirements/bark/*.in; do \
	  $(LOCK) --no-config $$file --output-file $${file%.in}.lock || exit 1; \
	done
	$(LOCK) --constraint requirements/runtime.lock requirements/cuda.in \
	  $(foreach name,flatbuffers numpy onnxruntime-gpu packaging protobuf,--no-emit-package $(name)) \
	  --output-file requirements/cuda.lock

clean:
	rm -rf $(VENV) .venv-clients .venv-bark .venv-hadolint .venv-voice models/out .mypy_cache .ruff_cache .pytest_cache bench/out
