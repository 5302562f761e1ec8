#!/bin/sh
# Write the golden files again, by native Lance: scripts/fixtures.sh .venv/bin/python
set -eu
cd "$(dirname "$0")/.."
while read -r script place; do
	echo "$script -> $place"
	"$1" "scripts/fixtures/$script" "$place" </dev/null
done <<'TABLE'
arrowipc.py shared/arrowipc/testdata
datafile.py shared/lance/datafile/testdata/native
datafile_golden.py shared/lance/datafile/testdata/golden
manifest.py shared/lance/manifest/testdata
sqlexpr.py  shared/sqlexpr/testdata
vector.py   shared/vector/testdata/golden.json
TABLE
