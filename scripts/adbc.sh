#!/bin/sh
# Build the program of local/clients/go, with the ADBC driver for Go, into .tools once, and print its path.
set -eu
cd "$(dirname "$0")/.."
program=$PWD/.tools/adbc-$(cat local/clients/go/* | cksum | cut -d ' ' -f 1)
if [ ! -x "$program" ]; then
	mkdir -p .tools
	CGO_ENABLED=0 GOFLAGS=-trimpath go build -C local/clients/go -o "$program" . >&2
fi
echo "$program"
