"""The functions that the service brings along, listed, opened and applied by the unmodified LanceDB client."""

from __future__ import annotations

import hashlib

import lance
import pyarrow as pa
import pytest
from lancedb import col
from lancedb.remote.errors import HttpError
from test_functions import Registry, column, field, refresh

SPACE = ["__builtin"]
NAMES = ["html_text", "json_rows", "normalize_l2", "sha256", "split_lines", "split_markdown", "split_sentences", "split_text", "truncate_vector"]


def builtin(db, name: str):
    return db.get_function(name, version="1", namespace_path=SPACE)


@pytest.fixture
def docs(db, space):
    rows = {
        "id": pa.array([0, 1, 2], pa.int64()),
        "body": ["<h1>One</h1><p>two &amp; three", "# A\ntext\n# B\nmore", None],
        "json": ['{"a": [1, "x"]}', "{}", "no"],
        "v": pa.array([[3, 4, 0], [0, 0, 0], [0, 0, 2]], pa.list_(pa.float32(), 3)),
        "free": pa.array([[3, 4], [1], None], pa.list_(pa.float32())),
    }
    return db.create_table("docs", pa.table(rows), namespace_path=[space])


def test_builtin_functions_are_listed_and_opened(db, wire):
    listed = db.list_functions(namespace_path=SPACE)
    assert [(f.name, f.version, f.disabled) for f in listed] == [(name, "1", False) for name in NAMES]
    for f in listed:
        assert builtin(db, f.name) == f and f.image.descriptor["runtime"]["kind"] == "builtin"
    page = wire.call("GET", "/v1/namespace/__builtin/function/list?limit=4").json
    assert [f["definition"]["name"] for f in page["functions"]] == NAMES[:4] and page["page_token"] == NAMES[3]
    page = wire.call("GET", f"/v1/namespace/__builtin/function/list?limit=9&page_token={NAMES[3]}").json
    assert [f["definition"]["name"] for f in page["functions"]] == NAMES[4:] and not page.get("page_token")


def test_texts(db, docs):
    docs.add_columns({"plain": builtin(db, "html_text")(html=col("body"))})
    docs.add_columns({"digest": builtin(db, "sha256")(text=col("body"))})
    done = refresh(docs, "plain")
    assert (done.rows_assigned, done.rows_failed) == (2, 1)  # a text that is null has no text
    refresh(docs, "digest")
    assert column(docs, "plain") == ["One\n\ntwo & three", "# A text # B more", None]
    assert column(docs, "digest")[1] == hashlib.sha256(b"# A\ntext\n# B\nmore").hexdigest()
    errors = docs.function_errors(column="plain")
    assert [(e.error_type, e.function) for e in errors.records] == [("NullInput", "__builtin$html_text")]


def test_vectors_of_any_length(db, docs):
    docs.add_columns({"unit": builtin(db, "normalize_l2")(vector=col("v"))})
    docs.add_columns({"unit_free": builtin(db, "normalize_l2")(vector=col("free"))})
    docs.add_columns({"short": builtin(db, "truncate_vector")(vector=col("v"), dimensions=2, normalize=True)})
    assert refresh(docs, "unit").rows_failed == 0
    assert refresh(docs, "unit_free").rows_failed == 1
    refresh(docs, "short")
    near = [pytest.approx(v) if v is not None else None for v in ([0.6, 0.8, 0], [0, 0, 0], [0, 0, 1])]
    assert column(docs, "unit") == near
    assert column(docs, "unit_free") == [pytest.approx([0.6, 0.8]), [1], None]
    assert column(docs, "short") == [pytest.approx([0.6, 0.8]), [0, 0], [0, 0]]


def test_a_vector_column_that_can_be_searched(db, registry, docs):
    """A version under a name of one's own gives the types: vectors of a fixed length have an index."""
    request = {
        "artifact": {"kind": "none", "digest": f"sha256:{hashlib.sha256().hexdigest()}", "content": {"encoding": "base64", "data": ""}},
        "signature": {
            "inputs": [field("vector", "fixed_size_list<float32, 3>")],
            "output": {"kind": "scalar", "arrow_type": "fixed_size_list<float32, 2>", "nullable": False},
        },
        "runtime": {"kind": "builtin", "function": "truncate_vector"},
    }
    told = registry.finish(registry.begin("short", request))
    assert told["job_state"] == "DONE", told
    docs.add_columns({"near": registry.get("short", "1")(vector=col("v"))})
    refresh(docs, "near")
    assert docs.schema.field("near").type == pa.list_(pa.float32(), 2)
    assert docs.search([3.0, 4.0], vector_column_name="near").limit(1).to_list()[0]["id"] == 0
    with pytest.raises(HttpError, match="of type"):
        docs.add_columns({"bad": registry.get("short", "1")(vector=col("free"))})


