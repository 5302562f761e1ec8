"""Answers that their callers take from storage."""

from __future__ import annotations

import urllib.parse
import urllib.request

import pyarrow as pa

import namespaces
from rows import assert_same

EVERYTHING = {"k": 0, "vector": []}
LINK = {"X-Tiltyard-Result": "link"}


def test_lancedb_follows_to_large_answers(server, large):
    name, rows = large
    config = {"retry_config": {"retries": 0}, "extra_headers": {"X-Tiltyard-Result": "redirect"}}
    space, table = name.split("$")
    client = server.lancedb(client_config=config)
    opened = client.open_table(table, namespace_path=[space])
    assert_same(opened.search().limit(len(rows)).to_arrow().sort_by("id"), rows)
    assert opened.search().where("id < 3").limit(5).to_arrow().num_rows == 3


def test_lance_namespace_follows_to_large_answers(server, large):
    name, rows = large
    client = server.namespace(**{"header.X-Tiltyard-Result": "redirect"})
    assert_same(namespaces.read(client.query_table(namespaces.query(name.split("$")))).sort_by("id"), rows)


def read(server, path: str, url: str, token: str = "") -> pa.Table:
    """What is at a URL that is in the answer to a request."""
    at = urllib.parse.urljoin(f"{server.url}{path}", url)
    request = urllib.request.Request(at, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request) as answer:
        assert answer.headers["Content-Type"] == "application/vnd.apache.arrow.file"
        return pa.ipc.open_file(answer.read()).read_all()


def test_the_link_of_an_answer_is_enough(server, wire, large):
    path, rows = f"/v1/table/{large[0]}/query", large[1]
    answer = wire.post(path, EVERYTHING, **LINK)
    made = answer.json
    assert answer.status == 200 and made["rows"] == len(rows) and made["bytes"] > 12_000_000 and made["version"] == 5
    signed = made["url"].startswith("http")
    assert signed == ("url_expires_at_millis" in made)
    assert_same(read(server, path, made["url"], "" if signed else server.token).sort_by("id"), rows)
    other = wire.call("GET", f"/v1/table/{large[0]}x/result/{made['id']}")
    assert other.status == 404 and other.json["type"] == "/errors/no-such-result"


def test_failed_queries_leave_no_answer(wire, large):
    path = f"/v1/table/{large[0]}/query"
    assert wire.post(path, {**EVERYTHING, "filter": "nowhere = 1"}, **LINK).status == 400
    refused = wire.post(path, EVERYTHING, **{"X-Tiltyard-Result": "by mail"})
    assert refused.status == 400 and "redirect or link" in refused.json["error"]
