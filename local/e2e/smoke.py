"""Checks whether a deployed service works: python3 local/e2e/smoke.py URL TOKEN

It creates a namespace and a table with names of its own, drops them again, and checks the
responses to requests without a valid token. It needs only the standard library.

With --issuer in place of the token it signs in at local/standins/issuer, as each of its clients, and
checks the permissions of each of them.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

AUDIENCE = "urn:tiltyard"
BOTH = "tiltyard:read tiltyard:write"


class Checks:
    """Requests whose statuses are known in advance. It remembers the others."""

    def __init__(self, url: str):
        self.url = url.rstrip("/")
        self.wrong: list[str] = []

    def call(self, what: str, want: int, method: str, path: str, token: str | None = None, body=None, header=None):
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Content-Type", "application/json")
        if token is not None:
            request.add_header(header or "Authorization", token if header else f"Bearer {token}")
        data = None if method == "GET" else json.dumps(body or {}).encode()
        began = time.monotonic()
        try:
            with urllib.request.urlopen(request, data, timeout=60) as response:
                status, answer = response.status, response.read()
        except urllib.error.HTTPError as refusal:
            status, answer = refusal.code, refusal.read()
        verdict = "ok   " if status == want else "WRONG"
        print(f"{verdict} {status} {1000 * (time.monotonic() - began):6.0f} ms  {what}", flush=True)
        if status != want:
            self.wrong.append(f"{what}: {method} {path} was answered {status}, want {want}: {answer[:300]!r}")
        return answer


def healthy(check: Checks) -> None:
    check.call("it is there", 200, "GET", "/healthz")
    check.call("it reaches its stores", 200, "GET", "/readyz")
    print("     ", check.call("it says its version", 200, "GET", "/version").decode(errors="replace").strip())


def may_write(check: Checks, token: str) -> None:
    """A namespace and a table come and go."""
    name = "smoke" + uuid.uuid4().hex[:12]
    check.call("create a namespace", 200, "POST", f"/v1/namespace/{name}/create", token)
    check.call("describe it", 200, "POST", f"/v1/namespace/{name}/describe", token)
    check.call("declare a table", 200, "POST", f"/v1/table/{name}$t/declare", token)
    # A gateway without routes for paths that end in a slash would lead to 501.
    check.call("LanceDB learns that there is no table", 404, "POST", f"/v1/table/{name}$u/describe/", token)
    listed = check.call("list tables", 200, "GET", f"/v1/namespace/{name}/table/list", token)
    if b'"t"' not in listed:
        check.wrong.append(f"the new table is not listed: {listed[:300]!r}")
    check.call("deregister it", 200, "POST", f"/v1/table/{name}$t/deregister", token)
    check.call("drop the namespace", 200, "POST", f"/v1/namespace/{name}/drop", token)
    check.call("it is gone", 404, "POST", f"/v1/namespace/{name}/describe", token)


def needs_a_token(check: Checks, token: str) -> None:
    check.call("no token", 401, "GET", "/v1/namespace/$/list")
    check.call("no token for what asks the store", 401, "GET", "/storez")
    check.call("altered token", 401, "GET", "/v1/namespace/$/list", altered(token))


def altered(token: str) -> str:
    """Returns the token with one character of its signature changed, or of the whole if it has
    none."""
    middle = len(token) - len(token.rpartition(".")[2]) // 2 - 1
    return token[:middle] + ("A" if token[middle] != "A" else "B") + token[middle + 1 :]


def unsigned(token: str) -> str:
    """Returns the token's claims without a signature, with alg none."""
    header = base64.urlsafe_b64encode(b'{"alg":"none","typ":"at+jwt"}').rstrip(b"=").decode()
    return ".".join([header, token.split(".")[1], ""])


def sign_in(issuer: str, client: str, scope: str, audience: str = AUDIENCE) -> str:
    """A token of one of the clients of local/standins/issuer."""
    form = {"grant_type": "client_credentials", "resource": audience, "scope": scope}
    request = urllib.request.Request(f"{issuer}/token", urllib.parse.urlencode(form).encode())
    request.add_header("Authorization", "Basic " + base64.b64encode(f"{client}:secret".encode()).decode())
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["access_token"]


def clients_of(issuer: str, check: Checks) -> str:
    """Checks the permissions of each client, and returns the token of the one with all
    permissions."""
    writer = sign_in(issuer, "writer", BOTH)
    reader = sign_in(issuer, "reader", "tiltyard:read")
    refused = "/v1/namespace/refused/create"
    check.call("token that nobody signed", 401, "GET", "/v1/namespace/$/list", unsigned(writer))
    foreign = sign_in(issuer, "writer", BOTH, "urn:another")
    check.call("token for another service", 401, "GET", "/v1/namespace/$/list", foreign)
    check.call("token without a scope of ours", 403, "GET", "/v1/namespace/$/list", sign_in(issuer, "guest", "other"))
    check.call("reader reads", 200, "GET", "/v1/namespace/$/list", reader)
    check.call("reader does not write", 403, "POST", refused, reader)
    check.call("scope that was not asked for", 403, "POST", refused, sign_in(issuer, "writer", "tiltyard:read"))
    return writer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("url")
    parser.add_argument("token", nargs="?")
    parser.add_argument("--issuer", help="URL of local/standins/issuer, to sign in there")
    parser.add_argument("--key", action="store_true", help="send a token as x-api-key, too, as LanceDB's clients do")
    given = parser.parse_args()
    if bool(given.token) == bool(given.issuer):
        parser.error("either a token or an issuer is needed")
    check = Checks(given.url)
    healthy(check)
    token = given.token or clients_of(given.issuer, check)
    needs_a_token(check, token)
    check.call("its store keeps what commits rest on", 200, "GET", "/storez", token)
    may_write(check, token)
    if given.key:
        check.call("token as x-api-key", 200, "GET", "/v1/namespace/$/list", token, header="x-api-key")
    for wrong in check.wrong:
        print(wrong, file=sys.stderr)
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
