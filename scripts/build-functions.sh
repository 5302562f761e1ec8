#!/bin/sh
# Build each folder of functions/ to bin/functions/<group>/bootstrap, for Linux and the
# architecture of this machine, or the architecture in FUNCTION_ARCH (arm64, amd64). The script fails
# if a zipped function exceeds 12 MB, because its size adds to every cold start. The functions with all
# groups may have 14.5 MB, and the one of statements, which do what most groups do, and the worker 14 MB: the worker
# contains a WebAssembly runtime (1.1 MB), and no client waits for it. The build tags omit code that no function uses: calls by net/rpc, and
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
	most=12000000
	case $group in sql | worker) most=14000000 ;; stream) most=14500000 ;; esac
	if [ "$size" -gt "$most" ]; then
		echo "functions/$group is larger than $((most / 1000)) kB" >&2
		failed=1
	fi
done
exit $failed
