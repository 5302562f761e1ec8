#!/bin/sh
# Check the form of the Go code, in both modules. golangci-lint, which has the checks of go
# vet among its own, is built at the pinned version into .tools; where it cannot be had go
# vet still counts, and this says so.
set -eu
cd "$(dirname "$0")/.."
version=v2.15.0
linter=$PWD/.tools/golangci-lint-$version

unformatted=$(gofmt -l functions infra local shared)
if [ -n "$unformatted" ]; then
	printf 'gofmt would change:\n%s\n' "$unformatted"
	exit 1
fi
if [ ! -x "$linter" ]; then
	echo "building golangci-lint $version (once; takes a few minutes)"
	if GOBIN=$PWD/.tools GOFLAGS= go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version"; then
		mv .tools/golangci-lint "$linter"
	else
		echo '**************************************************************'
		echo '*** golangci-lint could not be installed: LINT DID NOT RUN ***'
		echo '**************************************************************'
		go vet ./...
		(cd infra && go vet ./...)
		exit
	fi
fi
"$linter" run --allow-parallel-runners ./...
(cd infra && "$linter" run --allow-parallel-runners ./...)
