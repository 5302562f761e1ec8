"""The few commands of the AWS command line that scripts/restore-bucket.py writes, for a stand-in that checks no signatures.

The endpoint is AWS_ENDPOINT_URL. Options have the form --name value.
"""

import html
import json
import os
import re
import sys
import urllib.parse
import urllib.request


def call(method, path, body=None, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"{os.environ['AWS_ENDPOINT_URL']}/{path}", body, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


def field(name, answer):
    return html.unescape(re.search(f"<{name}>(.*?)</{name}>", answer).group(1))


def element(name, value):
    return f"<{name}>{html.escape(str(value))}</{name}>"


def main(service, command, *words):
    assert service == "s3api", service
    options = dict(zip(words[::2], words[1::2]))
    bucket, key = options["--bucket"], urllib.parse.quote(options.get("--key", ""))
    upload = urllib.parse.urlencode({"uploadId": options.get("--upload-id", "")})
    source, _, version = options.get("--copy-source", "").partition("?")
    copied = f"{urllib.parse.quote(source)}?{version}"
    if command == "copy-object":
        call("PUT", f"{bucket}/{key}", b"", x_amz_copy_source=copied)
    elif command == "create-multipart-upload":
        print(field("UploadId", call("POST", f"{bucket}/{key}?uploads", b"")))
    elif command == "upload-part-copy":
        place = f"{bucket}/{key}?partNumber={options['--part-number']}&{upload}"
        answer = call("PUT", place, b"", x_amz_copy_source=copied, x_amz_copy_source_range=options["--copy-source-range"])
        print(json.dumps(field("ETag", answer)))
    elif command == "complete-multipart-upload":
        parts = json.loads(options["--multipart-upload"])["Parts"]
        listed = "".join(f"<Part>{element('PartNumber', p['PartNumber'])}{element('ETag', p['ETag'])}</Part>" for p in parts)
        call("POST", f"{bucket}/{key}?{upload}", f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode())
    elif command == "delete-objects":
        assert options["--delete"] == "file:///dev/stdin", options
        for one in json.load(sys.stdin)["Objects"]:
            version = f"?versionId={one['VersionId']}" if "VersionId" in one else ""
            call("DELETE", f"{bucket}/{urllib.parse.quote(one['Key'])}{version}")
        print("null")
    else:
        sys.exit(f"aws s3api {command} is not known here")


if __name__ == "__main__":
    main(*sys.argv[1:])
