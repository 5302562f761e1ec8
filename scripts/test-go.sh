#!/bin/sh
# Run the Go tests, with the race detector where goroutines share things: it makes tests
# several times slower, and decoders have nothing to race for. It needs a C compiler.
set -eu
cd "$(dirname "$0")/.."
shared='^tiltyard/(local|shared/(catalog|engine|httpapi|auth|objectstore|lance/dataset))(/|$)'

go test $(go list ./... | grep -vE "$shared")
if command -v "$(go env CC)" >/dev/null; then
	CGO_ENABLED=1 go test -race $(go list ./... | grep -E "$shared")
else
	echo '*** no C compiler: the race detector DID NOT RUN ***'
	go test $(go list ./... | grep -E "$shared")
fi
