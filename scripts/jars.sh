#!/bin/sh
# Print a folder with the jars of a pom.xml and all their dependencies: scripts/jars.sh local/clients/java
#
# Maven copies them into .tools, once.
set -eu
cd "$(dirname "$0")/.."
pom=$1/pom.xml
mkdir -p .tools
jars=$(cd .tools && pwd -P)/jars-$(cksum <"$pom" | cut -d ' ' -f 1)
if [ ! -e "$jars/ready" ]; then
	for program in java mvn; do
		command -v "$program" >/dev/null || {
			echo "$program is needed for the jars of $pom" >&2
			exit 1
		}
	done
	echo "downloading the jars of $pom (once)" >&2
	rm -rf "$jars"
	mvn -B -q -f "$pom" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$jars" >&2
	touch "$jars/ready"
fi
echo "$jars"
