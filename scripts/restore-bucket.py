#!/usr/bin/env python3
"""Write the commands that make a bucket with versions what it was at a time.

    aws s3api list-object-versions --bucket BUCKET --output json > versions.json
    scripts/restore-bucket.py BUCKET 2026-11-26T10:00:00Z < versions.json > commands.sh

It changes nothing itself. The commands add versions and delete markers, and remove none: the same
with a time before they ran makes the bucket what it was before them. Data files come before the
records and manifests that name them, and deletions come last.
"""

import datetime
import json
import shlex
import sys


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def rank(key):
    """What is named by others comes before what names it."""
    return 2 if key.startswith("_") or "/_catalog/" in key else 1 if "/_versions/" in key or "/_refs/" in key else 0


def commands(bucket, at, listing):
    then, now = {}, {}
    for deleted, entries in ((False, listing.get("Versions")), (True, listing.get("DeleteMarkers"))):
        for entry in entries or []:
            key, state = entry["Key"], None if deleted else entry
            changed = moment(entry["LastModified"])
            # Of several versions of one second, the listing has the newest first.
            if changed <= at and (key not in then or changed > then[key][0]):
                then[key] = changed, state
            if entry["IsLatest"]:
                now[key] = state
    copies, deletions = [], []
    for key in sorted(set(then) | set(now), key=lambda key: (rank(key), key)):
        _, old = then.get(key, (None, None))
        new = now.get(key)
        if old and (not new or new["VersionId"] != old["VersionId"] and new["ETag"] != old["ETag"]):
            source = f"{bucket}/{key}?versionId={old['VersionId']}"  # the command line quotes it
            copies.append(["aws", "s3api", "copy-object", "--bucket", bucket, "--key", key, "--copy-source", source])
        elif new and not old:
            deletions.append(["aws", "s3api", "delete-object", "--bucket", bucket, "--key", key])
    return copies + deletions[::-1]


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: restore-bucket.py BUCKET TIME < versions.json")
    try:
        at = moment(sys.argv[2])
    except ValueError:
        sys.exit(f"{sys.argv[2]!r} is no time such as 2026-11-26T10:00:00Z")
    if at.tzinfo is None:
        sys.exit("the time has no zone: end it with Z")
    for command in commands(sys.argv[1], at, json.load(sys.stdin)):
        print(shlex.join(command), ">", "/dev/null")


if __name__ == "__main__":
    main()
