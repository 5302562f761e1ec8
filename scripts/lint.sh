#!/bin/sh
# Check the form of the Go code, in both modules, and that git keeps no program. The script builds golangci-lint, which
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
# A program that was built at the top is added by one careless git add.
git ls-files -s | awk '$1 == 100755 { print $4 }' | while read -r file; do
	if [ -f "$file" ] && [ "$(head -c 2 "$file")" != '#!' ]; then
		echo "$file is executable and no script: remove it from git"
		exit 1
	fi
done
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
