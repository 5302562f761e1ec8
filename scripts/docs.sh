#!/bin/sh
# Build the site of docs into dist/docs, or show it while it is edited: scripts/docs.sh [--serve]
# The build fails for links that lead nowhere, for pages outside of the navigation, and if a page would load something
# from another server.
set -eu
cd "$(dirname "$0")/.."
export NO_MKDOCS_2_WARNING=1 PYTHONDONTWRITEBYTECODE=1
if [ "${1:-}" = --serve ]; then
	shift
	exec .venv-docs/bin/mkdocs serve --strict "$@"
fi
.venv-docs/bin/mkdocs build --strict --clean "$@"
# A page may link to other servers, but not load scripts, styles, fonts or pictures from them.
if grep -rnE --include='*.html' '<(script|img|iframe|source)[^>]* src="?(https?:)?//|<link[^>]* rel="?(stylesheet|preconnect|preload)"?[^>]* href="?(https?:)?//' dist/docs; then
	echo 'docs: these pages load something from another server' >&2
	exit 1
fi
echo "dist/docs/index.html has the documentation: $(find dist/docs -name '*.html' | wc -l) pages"
