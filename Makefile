# ROOT, ARGS, STORES, FUZZTIME, FUNCTION_ARCH, URL, TOKEN and PYTHON may be set: make run ARGS='--log-level debug'

ROOT     ?= ./data
FUZZTIME ?= 10s
PYTHON   ?= python3
export PYTHON

# Everything is pure Go, except the race detector, which sets this variable itself.
export CGO_ENABLED := 0

# Programs contain neither build paths nor unused code (scripts/build-functions.sh). All builds use the same flags, so the
# server, the functions, the tests and the linter share one build cache.
export GOFLAGS := $(GOFLAGS) -trimpath -tags=lambda.norpc,arrow_json_stdlib

# Binaries contain the commit, except outside of a git repository.
ifneq ($(shell git rev-parse HEAD >/dev/null 2>&1 && echo yes),yes)
export GOFLAGS := $(GOFLAGS) -buildvcs=false
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help release run run-lambda docs console screenshots look check test test-all bench bench-peers bench-bulk bench-tenants bench-scale bench-functions bench-s3 load soak memory memory-indices memory-views lint build fuzz fixtures figures demo clean tiltyard test-go test-arm64 test-release test-infra test-e2e test-clients test-stores synth deploy smoke test-stack test-localstack test-stacks

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: tiltyard ## serve the tables in ./data on this machine
	@exec bin/tiltyard serve --root $(ROOT) $(ARGS)

run-lambda: build ## serve with the built functions, behind a gateway, on this machine
	@exec scripts/run-lambda.sh $(ARGS)

check: ## check the changed packages: lint, go vet, short tests; a minute
	scripts/check.sh

# The race detector, the linter, the stacks and very many cases take longer and run in test-all. WITHOUT=ministack
# also skips the contract tests of S3, DynamoDB and SQS.
test: export WITHOUT := race $(WITHOUT)
test: tiltyard .venv/ready ## run the Go tests, and the real clients against the server; some minutes
	scripts/test-go.sh -short
	E2E_TARGET=embedded E2E_BINARY=$(CURDIR)/bin/tiltyard scripts/test-e2e.sh --brief

# Only make test-e2e runs all engine cases against the server, and only make test-go simulates more
# worlds. The build of SeaweedFS runs at low priority beside the other checks. The stores are tested alone at the end,
# because beside other work their servers lose races that they should win.
test-all: export E2E_MANY = 11
test-all: export SIMULATION = -short
test-all: ## run all checks: also lint, races, the functions, other clients, stores and the stacks; an hour
	scripts/beside.sh 'nice -n 19 scripts/seaweedfs.sh || :' $(MAKE) docs lint test-go test-arm64 test-infra test-e2e test-clients test-stacks
	$(MAKE) test-stores

bench: tiltyard .venv/ready ## compare speed with native Lance and its REST adapter
	env PYTHONPATH=local/e2e/support .venv/bin/python local/e2e/bench/bench.py $(ARGS)
	env PYTHONPATH=local/e2e/support .venv/bin/python local/e2e/bench/bench_engine.py $(ARGS)

bench-peers: tiltyard .venv-peers/ready ## compare searches with LanceDB, pgvector, FAISS and others: ARGS='--sizes 100000x128,1000000x128'
	env E2E_BINARY=$(CURDIR)/bin/tiltyard PYTHONPATH=local/e2e/support .venv-peers/bin/python local/e2e/bench/bench_peers.py $(ARGS)

bench-bulk: tiltyard .venv-peers/ready ## create and index ten million vectors, beside LanceDB: ARGS='--rows 1000000 --kinds IVF_PQ'
	env E2E_BINARY=$(CURDIR)/bin/tiltyard PYTHONPATH=local/e2e/support .venv-peers/bin/python local/e2e/bench/bench_bulk.py $(ARGS)

bench-tenants: tiltyard .venv/ready ## what a tenant beyond its quota costs another one
	env E2E_BINARY=$(CURDIR)/bin/tiltyard PYTHONPATH=local/e2e/support .venv/bin/python local/e2e/bench/bench_tenants.py $(ARGS)

bench-scale: build .venv/ready ## large queries by eight functions over a bucket 20 ms away: ARGS='--rows 100000000 --documents 10000000'
	go build -ldflags '-s -w' -o bin/bucket ./local/standins/bucket
	scripts/ministack.sh env E2E_BINARY=$(CURDIR)/bin/tiltyard PYTHONPATH=local/e2e/support .venv/bin/python local/e2e/bench/bench_scale.py $(ARGS)

bench-functions: build ## measure cold starts and calls of the built functions
	scripts/bench-functions.sh $(ARGS)

bench-s3: tiltyard .venv/ready ## count the S3 requests, at 20 ms each, and compare with the REST adapter
	scripts/ministack.sh env PYTHONPATH=local/e2e/support .venv/bin/python local/e2e/bench/bench_s3.py $(ARGS)

load: build .venv/ready ## count the requests of the built functions with 1,000, 10,000 and 100,000 tables (an hour)
	E2E_FUNCTIONS=$(CURDIR)/bin env PYTHONPATH=local/e2e/support .venv/bin/python local/e2e/bench/load.py $(ARGS)

soak: tiltyard .venv/ready ## a mix of 10^6 requests beside 10^5 tables, in an hour: ARGS='--minutes 3 --tables 1000'
	env E2E_BINARY=$(CURDIR)/bin/tiltyard PYTHONPATH=local/e2e/support .venv/bin/python local/e2e/bench/soak.py $(ARGS)

memory: tiltyard .venv/ready ## work on a table of 5 GB in 512 MiB (takes 10 minutes and 8 GB of disk)
	env PYTHONPATH=local/e2e/support .venv/bin/python local/e2e/bench/memory_proof.py $(ARGS)

