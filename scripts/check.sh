#!/bin/sh
# Check the Go packages that a change touches, in about a minute: gofmt, golangci-lint (if it is built), go vet, and short
# tests. go vet also checks the packages that import them. The change is the difference to the commit BASE: by default the
# point where this branch left main, or the last commit on main itself.
set -eu
cd "$(dirname "$0")/.."
base=${BASE:-$(git merge-base HEAD main 2>/dev/null || echo HEAD)}
folders=$({ git diff --name-only --diff-filter=d "$base" -- '*.go' '*/testdata/*' && git ls-files --others --exclude-standard -- '*.go' '*/testdata/*'; } |
	grep -E '^(functions|local|shared)/' | sed -E 's,/testdata/.*,,; s,/[^/]*\.go$,,' | sort -u)
touched=
for folder in $folders; do
	ls "$folder"/*.go >/dev/null 2>&1 && touched="$touched ./$folder"
done
if [ -z "$touched" ]; then
	echo "no Go package differs from $base; BASE=HEAD~3 also checks the last three commits"
	exit
fi
echo "checking$touched"
unformatted=$(gofmt -l $touched)
if [ -n "$unformatted" ]; then
	printf 'gofmt would change:\n%s\n' "$unformatted"
	exit 1
fi
paths=$(go list $touched)
importers=$(go list -f '{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}' ./... | awk -v touched="$paths" '
	BEGIN { n = split(touched, t, "\n"); for (i = 1; i <= n; i++) is[t[i]] }
	$2 in is { print $1 }' | sort -u)
go vet $touched $importers
linter=$(find .tools -maxdepth 1 -name 'golangci-lint-*' -exec ls -t {} + 2>/dev/null | head -n 1)
if [ -n "$linter" ]; then
	"$linter" run --allow-parallel-runners $touched
else
	echo '*** golangci-lint is not built: make lint builds it once ***'
fi
go test -short $touched
go test -run 'TestImportsGoOneWay' ./shared/service/all
