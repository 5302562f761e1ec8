#!/bin/sh
# Check the configuration of releases, and build the program for this machine and its bill of materials as
# a release does. The program must name the commit, and the bill must list the linked modules of go.mod.
set -eu
cd "$(dirname "$0")/.."
case " ${WITHOUT:-} " in *" goreleaser "*)
	echo '*** WITHOUT=goreleaser: releases are NOT tested ***'
	exit
	;;
esac
scripts/release.sh check
scripts/release.sh build --snapshot --clean --single-target --output dist/tiltyard
said=$(dist/tiltyard version)
case "$said" in
*"commit $(git rev-parse HEAD)"*) ;;
*)
	printf 'the program does not name the commit that it was built from:\n%s\n' "$said" >&2
	exit 1
	;;
esac
PATH=$(echo "$PWD"/.tools/release-*):$PATH
cyclonedx-gomod bin -json -std -noserial -notimestamp -output dist/tiltyard.cdx.json dist/tiltyard
for module in github.com/apache/arrow-go/v18 github.com/spf13/cobra; do
	version=$(go list -m -f '{{.Version}}' "$module")
	grep -q "pkg:golang/$module@$version" dist/tiltyard.cdx.json || {
		echo "the bill of materials lacks $module $version" >&2
		exit 1
	}
done
echo 'releases: the program names its commit, and the bill of materials its modules'
