#!/usr/bin/env python3
"""Write a script that makes a bucket with versions what it was at a time.

    aws s3api list-object-versions --bucket BUCKET --output json > versions.json
    scripts/restore-bucket.py BUCKET 2026-11-26T10:00:00Z < versions.json > commands.sh

It changes nothing itself. The script needs sh, xargs and the AWS command line. It removes no version of an object. The same
with a time before it ran makes the bucket what it was before, except for data files and manifests that nothing names then.
Data files come before the records and manifests that name them, and deletions come last.
"""

import collections
import datetime
import json
import shlex
import sys

# S3 copies at most 5 GiB by one request. Larger objects are copied in parts.
COPY_BYTES = 5 << 30
PART_BYTES = 1 << 30
# S3 deletes at most so many objects by one request.
DELETE_OBJECTS = 1000
# Processes that copy at once. Most of the time of each is its start.
PROCESSES = 16

# The first argument is a key, the second the source of the copy, the third its size in bytes.
HEADER = """set -eu
export BUCKET={bucket} PART={part}
each='aws s3api copy-object --bucket "$BUCKET" --key "$1" --copy-source "$2" >/dev/null'
large='
set -eu
upload=$(aws s3api create-multipart-upload --bucket "$BUCKET" --key "$1" --query UploadId --output text)
number=0 at=0 parts=
while [ "$at" -lt "$3" ]; do
	number=$((number + 1)) end=$((at + PART))
	[ "$end" -le "$3" ] || end=$3
	tag=$(aws s3api upload-part-copy --bucket "$BUCKET" --key "$1" --copy-source "$2" --upload-id "$upload" \\
		--part-number $number --copy-source-range bytes=$at-$((end - 1)) --query CopyPartResult.ETag --output json)
	parts="$parts${{parts:+,}}{{\\"PartNumber\\":$number,\\"ETag\\":$tag}}"
	at=$end
done
aws s3api complete-multipart-upload --bucket "$BUCKET" --key "$1" --upload-id "$upload" \\
	--multipart-upload "{{\\"Parts\\":[$parts]}}" >/dev/null'
delete() {{ # the objects of standard input; a failure of some is no failure of the command
	failed=$(aws s3api delete-objects --bucket "$BUCKET" --delete file:///dev/stdin --query Errors --output json)
	case $failed in '' | null) ;; *) echo "$failed" >&2 && exit 1 ;; esac
}}
"""


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def rank(key):
    """What is named by others comes before what names it."""
    return 2 if key.startswith("_") or "/_catalog/" in key else 1 if "/_versions/" in key or "/_refs/" in key else 0


def named(key):
    """Whether something has to name an object, so that it is of no account without."""
    return rank(key) == 0 or "/_versions/" in key


class Plan:
    """What has to be done with objects of one rank."""

    def __init__(self):
        self.markers, self.copies, self.large = [], [], []

    def lines(self):
        yield from deletions(self.markers)
        yield from copies("each", self.copies)
        yield from copies("large", self.large)


def deletions(objects):
    for first in range(0, len(objects), DELETE_OBJECTS):
        yield "delete <<'END'"
        yield json.dumps({"Objects": objects[first : first + DELETE_OBJECTS], "Quiet": True})
        yield "END"


def copies(script, arguments):
    if arguments:
        yield f"""xargs -P {PROCESSES} -n {len(arguments[0])} sh -c "${script}" sh <<'END'"""
        yield from map(shlex.join, arguments)
        yield "END"


def commands(bucket, at, listing):
    then, now, markers = {}, {}, collections.defaultdict(list)
    for deleted, entries in ((False, listing.get("Versions")), (True, listing.get("DeleteMarkers"))):
        for entry in entries or []:
            key, state = entry["Key"], None if deleted else entry
            changed = moment(entry["LastModified"])
            # Of several versions of one second, the listing has the newest first.
            if changed <= at and (key not in then or changed > then[key][0]):
                then[key] = changed, state
            if entry["IsLatest"]:
                now[key] = state
            if deleted:
                markers[key].append(entry)
    newest = {}
    for entry in listing.get("Versions") or []:
        changed = moment(entry["LastModified"])
        if entry["Key"] not in newest or changed > newest[entry["Key"]][0]:
            newest[entry["Key"]] = changed, entry["VersionId"]
    plans, deleted = [Plan(), Plan(), Plan()], []
    for key in sorted(set(then) | set(now)):
        changed, old = then.get(key, (None, None))
        new, plan = now.get(key), plans[rank(key)]
        size = int(old["Size"]) if old else 0
        if old and not new and newest[key][1] == old["VersionId"] and (named(key) or size > COPY_BYTES):
            later = [entry for entry in markers[key] if moment(entry["LastModified"]) >= changed]
            plan.markers += [{"Key": key, "VersionId": entry["VersionId"]} for entry in later]
        elif old and (not new or new["VersionId"] != old["VersionId"] and new["ETag"] != old["ETag"]):
            source = f"{bucket}/{key}?versionId={old['VersionId']}"  # the command line quotes it
            if size > COPY_BYTES:
                plan.large.append([key, source, str(size)])
            else:
                plan.copies.append([key, source])
        elif new and not old:
            deleted.append(key)
    yield HEADER.format(bucket=shlex.quote(bucket), part=PART_BYTES)
    for plan in plans:
        yield from plan.lines()
    for which in (2, 1, 0):
        yield from deletions([{"Key": key} for key in deleted if rank(key) == which])


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: restore-bucket.py BUCKET TIME < versions.json")
    try:
        at = moment(sys.argv[2])
    except ValueError:
        sys.exit(f"{sys.argv[2]!r} is no time such as 2026-11-26T10:00:00Z")
    if at.tzinfo is None:
        sys.exit("the time has no zone: end it with Z")
    for line in commands(sys.argv[1], at, json.load(sys.stdin)):
        print(line)


if __name__ == "__main__":
    main()
