"""Texts in structs inside of lists, which native Lance searches and indexes by the path of the member: the service
refuses them by name, and keeps the indices of native Lance.
"""

from __future__ import annotations

import json

import lance
import pyarrow as pa
import pytest
from lance.query import MatchQuery
from test_maintenance import maintain

PARTS = pa.list_(pa.struct([("t", pa.string()), ("x", pa.int64())]))


@pytest.mark.embedded("registers a table of native Lance")
def test_texts_of_structs_in_lists(wire, outside, space, db):
    place = outside / f"nested-{space}.lance"
    parts = pa.array([[{"t": "red fox", "x": 1}, {"t": "blue", "x": 2}], [{"t": "fox", "x": 1}], [], None], PARTS)
    native = lance.write_dataset(pa.table({"id": [1, 2, 3, 4], "parts": parts, "s": ["red", "blue", "red fox", "hen"]}), place)
    native.create_scalar_index("parts.t", "INVERTED", stem=False)
    table = f"/v1/table/{space}$t"
    assert wire.post(f"{table}/register", {"location": str(place)}).status == 200
    for path in ("parts.t", "parts.item.t"):
        match = {"match": {"column": path, "terms": "fox"}}
        query = {"vector": [], "k": 9, "full_text_query": {"structured_query": {"query": match}}}
        index = {"column": path, "index_type": "FTS", "name": "again"}
        for action, asked in (("query", query), ("create_index", index), ("create_scalar_index", index)):
            answer = wire.post(f"{table}/{action}", asked)
            said = json.dumps(answer.json)
            assert answer.status == 501 and path in said and "inside of the list" in said, f"{action}: {answer.status}: {said}"
    for text in ({"query": "fox"}, {"query": "fox", "columns": ["parts.t"]}):  # the first is for the indexed columns
        answer = wire.post(f"{table}/query", {"vector": [], "k": 9, "full_text_query": {"string_query": text}})
        assert answer.status == 501 and b"inside of the list" in answer.body, answer.body[:500]
    for name in ("parts.u", "parts.t.u", "nothing.t"):
        answer = wire.post(f"{table}/create_index", {"column": name, "index_type": "FTS"})
        assert answer.status == 404, answer.body

    (index,) = wire.post(f"{table}/index/list", {}).json["indexes"]
    assert index["columns"] == ["parts.item.t"] and index["num_indexed_rows"] == 4
    answer = wire.post(f"{table}/query", {"vector": [], "k": 9, "columns": ["id"], "filter": "s = 'red'"})
    assert answer.table["id"].to_pylist() == [1]
    found = db.open_table("t", namespace_path=[space])
    found.add(pa.table({"id": [5], "parts": pa.array([[{"t": "fox", "x": 3}]], PARTS), "s": ["x"]}))
    found.delete("id = 2")
    maintain(wire, f"{space}$t", indices=True)
    native = lance.dataset(place)
    assert [i["name"] for i in native.list_indices()] == ["parts.t_idx"]
    assert sorted(native.to_table(columns=["id"], full_text_query=MatchQuery("fox", "parts.t"))["id"].to_pylist()) == [1, 5]
