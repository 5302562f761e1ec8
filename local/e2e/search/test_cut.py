"""An answer that the server cannot complete after its start breaks off, and no client takes a part of the rows for all."""

from __future__ import annotations

import http.client
import json

import lancedb
import pyarrow as pa
import pytest
from lancedb.remote.errors import HttpError

from process import Server
from wire import Wire

BATCH = 20_000


@pytest.mark.embedded("takes a file away from below the server")
def test_clients_see_that_an_answer_breaks_off(tmp_path):
    with Server(tmp_path / "root", settings={"TILTYARD_LOG_FORMAT": "json"}) as server:
        wire = Wire(server.url, server.token)
        for start in range(0, 5 * BATCH, BATCH):
            rows = pa.table({"id": range(start, start + BATCH), "text": [f"{i:0300d}" for i in range(start, start + BATCH)]})
            assert wire.upload(f"/v1/table/t/{'insert' if start else 'create'}", rows).status == 200
        table = lancedb.connect("db://e2e", api_key=server.token, host_override=server.url).open_table("t")
        files = sorted((tmp_path / "root").rglob("data/*.lance"), key=lambda file: file.stat().st_mtime_ns)
        assert len(files) == 5, files
        files[-1].rename(tmp_path / "away")
        with pytest.raises(HttpError):
            table.search().limit(10 * BATCH).to_arrow()
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            wire.post("/v1/table/t/query", {"k": 0, "vector": []})
        cut = [line for line in (json.loads(each) for each in server.log().splitlines() if each.startswith(b"{")) if line.get("cut")]
        assert len(cut) >= 2, server.log_tail()
        for line in cut:
            assert line["status"] == 200 and line["level"] == "ERROR" and line["operation"] == "QueryTable" and line["error"]
            assert 0 < line["rows_out"] < 5 * BATCH and line["bytes_out"] > 0
        (tmp_path / "away").rename(files[-1])
        assert table.search().limit(10 * BATCH).to_arrow().num_rows == 5 * BATCH
