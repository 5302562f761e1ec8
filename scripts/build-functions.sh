#!/bin/sh
# Build each folder of functions/ to bin/functions/<group>/bootstrap, for Linux and the
# architecture of this machine or the one in FUNCTION_ARCH (arm64, amd64).
set -eu
cd "$(dirname "$0")/.."
for folder in functions/*/; do
	group=$(basename "$folder")
	GOOS=linux GOARCH=${FUNCTION_ARCH:-$(go env GOARCH)} CGO_ENABLED=0 \
		go build -trimpath -tags lambda.norpc -ldflags '-s -w' -o "bin/functions/$group/bootstrap" "./functions/$group"
done
