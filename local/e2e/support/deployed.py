"""Prints where a deployment answers in what stands in for AWS: deployed.py OUTPUTS STACK

The names of gateways do not resolve on this machine: the stand-in takes them as paths. The
first URL is that of the gateway; the second, if there is one, streams."""

from __future__ import annotations

import json
import os
import sys
import urllib.parse

with open(sys.argv[1]) as file:
    outputs = json.load(file)[sys.argv[2]]
at = os.environ["AWS_ENDPOINT_URL"] + "/_aws"
url, streams = (urllib.parse.urlsplit(outputs.get(name, "")) for name in ("Url", "StreamUrl"))
print(f"{at}/execute-api/{url.netloc.split('.')[0]}/{url.path.strip('/') or '$default'}")
if streams.netloc:
    print(f"{at}/lambda-url/{streams.netloc.split('.')[0]}")
