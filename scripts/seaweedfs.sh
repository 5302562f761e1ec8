#!/bin/sh
# Build SeaweedFS, pinned, into .tools once, and print the path of its program. That takes eight minutes of
# processor time; when another run builds it already, this one waits for that.
set -eu
cd "$(dirname "$0")/.."
version=v0.0.0-20261109003541-7506e5f91cd6 # 4.53
server=$PWD/.tools/seaweedfs-$version
building=$server.building # a folder with the id of the process that builds
build=
mkdir -p .tools
while [ ! -x "$server" ]; do
	if mkdir "$building" 2>/dev/null; then
		echo $$ >"$building/pid"
		trap 'exit 1' INT TERM
		trap 'kill $build 2>/dev/null || :; rm -rf "$building"' EXIT
		echo "building SeaweedFS $version (once; five minutes)" >&2
		# Its go.mod replaces a module, which go install refuses. Built where it lies, it is the main module.
		source=$(go mod download -json "github.com/seaweedfs/seaweedfs@$version" | sed -n 's/^.*"Dir": "\(.*\)",$/\1/p')
		GOFLAGS=-trimpath go build -C "$source" -mod=readonly -buildvcs=false -ldflags='-s -w' -o "$building/weed" ./weed >&2 &
		build=$!
		wait "$build"
		mv "$building/weed" "$server"
	elif pid=$(cat "$building/pid" 2>/dev/null) && ! kill -0 "$pid" 2>/dev/null; then
		rm -rf "$building" # it died
	else
		sleep 1
	fi
done
echo "$server"
