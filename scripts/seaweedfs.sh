#!/bin/sh
# Build SeaweedFS, pinned, into .tools once, and print the path of its program. The build has its servers over local
# files, without its other commands, databases, queues and key stores, which take half of the time. If another run is
# building it already, this one waits for that run.
set -eu
cd "$(dirname "$0")/.."
version=v0.0.0-20261109003541-7506e5f91cd6 # 4.53
server=$PWD/.tools/seaweedfs-$version
building=$server.building # a folder with the id of the process that builds
build=
mkdir -p .tools

# shorten leaves the command server, and of the drivers those of its defaults.
shorten() (
	cd command
	for file in *.go; do
		case $file in
		command.go | imports.go | server.go | master.go | volume.go | filer.go | s3.go | iam.go | sftp.go | webdav.go) ;;
		autocomplete.go | fuse.go | mq_agent.go | mq_broker.go | scaffold.go | shutdown.go | version.go) ;;
		fuse_notsupported.go) sed 1d "$file" >new && mv new "$file" ;; # without its constraint on systems
		*) rm "$file" ;;
		esac
	done
	awk '/^var Commands/ { print; print "\tcmdServer,"; list = 1 } /^}/ { list = 0 } !list' command.go >new && mv new command.go
	cd ..
	rm s3api/kms_azure.go
	drivers='_ ".*/weed/(filer/|notification/|kms/|remote_storage/|replication/|credential/postgres")'
	for file in command/imports.go command/filer.go command/iam.go server/filer_server.go s3api/auth_credentials.go; do
		awk -v drivers="$drivers" '$0 !~ drivers || /filer\/leveldb[23]"/' "$file" >new && mv new "$file"
	done
)

while [ ! -x "$server" ]; do
	if mkdir "$building" 2>/dev/null; then
		echo $$ >"$building/pid"
		trap 'exit 1' INT TERM
		trap 'kill $build 2>/dev/null || :; rm -rf "$building"' EXIT
		echo "building SeaweedFS $version (once; some minutes)" >&2
		# Its go.mod replaces a module, which go install refuses. Built in a folder of its own, it is the main module.
		source=$(go mod download -json "github.com/seaweedfs/seaweedfs@$version" | sed -n 's/^.*"Dir": "\(.*\)",$/\1/p')
		mkdir "$building/source"
		cp -R "$source/go.mod" "$source/go.sum" "$source/telemetry" "$source/weed" "$building/source"
		chmod -R u+w "$building/source"
		(cd "$building/source/weed" && shorten)
		GOFLAGS=-trimpath go build -C "$building/source" -mod=readonly -buildvcs=false -ldflags='-s -w' -o "$building/weed" ./weed >&2 &
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
