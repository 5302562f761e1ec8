#!/bin/sh
# Check the style of the Go code, in both modules, that git contains no binaries, and that the script of the console is
# current. The script builds golangci-lint, which includes the checks of go vet, at the pinned version into .tools. The build
# has only the linters that .golangci.yml enables, which takes a third of the time. With WITHOUT=linter only go vet runs.
set -eu
cd "$(dirname "$0")/.."
version=v2.15.0
linters=$(sed -n '/^linters:/,/^  settings:/s/^    - //p' .golangci.yml)
linter=$PWD/.tools/golangci-lint-$version-$(echo "$linters" | cksum | cut -d ' ' -f 1)

unformatted=$(gofmt -l functions infra local shared)
if [ -n "$unformatted" ]; then
	printf 'gofmt would change:\n%s\n' "$unformatted"
	exit 1
fi
scripts/console.sh --check
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
# build compiles the sources with a shorter table of linters. golangci-lint refuses a configuration that enables a linter
# which is not in its table.
build() (
	source=$(go mod download -json "github.com/golangci/golangci-lint/v2@$version" | sed -n 's/^.*"Dir": "\(.*\)",$/\1/p')
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	cp -R "$source/." "$work" && chmod -R u+w "$work" || return
	table=pkg/lint/lintersdb/builder_linter.go
	awk -v linters="$linters" '
		BEGIN { n = split(linters, list, "\n"); for (i = 1; i <= n; i++) wanted[list[i]] = 1 }
		/^\t"[^"]*\/pkg\/golinters\/[^\/]*"$/ { name = $0; gsub(/.*\/|"/, "", name); if (!(name in wanted)) next }
		/linter\.NewConfig\(/ { name = $0; sub(/.*NewConfig\(/, "", name); sub(/\..*/, "", name); other = name != "golinters" && !(name in wanted) }
		/^$/ || /^\t}/ { other = 0 }
		!other' "$source/$table" >"$work/$table" &&
		GOFLAGS=-trimpath go build -C "$work" -mod=readonly -buildvcs=false -ldflags='-s -w' -o "$linter" ./cmd/golangci-lint
)
if [ ! -x "$linter" ]; then
	echo "building golangci-lint $version (once; takes two minutes)"
	mkdir -p .tools
	build || {
		echo 'golangci-lint could not be built; WITHOUT=linter goes without it'
		exit 1
	}
fi
"$linter" run --allow-parallel-runners ./...
(cd infra && "$linter" run --allow-parallel-runners ./...)