memory-indices: tiltyard .venv/ready ## build and search indices of 10 GB in little memory (takes an hour and 25 GB of disk)
	env PYTHONPATH=local/e2e/support .venv/bin/python local/e2e/bench/index_memory_proof.py $(ARGS)

memory-views: tiltyard .venv/ready ## refresh a view and fill a column of 10,000,000 rows in 1 GiB (takes 5 minutes and 10 GB of disk)
	env PYTHONPATH=local/e2e/support .venv/bin/python local/e2e/bench/view_memory_proof.py $(ARGS)

test-clients: build ## run the clients of docs/clients against the server and the functions
	E2E_BINARY=$(CURDIR)/bin/tiltyard E2E_FUNCTIONS=$(CURDIR)/bin scripts/test-clients.sh $(ARGS)

test-stores: tiltyard .venv/ready ## run servers over versitygw and SeaweedFS on this machine, with the stock clients (builds both once): STORES=versitygw
	E2E_BINARY=$(CURDIR)/bin/tiltyard scripts/test-stores.sh $(STORES)

lint: ## gofmt, go vet, golangci-lint
	scripts/lint.sh

build: tiltyard ## build the server, all functions, and their local gateway into bin/
	scripts/build-functions.sh
	go build -ldflags '-s -w' -o bin/lambda ./local/standins/lambda

release: ## build archives for six platforms, their bills of materials, checksums and the image into dist/
	scripts/release.sh release --snapshot --clean $(ARGS)

# Both use functions for the cheaper architecture, unless FUNCTION_ARCH is set.
synth deploy: export FUNCTION_ARCH := $(or $(FUNCTION_ARCH),arm64)

synth: ## make the AWS templates, without an account: ARGS='-c issuer=… -c audience=… -c jwks=…'
	scripts/build-functions.sh
	scripts/cdk.sh synth -q -c architecture=$(FUNCTION_ARCH) $(ARGS)

deploy: ## deploy the service into an AWS account: the ARGS of synth
	scripts/quota.sh $(ARGS)
	scripts/build-functions.sh
	scripts/cdk.sh deploy --all -c architecture=$(FUNCTION_ARCH) $(ARGS)

smoke: ## check that a deployment works: URL=https://… TOKEN=…
	@$(PYTHON) local/e2e/smoke.py $(URL) $(TOKEN)

test-stack: build .venv/ready ## deploy into MiniStack on this machine and run the acceptance suite there
	scripts/test-stack.sh

test-localstack: build .venv/ready ## deploy into LocalStack on this machine and run a part of it there
	scripts/test-localstack.sh

test-stacks: build .venv/ready ## deploy into both, and run the tests of each operation and each client there
	scripts/test-stacks.sh

fuzz: ## run each fuzz target for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

fixtures: .venv/ready ## write the golden files again, with native Lance
	scripts/fixtures.sh .venv/bin/python

figures: ## print figures of the source tree and their targets
	@go run ./local/tools/figures

demo: tiltyard .venv/ready ## load, change, search and read back a real data set
	env PYTHONPATH=local/e2e/support .venv/bin/python local/e2e/demo.py $(ARGS)

docs: .venv-docs/ready ## build the site of docs in dist/docs; ARGS=--serve shows it while it is edited
	scripts/docs.sh $(ARGS)

console: ## make the script of the console from shared/http/console/source (needs Node)
	scripts/console.sh

look: tiltyard .venv/ready ## take the small pictures with which the look of the console is compared again
	LOOK=renew E2E_TARGET=embedded E2E_BINARY=$(CURDIR)/bin/tiltyard scripts/test-e2e.sh local/e2e/server/test_console_look.py

screenshots: tiltyard .venv/ready ## take the pictures of the pages in docs/console again
	SCREENSHOTS=$(CURDIR)/docs/console E2E_TARGET=embedded E2E_BINARY=$(CURDIR)/bin/tiltyard scripts/test-e2e.sh local/e2e/server/test_console.py local/e2e/server/test_api_page.py

clean: ## remove build results and installed tools; tables stay
	rm -rf bin dist .tools .venv .venv-docs .venv-peers

tiltyard:
	@[ -e bin/tiltyard ] || echo 'compiling the server and all that it imports (a minute or two when nothing of it is compiled yet)'
	go build -ldflags '-s -w' -o bin/tiltyard ./local/server

test-go:
	scripts/test-go.sh

# Builds goreleaser once, which takes three minutes.
test-release:
	scripts/test-release.sh

test-arm64:
	scripts/test-arm64.sh

# At each start the CDK warns that it no longer supports Node 20, but it works.
test-infra:
	scripts/test-infra.sh

test-e2e: build .venv/ready
	E2E_BINARY=$(CURDIR)/bin/tiltyard E2E_FUNCTIONS=$(CURDIR)/bin scripts/test-e2e.sh $(ARGS)

.venv/ready: local/e2e/requirements.txt local/e2e/data.txt
	scripts/venv.sh .venv local/e2e/requirements.txt local/e2e/data.txt
	@touch $@

.venv-docs/ready: scripts/docs.txt
	scripts/venv.sh .venv-docs $<
	@touch $@

# hnswlib is compiled when it is installed. Without a compiler, or a header that it needs, the others are compared.
.venv-peers/ready: local/e2e/peers.txt
	scripts/venv.sh .venv-peers $< || { \
		echo 'peers: some package was not installed; once more without hnswlib, which needs a compiler' >&2; \
		mkdir -p .tools && grep -v '^hnswlib' $< >.tools/peers.txt && scripts/venv.sh .venv-peers .tools/peers.txt; }
	@touch $@
