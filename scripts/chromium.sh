#!/bin/sh
# Print the path of a Chromium for the tests of the console. The script uses the one in CHROMIUM, or else an
# installed one. Without either, root on Debian installs the package chromium (once).
set -eu
find() {
	for name in ${CHROMIUM:-chromium chromium-browser google-chrome}; do
		command -v "$name" && return
	done
	return 1
}
find && exit
if [ -z "${CHROMIUM:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo 'installing Chromium (once)' >&2
	{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium; } >&2 || true
	find && exit
fi
echo '*** no Chromium: the console is NOT tested in a browser (install chromium, or set CHROMIUM) ***' >&2
