"""Changes of columns and values, compared with the same changes by native Lance and LanceDB on
a copy."""

from __future__ import annotations

import datetime as dt

import lance
import lancedb
import pyarrow as pa
import pytest

from rows import assert_same

pytestmark = pytest.mark.engine

START = pa.table({
    "id": pa.array([1, 2, 3, None], pa.int64()),
    "small": pa.array([1, None, 3, 4], pa.int16()),
    "f": pa.array([1.5, float("nan"), None, -0.0], pa.float32()),
    "s": pa.array(["a", None, "it's", "ß"], pa.string()),
    "flag": pa.array([True, False, None, True]),
    "day": pa.array([dt.date(2024, 1, 31), None, dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
    "ts": pa.array([dt.datetime(2024, 1, 31, 12), None, dt.datetime(1970, 1, 1), dt.datetime(2024, 2, 29)], pa.timestamp("us")),
    "li": pa.array([[1, 2], [], None, [None, 3]], pa.list_(pa.int32())),
    "lw": pa.array([["a"], [], None, [None, "b"]], pa.list_(pa.string())),
    "vec": pa.array([[1, 2], [3, 4], None, [5, 6]], pa.list_(pa.float32(), 2)),
    "st": pa.array([{"x": 1, "y": "p"}, {"x": None, "y": "q"}, None, {"x": 4, "y": None}], pa.struct([("x", pa.int32()), ("y", pa.string())])),
    "bin": pa.array([b"", b"\0\xff", None, b"b"], pa.binary()),
    "kind": pa.array(["k", None, "l", "k"]).dictionary_encode(),
    "dur": pa.array([5, None, -5, 0], pa.duration("ms")),
    "tod": pa.array([5, None, 7, 0], pa.time64("us")),
    "odd": pa.array([{"n": None}, None, {"n": None}, None], pa.struct([("n", pa.null())])),
    "one": pa.array([[1], None, [3], [4]], pa.list_(pa.int8(), 1)),
    "pairs": pa.array([[("a", 1)], [], None, [("b", None)]], pa.map_(pa.string(), pa.int32())),
})

# No expression reads a column that is updated as well: native Lance assigns in the order of a
# hash map, each on what the others left, and we assign what the rows were.
UPDATES = [
    ({"id": "id + 1"}, None),
    ({"id": "2"}, "id IS NULL"),
    ({"s": "'it''s'", "f": "f * 2"}, "flag"),
    ({"s": "NULL"}, "id < 3"),
    ({"s": "upper(s)"}, None),
    ({"small": "7.9"}, None),
    ({"small": "99999999"}, None),
    ({"f": "1"}, "id = 1"),
    ({"flag": "NOT flag"}, None),
    ({"flag": "id > 1"}, None),
    ({"day": "'2024-05-06'"}, "day IS NOT NULL"),
    ({"day": "date '2024-05-06'"}, None),
    ({"ts": "timestamp '2024-05-06 07:08:09'"}, None),
    ({"ts": "'2024-05-06 07:08:09'"}, "id = 1"),
    ({"li": "[4, 5]"}, "id = 1"),
    ({"vec": "[1.0, 2.5]"}, None),
    ({"vec": "[1.0, 2.5, 3.5]"}, None),
    ({"vec": "[1, 2]"}, "id = 2"),
    ({"lw": "['a', 'b']"}, None),
    ({"bin": "X'00ff'"}, None),
    ({"id": "st.x"}, None),
    ({"s": "st.y"}, "st.x = 1"),
    ({"s": "li[1]"}, None),
    ({"id": "array_length(li)"}, None),
    ({"id": "nope"}, None),
    ({"nope": "1"}, None),
    ({"id": "'x'"}, None),
    ({"id": "1"}, "nope = 1"),
    ({"id": "1"}, "id = 77"),
    ({"st": "st"}, None),
    ({"st.x": "9"}, None),
    ({"s": "cast(id as string)"}, None),
    ({"id": "_rowid"}, None),
    ({"kind": "'x'"}, "id < 3"),
    ({"kind": "s"}, None),
    ({"kind": "id"}, None),
    ({"kind": "upper(kind)"}, "kind = 'k'"),
    ({"kind": "NULL"}, "id = 1"),
    ({"st": "NULL"}, None),
    ({"pairs": "NULL"}, "id < 3"),
    ({"odd": "NULL"}, None),
    ({"one": "7"}, "id > 1"),
    ({"vec": "7"}, None),
    ({"dur": "id"}, None),
    ({"dur": "NULL"}, None),
    ({"id": "dur"}, None),
    ({"tod": "1000000"}, None),
    ({"id": "tod"}, None),
    ({"li": "7"}, None),
    ({"bin": "id"}, None),
]

ALTERATIONS = [
    [{"path": "id", "name": "key"}],
    [{"path": "id", "nullable": False}],
    [{"path": "flag", "nullable": True}],
    [{"path": "small", "data_type": pa.int64()}],
    [{"path": "id", "data_type": pa.int16()}],
    [{"path": "f", "data_type": pa.float64()}],
    [{"path": "f", "data_type": pa.float16()}],
    [{"path": "s", "data_type": pa.large_string()}],
    [{"path": "day", "data_type": pa.timestamp("ms")}],
    [{"path": "ts", "data_type": pa.timestamp("s")}],
    [{"path": "bin", "data_type": pa.large_binary()}],
    [{"path": "vec", "data_type": pa.list_(pa.float16(), 2)}],
    [{"path": "st.x", "name": "z"}],
    [{"path": "st.y", "nullable": True}],
    [{"path": "s", "data_type": pa.int32()}],
    [{"path": "id", "name": "s"}],
    [{"path": "nope", "name": "n"}],
    [{"path": "id", "name": "a", "data_type": pa.int32()}, {"path": "s", "name": "b"}],
]


@pytest.fixture
def copies(wire, outside, module_space):
    """Makes two copies of START, one of them registered: its path, its place, the other's."""

    def make(name: str) -> tuple[str, str, str]:
        ours, theirs = outside / f"{module_space}-{name}.lance", outside / f"{module_space}-{name}-native.lance"
        for place in (ours, theirs):
            lance.write_dataset(START, place, data_storage_version="2.2", max_rows_per_file=3)
        path = f"/v1/table/{module_space}${name}"
        assert wire.post(f"{path}/register", {"location": str(ours)}).status == 200
        return path, str(ours), str(theirs)

    return make


def compare(ours: str, theirs: str, what: object) -> None:
    got, want = lance.dataset(ours), lance.dataset(theirs)
    assert got.version == want.version, what
    order = [("_rowid", "ascending")]
    rows = [d.to_table(with_row_id=True).sort_by(order).drop_columns("_rowid") for d in (got, want)]
    assert_same(*rows, what, metadata=True)


@pytest.mark.parametrize("number", range(len(UPDATES)))
def test_updates_as_native_lance(wire, copies, number):
    values, predicate = UPDATES[number]
    path, ours, theirs = copies(f"updated{number}")
    try:
        want = lance.dataset(theirs).update(values, predicate)["num_rows_updated"]
    except Exception as refusal:
        want = str(refusal)
    got = wire.post(f"{path}/update", {"updates": [[c, e] for c, e in values.items()], "predicate": predicate})
    if isinstance(want, str):
        assert got.status in (400, 404, 501), f"{got.status}, but native Lance says {want}"
        return
    assert got.status == 200, f"{got.body}, but native Lance updates {want}"
    assert got.json["updated_rows"] == want
    compare(ours, theirs, UPDATES[number])


def spoken(type_: pa.DataType) -> dict:
    """A type as clients write it."""
    simple = {pa.timestamp("ms"): "timestamp:ms:-", pa.timestamp("s"): "timestamp:s:-", pa.float16(): "halffloat"}
    if pa.types.is_fixed_size_list(type_):
        return {"type": "fixed_size_list", "length": type_.list_size, "fields": [{"name": "item", "type": spoken(type_.value_type), "nullable": True}]}
    return {"type": simple.get(type_, str(type_))}


@pytest.mark.parametrize("number", range(len(ALTERATIONS)))
def test_alterations_as_native_lance(wire, copies, number):
    path, ours, theirs = copies(f"altered{number}")
    try:
        lance.dataset(theirs).alter_columns(*ALTERATIONS[number])
        want = None
    except Exception as refusal:
        want = str(refusal)
    asked = []
    for a in ALTERATIONS[number]:
        a = dict(a)
        if "name" in a:
            a["rename"] = a.pop("name")
        if "data_type" in a:
            a["data_type"] = spoken(a["data_type"])
        asked.append(a)
    got = wire.post(f"{path}/alter_columns", {"alterations": asked})
    if want is not None:
        assert got.status in (400, 404, 409, 501), f"{got.status}, but native Lance says {want}"
        return
    assert got.status == 200, got.body
    compare(ours, theirs, ALTERATIONS[number])


def test_computed_columns_remember_their_expressions(server, wire, module_space, tmp_path):
    rows = START.select(["id", "s", "st"])
    native = lancedb.connect(tmp_path).create_table("t", rows)
    native.add_columns(computed={"double": "id * 2", "loud": "upper(s)"})
    path = f"/v1/table/{module_space}$computed"
    assert wire.upload(f"{path}/create", rows).status == 200
    added = {"new_columns": [{"name": "double", "computed": "id * 2"}, {"name": "loud", "computed": "upper(s)"}]}
    answer = wire.post(f"{path}/add_columns", added)
    assert answer.status == 200 and answer.json["version"] == 2, answer.body
    got = wire.post(f"{path}/query", {"k": 0, "vector": []}).table
    assert_same(got, native.to_arrow(), metadata=True)
    assert wire.post(f"{path}/add_columns", {"new_columns": [{"name": "x", "computed": "nope + 1"}]}).status in (400, 404)
    mixed = [{"name": "x", "computed": "id"}, {"name": "y", "expression": "id"}]
    assert wire.post(f"{path}/add_columns", {"new_columns": mixed}).status == 400


def test_virtual_columns_keep_what_is_said_of_their_function(wire, module_space):
    path = f"/v1/table/{module_space}$virtual"
    assert wire.upload(f"{path}/create", START.select(["id", "s", "st"])).status == 200
    outputs = [
        {"column": "size", "struct_field": "n", "data_type": {"type": "int64"}, "nullable": True, "metadata": {"unit": "px"}},
        {"column": "embedding", "struct_field": "e", "data_type": spoken(pa.list_(pa.float16(), 2)), "nullable": True},
    ]
    function = {
        "input_columns": ["s", "st.x"], "outputs": outputs, "image": "img:1", "udf": "cGlja2xl", "udf_name": "measure",
        "udf_version": "3", "auto_backfill": False, "field_metadata": {"owner": "me", "virtual_column": "no"},
    }
    request = {"new_columns": [{"name": "size", "virtual_column": function}]}
    answer = wire.post(f"{path}/add_columns", request)
    assert answer.status == 200 and answer.json["version"] == 2, answer.body
    got = wire.post(f"{path}/query", {"k": 0, "vector": []}).table
    assert got.column_names == ["id", "s", "st", "size", "embedding"]
    assert got["size"].null_count == got["embedding"].null_count == START.num_rows
    kept = {k.decode(): v.decode() for k, v in got.schema.field("size").metadata.items()}
    assert kept == {
        "virtual_column": "true", "virtual_column.udf": "cGlja2xl", "virtual_column.udf_name": "measure",
        "virtual_column.udf_version": "3", "virtual_column.udf_inputs": '["s","st.x"]', "virtual_column.image": "img:1",
        "virtual_column.struct_field": "n", "virtual_column.auto_backfill": "false", "owner": "me", "unit": "px",
    }
    for field, value in (("outputs", []), ("udf", ""), ("input_columns", ["nope"])):
        bad = {**function, field: value, "outputs": [] if field == "outputs" else [{**outputs[0], "column": "other"}]}
        assert wire.post(f"{path}/add_columns", {"new_columns": [{"name": "other", "virtual_column": bad}]}).status in (400, 404)
    assert wire.post(f"{path}/add_columns", request).status in (400, 409), "the columns are there"
