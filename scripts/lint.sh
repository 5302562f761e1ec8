#!/bin/sh
# Check the form of the Go code, in both modules. The script builds golangci-lint, which
# includes the checks of go vet, at the pinned version into .tools. With WITHOUT=linter only
# go vet runs.
set -eu
cd "$(dirname "$0")/.."
version=v2.15.0
linter=$PWD/.tools/golangci-lint-$version

unformatted=$(gofmt -l functions infra local shared)
if [ -n "$unformatted" ]; then
	printf 'gofmt would change:\n%s\n' "$unformatted"
	exit 1
fi
case " ${WITHOUT:-} " in *" linter "*)
	echo '*** WITHOUT=linter: only go vet checks the code ***'
	go vet ./...
	(cd infra && go vet ./...)
	exit
	;;
esac
if [ ! -x "$linter" ]; then
	echo "building golangci-lint $version (once; takes a few minutes)"
	GOBIN=$PWD/.tools GOFLAGS= go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version" || {
		echo 'golangci-lint could not be installed; WITHOUT=linter goes without it'
		exit 1
	}
	mv .tools/golangci-lint "$linter"
fi
"$linter" run --allow-parallel-runners ./...
(cd infra && "$linter" run --allow-parallel-runners ./...)
