#!/bin/sh
# Write the files of a release besides its programs into a folder: scripts/release-files.sh bin/release
# These are the manual pages, the completions for four shells, and the files of the image.
set -eu
cd "$(dirname "$0")/.."
to=$1
rm -rf "$to"
mkdir -p "$to/man" "$to/completion" "$to/image/etc/ssl/certs" "$to/image/writable/data" "$to/image/writable/tmp"
CGO_ENABLED=0 go build -trimpath -tags lambda.norpc,arrow_json_stdlib -ldflags '-s -w' -o "$to/tiltyard" ./local/server
"$to/tiltyard" man "$to/man"
"$to/tiltyard" completion bash >"$to/completion/tiltyard.bash"
"$to/tiltyard" completion zsh >"$to/completion/_tiltyard"
"$to/tiltyard" completion fish >"$to/completion/tiltyard.fish"
"$to/tiltyard" completion powershell >"$to/completion/tiltyard.ps1"
rm "$to/tiltyard"
cp /etc/ssl/certs/ca-certificates.crt "$to/image/etc/ssl/certs/"
