#!/bin/sh
# Build each folder of functions/ to bin/functions/<group>/bootstrap, for Linux and the
# architecture of this machine, or the architecture in FUNCTION_ARCH (arm64, amd64). The script fails
# if a zipped function exceeds 11.5 MB, because its size adds to every cold start. The functions with all
# groups may have 14.2 MB, the one of statements, which do what most groups do, 12.9 MB, and the worker 13.7 MB: the
# worker contains a WebAssembly runtime (1.1 MB), and no client waits for it. arm64 needs a tenth less. The build tags omit code that no function uses: calls by net/rpc, and
# a second JSON library for Arrow arrays.
set -eu
cd "$(dirname "$0")/.."
failed=0
for folder in functions/*/; do
	group=$(basename "$folder")
	GOOS=linux GOARCH=${FUNCTION_ARCH:-$(go env GOARCH)} CGO_ENABLED=0 \
		go build -trimpath -tags lambda.norpc,arrow_json_stdlib -ldflags '-s -w' -o "bin/functions/$group/bootstrap" "./functions/$group"
	size=$(gzip -c "bin/functions/$group/bootstrap" | wc -c) # a zip file compresses in the same way
	echo "functions/$group: $((size / 1000)) kB zipped"
	most=11500000
	case $group in sql) most=12900000 ;; worker) most=13700000 ;; stream) most=14200000 ;; esac
	if [ "$size" -gt "$most" ]; then
		echo "functions/$group is larger than $((most / 1000)) kB" >&2
		failed=1
	fi
done
exit $failed
