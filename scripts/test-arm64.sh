#!/bin/sh
# Run the tests of the arm64 kernels on another machine, with qemu-aarch64 from Debian's package qemu-user.
# The arguments are those of go test.
set -eu
cd "$(dirname "$0")/.."
packages='./shared/index/vector ./shared/index/internal/quantize ./shared/index/internal/kmeans'
if [ "$(go env GOHOSTARCH)" = arm64 ]; then
	exit # they are tested with the others
fi
if ! command -v qemu-aarch64 >/dev/null; then
	echo '*** no qemu-aarch64: the kernels for arm64 are NOT tested (install qemu-user) ***' >&2
	exit
fi
echo 'the kernels for arm64, by qemu-aarch64'
GOARCH=arm64 CGO_ENABLED=0 go test -short -timeout 5m -exec qemu-aarch64 "$@" $packages
