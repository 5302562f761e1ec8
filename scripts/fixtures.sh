#!/bin/sh
# Write the golden files again, with native Lance: scripts/fixtures.sh .venv/bin/python
set -eu
cd "$(dirname "$0")/.."
while read -r script place; do
	echo "$script -> $place"
	"$1" "scripts/fixtures/$script" "$place" </dev/null
done <<'TABLE'
importing.py shared/work/importing/testdata/native.zip
arrowipc.py shared/arrow/arrowipc/testdata
scalarindex.py shared/index/bitmap/testdata/native.zip
scalarindex.py shared/index/bloomfilter/testdata/native.zip
scalarindex.py shared/index/btree/testdata/native.zip
scalarindex.py shared/index/fm/testdata/native.zip
scalarindex.py shared/index/fts/testdata/native.zip
scalarindex.py shared/index/labellist/testdata/native.zip
scalarindex.py shared/index/ngram/testdata/native.zip
scalarindex.py shared/index/zonemap/testdata/native.zip
datafile.py shared/lance/datafile/testdata/native
datafile_golden.py shared/lance/datafile/testdata/golden
datafile_matrix.py shared/lance/datafile/testdata/matrix
dataset.py shared/lance/dataset/testdata/native.zip
rows.py shared/lance/dataset/testdata/rows.zip
fragreuse.py shared/lance/internal/fragreuse/testdata
indices.py shared/lance/dataset/snapshot/testdata
indexed.py shared/service/all/testdata/indexed.zip
inspected.py shared/lance/inspect/testdata
legacy.py shared/lance/dataset/testdata/legacy.zip
ivf.py shared/index/ivf/testdata/native.zip
jsonb.py shared/lance/jsonb/testdata/native.json
manifest.py shared/lance/manifest/testdata
operation.py shared/lance/operation/testdata/history.zip
sql.py shared/sql
selection.py shared/engine/selection/testdata
vector.py   shared/index/vector/testdata/golden.json
remoteclient.py local/tools/openapi/testdata/remoteclient.json
fold.py shared/index/fulltext/fold.txt
stopwords.py shared/index/fulltext/stopwords
wordbreak.py shared/index/fulltext/internal/wordbreak/testdata/words.json
TABLE
# The reports of tables contain times and file names, which change with each run.
go test ./shared/lance/inspect -update
