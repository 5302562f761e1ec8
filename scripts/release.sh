#!/bin/sh
# Make the archives, bills of materials and checksums of a release in dist/, and its image if a Docker
# engine runs: scripts/release.sh release --snapshot. The arguments are those of goreleaser. The script builds goreleaser
# and cyclonedx-gomod at the pinned versions into .tools, once.
set -eu
cd "$(dirname "$0")/.."
goreleaser=v2.15.1
cyclonedx=v1.10.0
tools=$PWD/.tools/release-$goreleaser-$cyclonedx

if [ ! -e "$tools/ready" ]; then
	echo "building goreleaser $goreleaser and cyclonedx-gomod $cyclonedx (once; takes a few minutes)" >&2
	GOBIN=$tools GOFLAGS= CGO_ENABLED=0 go install "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$cyclonedx"
	GOBIN=$tools GOFLAGS= CGO_ENABLED=0 go install "github.com/goreleaser/goreleaser/v2@$goreleaser"
	touch "$tools/ready"
fi
export PATH="$tools:$PATH" TILTYARD_IMAGE="${TILTYARD_IMAGE:-tiltyard}"
if [ "$1" = release ] && ! docker info >/dev/null 2>&1; then
	echo '*** no Docker engine runs: the image is NOT built ***' >&2
	set -- "$@" --skip=docker
fi
exec goreleaser "$@"
