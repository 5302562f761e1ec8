"""Responses that are larger than a gateway can carry: the server sends them as it makes them."""

from __future__ import annotations

import http.client
import json
import urllib.parse

import pytest
from lancedb.remote.errors import HttpError

from rows import assert_same


def test_large_answers_are_whole(streams, large):
    path, rows = f"/v1/table/{large[0]}", large[1]
    answer = streams.post(f"{path}/query", {"k": 0, "vector": []})
    assert answer.status == 200 and len(answer.body) > 12_000_000
    assert_same(answer.table, rows)


def test_a_gateway_refuses_them(server, wire, large):
    if not server.behind_gateway:
        pytest.skip("there is no gateway")
    answer = wire.post(f"/v1/table/{large[0]}/query", {"k": 0, "vector": []})
    assert answer.status == 413 and answer.json["code"] == 13 and "page" in answer.json["detail"]


def test_clients_hear_of_the_way_out(server, large):
    if not server.behind_gateway:
        pytest.skip("there is no gateway")
    namespace, name = large[0].split("$")
    table = server.lancedb().open_table(name, namespace_path=[namespace])
    with pytest.raises(HttpError) as error:
        table.search().limit(len(large[1])).to_arrow()
    assert "413" in str(error.value) and "page with k and offset" in str(error.value)
    assert table.search().limit(1000).to_arrow().num_rows == 1000


def test_errors_are_as_elsewhere(streams, wire, large):
    for path, fields in (
        (f"/v1/table/{large[0]}/query", {"k": 0, "vector": [], "filter": "nowhere = 1"}),
        (f"/v1/table/{large[0]}x/describe", {}),
    ):
        there, here = streams.post(path, fields), wire.post(path, fields)
        assert there.status == here.status >= 400
        assert there.headers["Content-Type"] == here.headers["Content-Type"] == "application/json"
        assert {k: v for k, v in there.json.items() if k != "request_id"} == {
            k: v for k, v in here.json.items() if k != "request_id"
        }


def test_who_stops_reading_stops_nobody_else(server, streams, large):
    """The same function answers the next request."""
    path, rows = f"/v1/table/{large[0]}", large[1]
    parts = urllib.parse.urlsplit(server.streams_at)
    for _ in range(12):  # more than there are instances
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
        connection.request("POST", f"{parts.path}{path}/query", json.dumps({"k": 0, "vector": []}), headers)
        response = connection.getresponse()
        assert response.status == 200 and response.read(8)[:6] == b"ARROW1"
        connection.close()
    assert streams.post(f"{path}/count_rows", {}).json == rows.num_rows
