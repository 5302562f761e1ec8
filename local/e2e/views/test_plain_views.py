"""Plain views by the unmodified LanceDB client: names for queries, whose rows the query routes read."""

from __future__ import annotations

import pyarrow as pa
import pytest
from lancedb.remote.errors import HttpError

ROWS = pa.table({
    "id": pa.array([1, 2, 3, 4], pa.int64()),
    "word": ["a", "b", "c", None],
    "v": pa.FixedSizeListArray.from_arrays(pa.array([0, 0, 1, 0, 2, 0, 3, 0], pa.float32()), 2),
})
QUERY = 'SELECT id AS "key", upper(word) AS loud, v FROM t WHERE id > 1'


@pytest.fixture
def table(db, space):
    return db.create_table("t", ROWS, namespace_path=[space])


@pytest.fixture
def view(db, space, table):
    db.create_view("seen", QUERY, namespace_path=[space])
    return db.open_table("seen", namespace_path=[space])


def test_a_view_is_described_listed_and_dropped(db, space, table):
    made = db.create_view("seen", QUERY, namespace_path=[space])
    assert made == db.describe_view("seen", namespace_path=[space])
    assert made.query == "SELECT id AS key, upper(word) AS loud, v FROM t WHERE id > 1"
    assert (made.name, made.namespace_path, made.default_namespace_path) == ("seen", [space], [space])
    assert made.default_database
    assert made.schema.names == ["key", "loud", "v"]
    assert made.schema.field("v").type == pa.list_(pa.float32(), 2)
    assert list(db.list_views(namespace_path=[space])) == ["seen"]
    assert list(db.list_tables(namespace_path=[space]).tables) == ["t"]
    db.drop_view("seen", namespace_path=[space])
    assert list(db.list_views(namespace_path=[space])) == []
    assert table.count_rows() == 4


@pytest.mark.parametrize(
    ("name", "query", "status"),
    [
        ("u", QUERY, 409),
        ("t", QUERY, 400),  # would read itself
        ("seen", "SELECT id FROM missing", 404),
        ("seen", "SELECT missing FROM t", 400),
        ("seen", "SELECT id FROM t ORDER BY id", 400),
        ("seen", "SELECT now() AS x FROM t", 400),
        ("seen", "SELECT id FROM t WHERE id", 400),
        ("seen", "SELEC", 400),
    ],
)
def test_views_that_cannot_be_are_refused(db, space, table, name, query, status):
    db.create_table("u", ROWS, namespace_path=[space])
    with pytest.raises(HttpError) as raised:
        db.create_view(name, query, namespace_path=[space])
    assert raised.value.status_code == status, raised.value


def test_names_are_those_of_tables(db, space, view):
    for create in (lambda: db.create_view("seen", QUERY, namespace_path=[space]), lambda: db.create_table("seen", ROWS, namespace_path=[space])):
        with pytest.raises(Exception, match="already exists|is a view"):
            create()
    with pytest.raises(HttpError, match="view"):
        db.create_view("above", "SELECT key FROM seen", namespace_path=[space])
    with pytest.raises(HttpError):
        db.drop_view("t", namespace_path=[space])


def test_queries_read_the_source(view, table):
    assert view.schema.names == ["key", "loud", "v"]
    assert view.count_rows() == 3
    assert view.count_rows("loud = 'B'") == 1
    rows = view.search().select(["key", "loud"]).where("key < 4").to_arrow()
    assert rows.to_pylist() == [{"key": 2, "loud": "B"}, {"key": 3, "loud": "C"}]
    assert view.search().select({"twice": "key * 2"}).limit(1).to_arrow().to_pylist() == [{"twice": 4}]
    table.add(pa.table({"id": pa.array([9], pa.int64()), "word": ["z"], "v": pa.FixedSizeListArray.from_arrays(pa.array([9, 0], pa.float32()), 2)}))
    assert view.search().select(["loud"]).where("key = 9").to_arrow().to_pylist() == [{"loud": "Z"}]


def test_vectors_are_searched_among_the_rows_of_the_view(view):
    found = view.search([0, 0]).limit(2).select(["key"]).to_arrow()
    assert found["key"].to_pylist() == [2, 3]
    assert view.search([0, 0]).where("loud = 'C'", prefilter=True).limit(2).to_arrow()["key"].to_pylist() == [3]
    assert "id > 1" in view.search([0, 0]).explain_plan()


@pytest.mark.parametrize(
    "write",
    [
        lambda v: v.add(pa.table({"key": pa.array([1], pa.int64())})),
        lambda v: v.delete("key = 2"),
        lambda v: v.update(where="key = 2", values={"loud": "x"}),
        lambda v: v.merge_insert("key").when_not_matched_insert_all().execute(pa.table({"key": pa.array([1], pa.int64())})),
        lambda v: v.create_scalar_index("key"),
        lambda v: v.add_columns({"more": "key + 1"}),
        lambda v: v.drop_columns(["loud"]),
    ],
)
def test_writes_are_refused(view, write):
    with pytest.raises(Exception, match="is a view"):
        write(view)


def test_a_view_without_its_source_says_so(db, space, view):
    db.drop_table("t", namespace_path=[space])
    with pytest.raises(Exception, match="t.* does not exist|not found"):
        view.count_rows()
    db.drop_view("seen", namespace_path=[space])