def test_pieces_of_texts_are_lists_of_structs(db, docs):
    docs.add_columns({"parts": builtin(db, "split_text")(text=col("body"), size=8, overlap=2)})
    docs.add_columns({"heads": builtin(db, "split_markdown")(text=col("body"))})
    docs.add_columns({"items": builtin(db, "json_rows")(text=col("json"), path="a")})
    for name in ("parts", "heads", "items"):
        assert refresh(docs, name).rows_failed == 0
    body = "# A\ntext\n# B\nmore"
    parts = column(docs, "parts")
    assert [p["text"] for p in parts[1]] == [body[at : at + 8] for at in range(0, 12, 6)] + [body[12:]]
    assert parts[1][1] == {"text": body[6:14], "start": 6, "end": 14, "ordinal": 1}
    assert parts[2] == []
    assert [p["path"] for p in column(docs, "heads")[1]] == [["A"], ["B"]]
    assert [[p["text"] for p in items] for items in column(docs, "items")] == [["1", '"x"'], [], []]


def test_native_lance_reads_what_they_compute(db, wire, space, docs):
    docs.add_columns({"parts": builtin(db, "split_lines")(text=col("body"))})
    docs.add_columns({"digest": builtin(db, "sha256")(text=col("body"))})
    refresh(docs, "parts")
    refresh(docs, "digest")
    location = wire.post(f"/v1/table/{space}$docs/describe", {}).json["location"]
    rows = lance.dataset(location).to_table(columns=["parts", "digest"]).to_pylist()
    assert [p["text"] for p in rows[1]["parts"]] == ["# A", "text", "# B", "more"] and rows[2] == {"parts": [], "digest": None}


@pytest.mark.parametrize(
    "name, arguments, why",
    [
        ("split_text", {"text": col("body"), "size": 0}, "size is 0"),
        ("split_text", {"text": col("body"), "size": 10, "unit": "moons"}, "unit is"),
        ("split_text", {"text": col("id"), "size": 10}, "utf8"),
        ("truncate_vector", {"vector": col("v"), "dimensions": 4}, "cannot make 4 dimensions"),
        ("truncate_vector", {"vector": col("v"), "dimensions": "2"}, "not a value of type"),
        ("normalize_l2", {"vector": col("body")}, "vectors"),
        ("sha256", {"text": col("v")}, "binary"),
    ],
)
def test_uses_that_cannot_be_are_refused(db, docs, name, arguments, why):
    with pytest.raises(HttpError, match=why) as raised:
        docs.add_columns({"bad": builtin(db, name)(**arguments)})
    assert raised.value.status_code == 400


def test_the_namespace_is_reserved(db, wire, registry):
    assert wire.post("/v1/namespace/__builtin/create", {}).status == 400
    assert wire.post("/v1/function/__builtin$mine/create", {}).status == 400
    answer = wire.post("/v1/function/__builtin$sha256/drop", {"version": "1"})
    assert (answer.status, answer.json["code"]) == (400, 13), answer.json
    absent = wire.post("/v1/function/__builtin$no/describe", {"version": "1"})
    assert (absent.status, absent.json["type"]) == (404, "/errors/function-not-found")
    assert db.drop_function("no", version="1", namespace_path=SPACE) is False
    for change in ({"function": "no_such"}, {"function": "sha256", "env": {"A": "b"}}, {}):
        request = {
            "artifact": {"kind": "none", "digest": f"sha256:{hashlib.sha256().hexdigest()}", "content": {"encoding": "base64", "data": ""}},
            "signature": {"inputs": [field("t", "utf8")], "output": {"kind": "scalar", "arrow_type": "utf8", "nullable": False}},
            "runtime": {"kind": "builtin", **change},
        }
        told = registry.finish(registry.begin("f", request))
        assert told["job_state"] == "FAILED" and "built" in told["failure"]["message"], told


@pytest.fixture
def registry(db, wire, space):
    return Registry(db, wire, space)
