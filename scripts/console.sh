#!/bin/sh
# Make the scripts of the console from their sources. With --check nothing is written, and the script fails unless the
# committed files are those that the sources make; without Node it then only prints that it could not check.
set -eu
cd "$(dirname "$0")/.."
source=shared/http/console/source
built=shared/http/console/static/console
if [ "${1:-}" = --check ] && ! command -v npm >/dev/null; then
	echo '*** no Node: it is NOT checked that the script of the console is current ***' >&2
	exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bundle() {
	scripts/npm.sh $source esbuild "$@" --bundle --minify --format=esm --target=es2022 --legal-comments=none --outdir="$work" --log-level=warning
}
bundle main=$source/main.jsx --splitting --chunk-names='[name]' --jsx=automatic --jsx-import-source=preact
bundle layout=$source/layout.js # a worker, which shares no code with the pages
if [ "${1:-}" != --check ]; then
	cp "$work"/*.js $built
	exit
fi
for file in "$work"/*.js; do
	if ! cmp -s "$file" "$built/${file##*/}"; then
		echo "$built/${file##*/} is not what $source makes: run make console"
		exit 1
	fi
done
