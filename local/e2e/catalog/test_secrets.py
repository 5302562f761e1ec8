"""Secrets by the unmodified LanceDB client: values that go in, and never come out."""

from __future__ import annotations

import base64
import re
import secrets
import time

import lancedb
import pytest
from lancedb.remote.errors import HttpError
from process import Server
from wire import Wire


@pytest.fixture
def keeping(db, space):
    """The namespace of the test, where the server keeps secrets."""
    try:
        db.create_secret("probe", "value", namespace_path=[space])
    except HttpError as error:
        assert error.status_code == 501 and "TILTYARD_SECRETS" in str(error), error
        pytest.skip("functions keep no secrets, and say so")
    db.drop_secret("probe", namespace_path=[space])
    return [space]


def test_a_secret_is_created_altered_described_listed_and_dropped(db, keeping):
    db.create_secret("openai-prod", "one", namespace_path=keeping)
    made = db.describe_secret("openai-prod", namespace_path=keeping)
    assert made.name == "openai-prod" and made.created_at_millis == made.updated_at_millis
    assert abs(made.created_at_millis / 1000 - time.time()) < 3600
    db.alter_secret("openai-prod", "two", namespace_path=keeping)
    altered = db.describe_secret("openai-prod", namespace_path=keeping)
    assert altered.created_at_millis == made.created_at_millis
    assert altered.updated_at_millis > made.updated_at_millis
    names = ["openai-prod", *(f"key.{n}" for n in range(3))]
    for name in names[1:]:
        db.create_secret(name, "ü" * 1000, namespace_path=keeping)
    assert list(db.list_secrets(namespace_path=keeping)) == sorted(names)
    for name in names:
        db.drop_secret(name, namespace_path=keeping)
    assert list(db.list_secrets(namespace_path=keeping)) == []


def test_what_cannot_be_is_refused(db, keeping):
    db.create_secret("there", "value", namespace_path=keeping)
    for status, call in (
        (409, lambda: db.create_secret("there", "value", namespace_path=keeping)),
        (404, lambda: db.alter_secret("missing", "value", namespace_path=keeping)),
        (404, lambda: db.describe_secret("missing", namespace_path=keeping)),
        (404, lambda: db.drop_secret("missing", namespace_path=keeping)),
        (404, lambda: db.create_secret("s", "value", namespace_path=[*keeping, "missing"])),
        (400, lambda: db.create_secret("s", "x" * (64 * 1024 + 1), namespace_path=keeping)),
    ):
        with pytest.raises(HttpError) as raised:
            call()
        assert raised.value.status_code == status, raised.value
    assert list(db.list_secrets(namespace_path=keeping)) == ["there"]


def test_a_namespace_with_a_secret_is_not_empty(db, ns, keeping):
    child = [*keeping, "child"]
    db.create_namespace(child)
    db.create_secret("s", "value", namespace_path=child)
    with pytest.raises(Exception, match="not empty"):
        db.drop_namespace(child)
    db.drop_namespace(child, behavior="cascade")
    with pytest.raises(HttpError):
        db.describe_secret("s", namespace_path=child)


@pytest.mark.embedded("starts servers of its own")
def test_the_value_appears_nowhere(tmp_path):
    """Not in a file, a log line, a number or an answer, also when requests fail or come again."""
    canary = secrets.token_urlsafe(24)
    told = []
    with Server(tmp_path / "root", settings={"TILTYARD_LOG_LEVEL": "debug"}) as server:
        wire = Wire(server.url, server.token)
        for path in ("s/alter", "s/create", "s/create", "s/alter", "missing$s/create", "a+b/create"):
            for header in ({}, {"x-request-id": "again"}, {"Idempotency-Key": "again"}):
                answer = wire.post(f"/v1/secret/{path}", {"value": canary}, **header)
                told.append(str(answer.headers).encode() + bytes(answer.body))
        for body in (f'{{"value":"{canary}"', f'"{canary}"', f'{{"value":["{canary}"]}}', canary):
            answer = wire.call("POST", "/v1/secret/t/create", body.encode(), {"Content-Type": "application/json"})
            assert answer.status == 400
            told.append(bytes(answer.body))
        assert wire.post("/v1/secret/s/describe", {}).status == 200
        told.append(bytes(wire.call("GET", "/metrics").body))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"root.keys", "root.log"} <= {path.name for path in files} and len(files) > 2
    assert "root.keys" not in {path.name for path in (tmp_path / "root").rglob("*")}
    assert (tmp_path / "root.keys").stat().st_mode & 0o777 == 0o600
    assert b"CreateSecret" in (tmp_path / "root.log").read_bytes()
    for form in (canary.encode(), base64.b64encode(canary.encode()).rstrip(b"="), canary.encode().hex().encode()):
        for text in told:
            assert form not in text
        for path in files:
            assert form not in path.read_bytes(), path


@pytest.mark.embedded("starts servers of its own")
def test_servers_without_secrets_name_the_setting(tmp_path):
    with Server(tmp_path / "root", settings={"TILTYARD_SECRETS": "off"}) as server:
        db = lancedb.connect("db://e2e", api_key=server.token, host_override=server.url)
        with pytest.raises(HttpError, match="TILTYARD_SECRETS") as raised:
            db.create_secret("s", "value")
        assert raised.value.status_code == 501
        assert (tmp_path / "root.log").read_text().count("msg=request") == 1  # it is not retried
        assert list(db.list_secrets()) == []
    assert not (tmp_path / "root.keys").exists()
    inside = Server(tmp_path / "root", allow=[tmp_path], log="second.log")
    with inside:
        assert re.search(rb"there are no secrets", inside.log())
        assert Wire(inside.url, inside.token).post("/v1/secret/s/create", {"value": "v"}).status == 501
