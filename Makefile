# ROOT, ARGS, FUZZTIME, FUNCTION_ARCH and PYTHON may be set: make run ARGS='--log-level debug'

ROOT     ?= ./data
FUZZTIME ?= 10s
PYTHON   ?= python3
export PYTHON

# Everything is pure Go; only the race detector, which sets this for itself, is not.
export CGO_ENABLED := 0

# A binary carries the commit it was built from; a tree that is no repository has none.
ifneq ($(shell git rev-parse HEAD >/dev/null 2>&1 && echo yes),yes)
export GOFLAGS := $(GOFLAGS) -buildvcs=false
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test bench lint build fuzz fixtures demo clean tiltyard test-go test-e2e

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: tiltyard ## serve the tables in ./data on this machine
	@exec bin/tiltyard serve --root $(ROOT) $(ARGS)

test: lint test-go test-e2e ## lint, Go tests, and the real Python clients against the server

bench: tiltyard .venv/ready ## compare speed with native Lance and its REST adapter
	.venv/bin/python local/e2e/bench.py $(ARGS)
	.venv/bin/python local/e2e/bench_engine.py $(ARGS)

lint: ## gofmt, go vet, golangci-lint
	scripts/lint.sh

build: tiltyard ## build the server and all functions into bin/
	scripts/build-functions.sh

fuzz: ## run each fuzz target for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

fixtures: .venv/ready ## write the golden files again, by native Lance
	scripts/fixtures.sh .venv/bin/python

demo: tiltyard .venv/ready ## load, change, search and read back a real data set
	.venv/bin/python local/e2e/demo.py $(ARGS)

clean: ## remove what was built or installed here; tables stay
	rm -rf bin .tools .venv

tiltyard:
	go build -o bin/tiltyard ./local/server

test-go:
	scripts/test-go.sh

test-e2e: tiltyard .venv/ready
	.venv/bin/python -m pytest -q -p no:cacheprovider local/e2e $(ARGS)

.venv/ready: local/e2e/requirements.txt
	scripts/venv.sh .venv local/e2e/requirements.txt
	@touch $@
