#!/bin/sh
# Write the golden files again, each by its script: scripts/fixtures.sh .venv/bin/python
set -eu
cd "$(dirname "$0")/.."
for script in scripts/fixtures/*.py; do
	echo "== $script"
	"$1" "$script"
done
