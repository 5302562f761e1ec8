#!/bin/sh
# Make a virtual environment with the given requirements: scripts/venv.sh .venv requirements.txt
# On systems whose Python cannot install pip into a new environment, the pip outside of it
# installs the packages.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
echo "installing the packages of $2 into $1 (once)" >&2
# pip prints the name of each package that it downloads.
rm -rf "$1"
if "$python" -m venv "$1" >/dev/null 2>&1; then
	"$1/bin/python" -m pip install --progress-bar off --disable-pip-version-check -r "$2"
else
	rm -rf "$1"
	"$python" -m venv --without-pip "$1"
	"$python" -m pip --python "$1/bin/python" install --progress-bar off --disable-pip-version-check -r "$2"
fi
