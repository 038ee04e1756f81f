# Needs Python 3.11 or newer and make; the rest is installed into .venv from the locks.
PYTHON ?= python3
NODES ?= 20
CASES ?= 2000
PAIRS ?= 100000
PODS ?= 3000
ROUNDS ?= 50
EDITS ?= 1000
SEEDS ?= 1
LEASE ?= 3s 2s 500ms
MINUTES ?= 30
TROUBLES ?= 16
PLAN ?= full
INPUTS ?= 100000
PROCESSES ?= 1000
PARTS ?=
SETS ?=
BASE ?=
# Of the tests: the same in every run, so that one fails because of a change; `default` shuffles.
ORDER ?= 1
# Processes that share the tests; `auto` means one for each core, and one more for `make test`,
# whose tests often wait for a server.
WORKERS ?= auto

# Bytecode is kept even if the environment says otherwise: without it, each process of a run compiles
# the package again, and each worker rewrites the assertions of all tests (9 s).
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
INSTALLED := .venv/installed
READY := .venv/ready
PIP_COMPILE := $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras \
	--no-header --no-emit-options --no-emit-index-url --no-emit-find-links --no-emit-trusted-host

PYTEST = $(BIN)/pytest --quiet --dist=worksteal --randomly-seed=$(ORDER) --numprocesses
ALL_WORKERS = $(if $(filter auto,$(WORKERS)),$$(( $$(nproc) + 1 )),$(WORKERS))

CHECKS := check-format check-lint check-types check-imports check-spelling

.PHONY: help demo quick test run-tests proof check $(CHECKS) format image components browser codemirror pictures conformance cel devices extenders \
	backlog kernels proof-tests fresh kubernetes-e2e fuzz fuzz-commands cluster cluster-down chaos soak bench plot same-python \
	update-locks clean

help:
	@echo "make demo          watch policies place pods on an embedded cluster"
	@echo "make quick         checks and the short tests, which need no Go"
	@echo "make test          everything that guards a release, against the real components"
	@echo "                   (both with WORKERS=$(WORKERS) processes, in an order of tests by"
	@echo "                   ORDER=$(ORDER): a number, or default for another every time)"
	@echo "make proof         the long checks (hours) in PARTS='...'; parts that passed do not run again"
	@echo "make check         format, lint, types, import contracts, spelling"
	@echo "make image         build the container image with docker, podman, buildah or nerdctl; also with"
	@echo "                   IMAGE=name:tag, BUILDER=program, LOCK=tracing or karmada, PYTHON_IMAGE=base"
	@echo "make cluster       start a real control plane, kube-scheduler and NODES=$(NODES) fake nodes"
	@echo "make cluster-down  stop it"
	@echo "make conformance   decide CASES=$(CASES) generated clusters as kube-scheduler does; also with"
	@echo "                   FAMILIES=sequences CASES=200 (placements one after the other),"
	@echo "                   FAMILIES=preemption CASES=2000 (nominated nodes and victims), SEED=n"
	@echo "make cel           evaluate PAIRS=$(PAIRS) generated device selectors as kube-scheduler does"
	@echo "make devices       allocate devices in CASES=$(CASES) generated cases as kube-scheduler does"
	@echo "make extenders     ask scripted HTTP extenders in CASES=$(CASES) cases as kube-scheduler does"
	@echo "make backlog       real clusters with PODS=$(PODS) pending pods, and nodes for them"
	@echo "make proof-tests   the long tests that make test leaves out, as the builds of the image"
	@echo "make kernels       short tests and CASES=$(CASES) generated clusters with kernels that check"
	@echo "                   the bounds of arrays, then with interpreted ones"
	@echo "make kubernetes-e2e  Kubernetes' own e2e tests with policysched and with kube-scheduler,"
	@echo "                   all SETS or SETS=scheduling,apps (its build takes a quarter of an hour, once)"
	@echo "make fresh         the tests that draw their cases, with SEEDS=$(SEEDS) fresh seeds or from SEED=n"
	@echo "make fuzz          property tests with fresh examples, ROUNDS=$(ROUNDS) times"
	@echo "make fuzz-commands INPUTS=$(INPUTS) damaged files and flags through the commands, the first"
	@echo "                   PROCESSES=$(PROCESSES) of them as processes, too; SEED=n repeats a run"
	@echo "make chaos         kill, freeze and end the leader ROUNDS=$(ROUNDS) times (LEASE='$(LEASE)')"
	@echo "                   and edit policies EDITS=$(EDITS) times while pods arrive"
	@echo "                   and take away, damage and slow down the API server TROUBLES=$(TROUBLES) times"
	@echo "make soak          memory over MINUTES=$(MINUTES) of pods and nodes that come and go"
	@echo "make bench         compare with kube-scheduler on the same API server: PLAN=$(PLAN) (hours)"
	@echo "                   or PLAN=quick (minutes); results in .bench; goes on where it was stopped,"
	@echo "                   with FRESH=1 from the beginning; with BASE=FOLDER also policysched of"
	@echo "                   another checkout, which has an environment of its own"
	@echo "make plot          measure and draw docs/throughput.svg (about an hour)"
	@echo "make components    build the real components that tests need (a quarter of an hour, once)"
	@echo "make browser       fetch a Chromium for the tests of the page, if there is none"
	@echo "make codemirror    build the text editor of the page from editors/page/package-lock.json"
	@echo "make pictures      draw the pictures of README.md and docs/page.md again"
	@echo "make update-locks  pin the newest dependencies"
	@echo "make clean         remove the virtual environment and the caches of the tools"

