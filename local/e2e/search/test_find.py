"""Tables that the stock clients made are found by what they have."""

from __future__ import annotations

import lancedb
import pyarrow as pa

VECTOR = pa.list_(pa.float32(), 3)


def found(wire, **conditions) -> dict[str, list[tuple]]:
    """The tables by their names, with what matched, from all pages."""
    tables, body = {}, conditions
    while True:
        page = wire.post("/v1/table/find", body).json
        for one in page["tables"]:
            assert one["id"][-1] not in tables
            tables[one["id"][-1]] = [(m["in"], m.get("name", ""), m.get("value", "")) for m in one["matches"]]
        if not page.get("page_token"):
            return tables
        body = {**conditions, "page_token": page["page_token"]}


def test_tables_are_found_by_what_they_have(wire, db: lancedb.DBConnection, space):
    about = {"namespace_id": [space]}
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("face", VECTOR, metadata={"comment": "Of the model Vega"})])
    people = db.create_table("people", schema=schema, namespace_path=[space])
    db.create_table("places", pa.table({"id": pa.array([1], pa.int32()), "at": [{"street": "Elm", "city": "Ulm"}]}), namespace_path=[space])
    people.tags.create("release-7", 1)
    assert set(found(wire, **about)) == {"people", "places"}
    assert set(found(wire, **about, limit=1)) == {"people", "places"}
    assert found(wire, **about, text="PEO") == {"people": [("name", "people", "")]}
    assert found(wire, **about, name="*s") == {"places": [("name", "places", "")]}
    assert found(wire, **about, columns=[{"type": "fixed_size_list<float32>[3]"}]) == {"people": [("column", "face", "fixed_size_list<float32>[3]")]}
    assert found(wire, **about, columns=[{"name": "city"}]) == {"places": [("column", "at.city", "utf8")]}
    assert found(wire, **about, tag="release*") == {"people": [("tag", "release-7", "")]}
    assert found(wire, **about, comment="vega") == {"people": [("comment", "face", "Of the model Vega")]}
    assert found(wire, **about, text="vega release", **{"in": ["tag", "comment"]}) == {
        "people": [("comment", "face", "Of the model Vega"), ("tag", "release-7", "")],
    }
    people.add_columns({"year": "2024"})
    assert set(found(wire, **about, columns=[{"name": "year"}])) == {"people"}
    db.drop_table("people", namespace_path=[space])
    assert found(wire, **about, columns=[{"name": "year"}]) == {}


def test_bad_searches_are_refused(wire):
    for body in [
        {"page_token": "p"}, {"page_token": "nope"}, {"in": ["body"]}, {"text": "x" * 257}, {"text": "x " * 17}, {"namespace_id": [""]},
        {"columns": {"name": "x"}}, {"limit": "many"}, {"name": 7},
    ]:
        assert wire.post("/v1/table/find", body).status == 400, body
    assert wire.post("/v1/table/find", {"namespace_id": ["there", "is", "none"]}).status == 404
