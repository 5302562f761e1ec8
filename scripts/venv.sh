#!/bin/sh
# Make a virtual environment with the given requirements: scripts/venv.sh .venv requirements.txt [data.txt]
# The packages of data.txt are installed without their dependencies.
# If the system's Python cannot install pip into a new environment, the pip outside of the environment
# installs the packages.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
echo "installing the packages of $2 into $1 (once)" >&2
# pip prints the name of each package that it downloads.
rm -rf "$1"
if "$python" -m venv "$1" >/dev/null 2>&1; then
	set -- "$2" "${3:-}" "$1/bin/python" -m pip
else
	rm -rf "$1"
	"$python" -m venv --without-pip "$1"
	set -- "$2" "${3:-}" "$python" -m pip --python "$1/bin/python"
fi
requirements=$1 data=$2
shift 2
"$@" install --progress-bar off --disable-pip-version-check -r "$requirements"
[ -z "$data" ] || "$@" install --progress-bar off --disable-pip-version-check --no-deps -r "$data"