demo: $(READY)
	@$(BIN)/policysched demo

quick: check
	$(PYTEST)=$(WORKERS) --hypothesis-profile=quick -m "not e2e and not slow and not drawn"

# The checks run beside the tests: mypy uses one core for a minute.
test: components browser
	@$(MAKE) --no-print-directory --jobs check run-tests || { \
		echo "make test: failed; \`***\` marks each failure above" >&2; exit 1; }

run-tests:
	unset MAKEFLAGS; $(PYTEST)=$(ALL_WORKERS)

proof-tests: components browser
	$(PYTEST)=$(WORKERS) -m proof

proof: components browser
	@$(BIN)/python -m tests.proof $(if $(FRESH),--fresh) $(PARTS)

check: $(READY)
	@$(MAKE) --no-print-directory --jobs --output-sync=target $(CHECKS)

check-format:
	$(BIN)/ruff format --check .

check-lint:
	$(BIN)/ruff check .

# What was checked is kept for all checkouts, beside the built components: it takes a minute.
check-types:
	$(BIN)/mypy --cache-dir=$(or $(POLICYSCHED_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/policysched)/mypy

check-imports:
	$(BIN)/lint-imports

check-spelling:
	$(BIN)/codespell

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The variables of the command line are in the environment of the script.
image:
	@./build_image.sh

components: $(READY)
	@$(BIN)/python -m tests.realcluster.components

browser: $(READY)
	@$(BIN)/python -m tests.realcluster.browser

codemirror:
	cd editors/page && npm ci --ignore-scripts --silent && npm run --silent build -- \
		--log-level=warning --outfile=../../policysched/serving/static/vendor/codemirror.js

pictures: browser
	@$(BIN)/python -m tests.pictures

cluster: $(READY)
	@$(BIN)/python -m tests.realcluster.cluster up --nodes $(NODES)

cluster-down: $(READY)
	@$(BIN)/python -m tests.realcluster.cluster down

conformance: components
	@$(BIN)/python -m tests.conformance --cases $(CASES) --keep-going \
		$(if $(SEED),--seed $(SEED)) $(if $(FAMILIES),--families $(FAMILIES))

cel: components
	@$(BIN)/python -m tests.cel --pairs $(PAIRS) $(if $(SEED),--seed $(SEED))

devices: components
	@$(BIN)/python -m tests.devices --cases $(CASES) $(if $(SEED),--seed $(SEED))

extenders: components
	@$(BIN)/python -m tests.conformance.extenders --cases $(CASES) $(if $(SEED),--seed $(SEED))

backlog: components
	BACKLOG_PODS=$(PODS) $(PYTEST)=$(WORKERS) tests/e2e/test_backlog.py

kernels: components
	@trap 'unset POLICYSCHED_KERNELS; $(BIN)/python build_kernels.py' EXIT; \
	trap 'exit 130' HUP INT TERM; set -e; \
	for kind in checked none; do \
		echo "kernels: $$kind"; \
		export POLICYSCHED_KERNELS=$$kind; \
		$(BIN)/python build_kernels.py; \
		$(PYTEST)=$(WORKERS) -m "not e2e and not slow and not drawn"; \
		$(BIN)/python -m tests.conformance --cases $(CASES) --keep-going; \
	done

kubernetes-e2e: components
	@$(BIN)/python -m tests.kubernetes_e2e $(if $(SETS),--sets $(SETS))

fresh: components
	@seed=$(or $(SEED),$$($(BIN)/python -c 'import random; print(random.randrange(10**6))')); \
		echo "seeds from $$seed: $(SEEDS)"; \
		CONFORMANCE_SEED=$$seed CONFORMANCE_SEEDS=$(SEEDS) $(PYTEST)=$(ALL_WORKERS) -m drawn

fuzz: $(READY)
	@$(BIN)/python -m tests.property_rounds --rounds $(ROUNDS)

fuzz-commands: $(READY)
	@$(BIN)/python -m tests.fuzzing --inputs $(INPUTS) --processes $(PROCESSES) \
		$(if $(SEED),--seed $(SEED))

chaos: components
	@$(BIN)/python -m tests.chaos.leader_failover --rounds $(ROUNDS) --lease $(LEASE) \
		$(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m tests.chaos.policy_edits --edits $(EDITS) $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m tests.chaos.outages --rounds $(TROUBLES) $(if $(SEED),--seed $(SEED))

soak: components
	@$(BIN)/python -m tests.chaos.soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

bench: $(READY)
	@$(BIN)/python -m benchmarks --plan $(PLAN) $(if $(FRESH),--fresh) $(if $(BASE),--base $(BASE))

plot: $(READY)
	@$(BIN)/python -m benchmarks --plan plot $(if $(FRESH),--fresh)
	@$(BIN)/python -m benchmarks plot --results .bench/plot.jsonl --out docs/throughput.svg

# The environment keeps the Python that it was made with.
same-python:
ifneq ($(origin PYTHON),file)
	@[ ! -e $(BIN)/python ] || [ "$$($(BIN)/python --version)" = "$$($(PYTHON) --version)" ] || { \
		echo "the Python of .venv is not \`$(PYTHON)\`, but $$($(BIN)/python --version);" \
			"run \`make clean\` first, or leave out PYTHON" >&2; exit 1; }
endif

$(INSTALLED): requirements/dev.txt pyproject.toml | same-python
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "policysched needs Python 3.11 or newer, \`$(PYTHON)\` is not;" \
			"name another with \`make PYTHON=python3.12 ...\`" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	POLICYSCHED_KERNELS=none $(BIN)/pip install --quiet --disable-pip-version-check --no-deps \
		--no-build-isolation -e .
	@touch $(INSTALLED)

$(READY): $(INSTALLED) build_kernels.py $(wildcard policysched/kernels/*.py)
	$(BIN)/python build_kernels.py
	@touch $(READY)

# Newer Pythons would pin versions that the oldest supported one cannot install.
update-locks: $(READY)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
		echo "the locks are made with Python 3.11, the oldest that is supported;" \
			"run \`make clean\`, then \`make PYTHON=python3.11 update-locks\`" >&2; exit 1; }
	$(PIP_COMPILE) --upgrade --output-file requirements/runtime.txt pyproject.toml
	$(PIP_COMPILE) --upgrade --extra dev --constraint requirements/runtime.txt \
		--output-file requirements/dev.txt pyproject.toml
	$(PIP_COMPILE) --upgrade --extra tracing --constraint requirements/dev.txt \
		--output-file requirements/tracing.txt pyproject.toml
	$(PIP_COMPILE) --upgrade --extra karmada --constraint requirements/dev.txt \
		--output-file requirements/karmada.txt pyproject.toml
	$(PIP_COMPILE) --upgrade --constraint requirements/dev.txt \
		--output-file requirements/build.txt requirements/build.in
	$(PIP_COMPILE) --upgrade --output-file requirements/compiler.txt requirements/compiler.in
	$(PIP_COMPILE) --upgrade --output-file requirements/go.txt requirements/go.in
	$(PIP_COMPILE) --upgrade --constraint requirements/dev.txt \
		--output-file requirements/browser.txt requirements/browser.in

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	rm -f policysched/kernels/*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
