#!/bin/sh
# Run each fuzz target for a given time: scripts/fuzz.sh 30s
set -eu
cd "$(dirname "$0")/.."
grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' functions local shared | while IFS=: read -r file func; do
	target=${func#func }
	echo "== $target in $(dirname "$file")"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-10s}" "./$(dirname "$file")"
done
