"""Access with tokens of a real OAuth 2.0 server, by scopes and by policies."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import urllib.parse
import urllib.request

import lance_namespace
import pytest

from process import REPOSITORY, Server
from wire import Wire

pytestmark = pytest.mark.embedded("starts servers of its own")

AUDIENCE = "urn:tiltyard"

POLICIES = """
permit (principal in Scope::"tiltyard:write", action, resource);
permit (principal in Scope::"tiltyard:read", action in Action::"read", resource in Namespace::"open");
"""


class Issuer:
    """The authorization server of local/standins/issuer."""

    def __init__(self):
        command = ["scripts/npm.sh", "local/standins/issuer", "node", "local/standins/issuer/main.cjs"]
        self._process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError("the authorization server did not start; it needs npm")

    def token(self, client: str, scope: str, resource: str = AUDIENCE) -> str:
        form = urllib.parse.urlencode({"grant_type": "client_credentials", "scope": scope, "resource": resource})
        request = urllib.request.Request(f"{self.url}/token", form.encode())
        request.add_header("Authorization", "Basic " + base64.b64encode(f"{client}:secret".encode()).decode())
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["access_token"]

    def settings(self) -> dict[str, str]:
        return {
            "TILTYARD_JWKS": f"{self.url}/jwks", "TILTYARD_ISSUER": self.url,
            "TILTYARD_AUDIENCE": AUDIENCE, "TILTYARD_JWT_TYPE": "at+jwt",
        }

    def stop(self) -> None:
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait()


@pytest.fixture(scope="module")
def issuer():
    issuer = Issuer()
    yield issuer
    issuer.stop()


@pytest.fixture(scope="module")
def tokens(issuer):
    return {
        "writer": issuer.token("writer", "tiltyard:write"),
        "reader": issuer.token("reader", "tiltyard:read"),
        "guest": issuer.token("guest", "other"),
        "elsewhere": issuer.token("writer", "tiltyard:write", "urn:another"),
    }


def status(server: Server, token: str | None, path: str, body: bytes = b"{}") -> int:
    return Wire(server.url, token).call("POST", path, body).status


def test_scopes_decide(issuer, tokens, tmp_path):
    header, claims, signature = tokens["writer"].split(".")
    refused = {
        "none": None,
        "another audience": tokens["elsewhere"],
        "altered": f"{header}.{claims}.{signature[:20]}{'A' if signature[20] != 'A' else 'B'}{signature[21:]}",
        "unsigned": base64.urlsafe_b64encode(b'{"alg":"none","typ":"at+jwt"}').decode().rstrip("=") + f".{claims}.",
        "of other claims": f"{tokens['reader'].split('.')[0]}.{claims}.{tokens['reader'].split('.')[2]}",
    }
    with Server(tmp_path / "root", token="", settings=issuer.settings()) as server:
        for what, token in refused.items():
            assert status(server, token, "/v1/namespace/$/list") == 401, what
        for who, create, read in [("guest", 403, 403), ("reader", 403, 200), ("writer", 200, 200)]:
            assert status(server, tokens[who], f"/v1/namespace/of_{who}/create") == create, who
            assert status(server, tokens[who], "/v1/namespace/$/list") == read, who
        names = lance_namespace.connect("rest", {"uri": server.url, "header.Authorization": f"Bearer {tokens['reader']}"})
        assert names.list_namespaces(lance_namespace.ListNamespacesRequest(id=[])).namespaces == ["of_writer"]
        log = server.log().decode()
    for token in filter(None, [*tokens.values(), *refused.values()]):
        for part in token.split("."):
            assert part in ("", header) or part not in log, "the log holds a part of a token"


def test_policies_decide(issuer, tokens, tmp_path):
    policies = tmp_path / "policies.cedar"
    policies.write_text(POLICIES)
    settings = {**issuer.settings(), "TILTYARD_POLICIES": str(policies)}
    with Server(tmp_path / "root", token="", settings=settings) as server:
        for path in ["namespace/open/create", "namespace/closed/create", "table/open$t/declare", "table/closed$t/declare"]:
            assert status(server, tokens["writer"], f"/v1/{path}") == 200, path
        reader = Wire(server.url, tokens["reader"])
        assert reader.call("GET", "/v1/table").json["tables"] == ["open$t"]
        assert reader.call("POST", "/v1/table/open$t/describe", b"{}").status == 200
        assert reader.call("POST", "/v1/table/open$t/drop", b"{}").status == 403
        hidden = reader.call("POST", "/v1/table/closed$t/drop", b"{}").json
        missing = reader.call("POST", "/v1/table/absent$t/drop", b"{}").json
        for answer in (hidden, missing):
            del answer["request_id"]
        assert hidden == json.loads(json.dumps(missing).replace("absent", "closed"))
        assert Wire(server.url, tokens["guest"]).call("GET", "/v1/table").json["tables"] == []


def test_broken_policies_are_told_at_once(issuer, tmp_path):
    policies = tmp_path / "policies.cedar"
    policies.write_text("permit (everybody)")
    with pytest.raises(RuntimeError, match="parse the policies"):
        Server(tmp_path / "root", token="", settings={**issuer.settings(), "TILTYARD_POLICIES": str(policies)}).start()
