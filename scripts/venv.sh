#!/bin/sh
# Make a virtual environment with the given requirements: scripts/venv.sh .venv requirements.txt
# Some systems package Python without what puts pip into new environments; the pip outside
# then installs into it.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
rm -rf "$1"
if "$python" -m venv "$1" >/dev/null 2>&1; then
	"$1/bin/python" -m pip install --quiet --disable-pip-version-check -r "$2"
else
	rm -rf "$1"
	"$python" -m venv --without-pip "$1"
	"$python" -m pip --python "$1/bin/python" install --quiet --disable-pip-version-check -r "$2"
fi
