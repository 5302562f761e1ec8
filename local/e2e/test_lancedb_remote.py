"""The unmodified LanceDB client against us, and against itself.

Each test asks a remote table (ours, over HTTP) and a local one (LanceDB in process, the
peer) the same thing and compares the answers row by row. What the peer cannot say, such
as how its remote client reports an error, is written down as an expectation.
"""

from __future__ import annotations

import asyncio

import lancedb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sample
from rows import assert_same, by

ROWS = 700


class Pair:
    """One table twice: at ours and at the peer's."""

    def __init__(self, remote, local):
        self.remote, self.local = remote, local

    def same(self, ask, *, sort: tuple = ()) -> pa.Table:
        """Asks both and returns the answer of ours, which is the peer's."""
        got, want = ask(self.remote), ask(self.local)
        assert_same(by(got, *sort) if sort else got, by(want, *sort) if sort else want)
        return got

    def both(self, do) -> list:
        """Changes both alike."""
        return [do(self.remote), do(self.local)]


@pytest.fixture
def local(tmp_path):
    """The peer: LanceDB over a directory, in process."""
    return lancedb.connect(tmp_path / "peer")


@pytest.fixture
def make(db, space, local):
    """Creates a table at both. Data that can be read only once is given as a function."""

    def make(data=None, **options) -> Pair:
        fresh = data if callable(data) else lambda: data
        remote = db.create_table("t", fresh(), namespace_path=[space], **options)
        return Pair(remote, local.create_table("t", fresh(), **options))

    return make


@pytest.fixture(scope="module")
def people(db, module_space, tmp_path_factory) -> Pair:
    """700 rows in three fragments with deletions; no test changes it."""
    local = lancedb.connect(tmp_path_factory.mktemp("peer"))
    pair = Pair(db.create_table("people", sample.people(300), namespace_path=[module_space]), local.create_table("people", sample.people(300)))
    pair.both(lambda t: t.add(sample.people(300, start=300, seed=2)))
    fresh = sample.people(150, start=550, seed=3)
    pair.both(lambda t: t.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(fresh))
    return pair


def everything(table) -> pa.Table:
    return table.search().to_arrow()


# Creating


def test_create_from_pandas(make):
    frame = pd.DataFrame({"id": [1, 2, 3], "name": ["a", None, "c"], "score": [0.5, float("nan"), 2.5], "vector": [[1.0, 2.0]] * 3})
    pair = make(data=frame)
    assert pair.same(everything).num_rows == 3
    assert pair.remote.schema == pair.local.schema


def test_create_from_dicts(make):
    pair = make(data=[{"id": i, "vector": [float(i), 0.5], "words": ["a"] * i} for i in range(5)])
    assert pair.same(everything).num_rows == 5


def test_create_from_arrow_keeps_every_column(make):
    pair = make(data=sample.people(100))
    assert_same(pair.same(everything), sample.people(100))


def test_create_with_schema_only_then_add(make):
    pair = make(schema=sample.people(0).schema)
    assert pair.remote.count_rows() == 0
    assert pair.same(everything).num_rows == 0
    pair.both(lambda t: t.add(sample.people(20)))
    assert pair.same(everything).num_rows == 20


def test_create_from_an_iterator_of_batches(make):
    def batches():
        for i in range(5):
            yield from sample.people(40, start=40 * i, seed=i).to_batches()

    pair = make(batches, schema=sample.people(0).schema)
    assert pair.same(everything).num_rows == 200


def test_create_existing_says_so(make, db, space):
    make(data=sample.people(3))
    with pytest.raises(ValueError, match="already exists"):
        db.create_table("t", sample.people(3), namespace_path=[space])
    assert db.open_table("t", namespace_path=[space]).count_rows() == 3


def test_create_exist_ok_keeps_the_rows(make, db, space):
    pair = make(data=sample.people(3))
    again = db.create_table("t", sample.people(9), exist_ok=True, namespace_path=[space])
    assert again.count_rows() == 3
    assert_same(everything(again), everything(pair.local))


def test_create_overwrite_replaces_rows_and_columns(make, db, space, local):
    make(data=sample.people(3))
    other = pa.table({"key": ["x", "y"], "n": [1, 2]})
    remote = db.create_table("t", other, mode="overwrite", namespace_path=[space])
    peer = local.create_table("t", other, mode="overwrite")
    Pair(remote, peer).same(everything)
    assert remote.schema == peer.schema


def test_create_in_a_missing_namespace_fails(db, space):
    with pytest.raises(Exception, match="(?i)namespace"):
        db.create_table("t", sample.people(1), namespace_path=[space, "missing"])


def test_schema_metadata_is_kept(make):
    data = sample.people(2).replace_schema_metadata({"origin": "field trip"})
    pair = make(data=data)
    assert pair.remote.schema.metadata == pair.local.schema.metadata == {b"origin": b"field trip"}


# Opening, listing, dropping


def test_open_table(make, db, space):
    pair = make(data=sample.people(10))
    opened = db.open_table("t", namespace_path=[space])
    assert opened.name == "t"
    assert opened.count_rows() == 10
    assert opened.schema == pair.local.schema


def test_open_missing_table(db, space):
    with pytest.raises(ValueError, match="not found"):
        db.open_table("missing", namespace_path=[space])


def test_drop_table(make, db, space):
    make(data=sample.people(1))
    db.drop_table("t", namespace_path=[space])
    assert db.list_tables(namespace_path=[space]).tables == []
    with pytest.raises(ValueError, match="not found"):
        db.open_table("t", namespace_path=[space])


def test_drop_missing_table_fails(db, space):
    with pytest.raises(Exception, match="(?i)not found|does not exist"):
        db.drop_table("missing", namespace_path=[space])


def test_dropped_name_can_be_used_again(make, db, space):
    make(data=sample.people(5))
    db.drop_table("t", namespace_path=[space])
    again = db.create_table("t", pa.table({"other": [1]}), namespace_path=[space])
    assert everything(again).to_pydict() == {"other": [1]}


def test_table_names_are_paged_by_name(own_server):
    db = own_server.lancedb()
    names = [f"t{i:02}" for i in range(25)]
    for name in reversed(names):
        db.create_table(name, pa.table({"x": [1]}))
    assert list(db.table_names(limit=100)) == names
    assert list(db.table_names()) == names[:10]
    assert list(db.table_names(page_token="t09")) == names[10:20]
    assert list(db.table_names(page_token="t095", limit=3)) == names[10:13]
    assert list(db.table_names(page_token="t24")) == []


def test_list_tables_pages_and_does_not_truncate(db, space):
    names = [f"n{i:03}" for i in range(30)]
    for name in names:
        db.create_table(name, schema=pa.schema([("x", pa.int64())]), namespace_path=[space])
    assert db.list_tables(namespace_path=[space]).tables == names
    seen, token = [], None
    while True:
        page = db.list_tables(namespace_path=[space], page_token=token, limit=7)
        assert len(page.tables) <= 7
        seen += page.tables
        token = page.page_token
        if not token:
            break
    assert seen == names


# Namespaces


def test_namespaces_come_and_go(db, space):
    db.create_namespace([space, "a"], properties={"owner": "ada"})
    db.create_namespace([space, "a", "b"])
    assert db.describe_namespace([space, "a"]).properties == {"owner": "ada"}
    assert db.list_namespaces([space]).namespaces == ["a"]
    assert db.list_namespaces([space, "a"]).namespaces == ["b"]
    db.create_table("deep", sample.people(4), namespace_path=[space, "a", "b"])
    assert db.open_table("deep", namespace_path=[space, "a", "b"]).count_rows() == 4
    assert db.list_tables(namespace_path=[space, "a"]).tables == []
    with pytest.raises(Exception, match="(?i)not empty"):
        db.drop_namespace([space, "a"])
    db.drop_namespace([space, "a"], behavior="Cascade")
    assert db.list_namespaces([space]).namespaces == []


def test_namespace_modes(db, space):
    path = [space, "m"]
    db.create_namespace(path, properties={"v": "1"})
    with pytest.raises(Exception, match="(?i)exists"):
        db.create_namespace(path)
    db.create_namespace(path, mode="exist_ok", properties={"v": "2"})
    assert db.describe_namespace(path).properties == {"v": "1"}
    db.create_namespace(path, mode="overwrite", properties={"v": "3"})
    assert db.describe_namespace(path).properties == {"v": "3"}
    db.drop_namespace(path)
    db.drop_namespace(path, mode="skip")
    with pytest.raises(Exception):
        db.drop_namespace(path)


def test_same_name_in_different_namespaces(db, space):
    for i, namespace in enumerate(["left", "right"]):
        db.create_namespace([space, namespace])
        db.create_table("t", sample.people(i + 1), namespace_path=[space, namespace])
    counts = [db.open_table("t", namespace_path=[space, n]).count_rows() for n in ["left", "right"]]
    assert counts == [1, 2]


# Adding


def test_add_appends_in_order(make):
    pair = make(data=sample.people(10))
    results = pair.both(lambda t: t.add(sample.people(5, start=10, seed=9)))
    assert results[0].version == results[1].version
    assert pair.same(everything)["id"].to_pylist() == list(range(15))


def test_add_a_subset_of_the_columns_in_other_order(make):
    pair = make(data=sample.people(4))
    pair.both(lambda t: t.add(sample.people(3, start=4).select(["name", "vector", "id"])))
    assert pair.same(everything)["grp"].to_pylist()[4:] == [None] * 3


def test_add_a_reader_of_batches(make):
    pair = make(data=sample.people(0))

    def add(table):
        batches = (b for i in range(6) for b in sample.people(50, start=50 * i, seed=i).to_batches())
        return table.add(pa.RecordBatchReader.from_batches(sample.people(0).schema, batches))

    pair.both(add)
    assert pair.same(everything).num_rows == 300


def test_add_many_rows(make):
    rows = pa.table({"id": range(200_000), "x": np.arange(200_000) / 3, "s": [f"row {i % 1000}" for i in range(200_000)]})
    pair = make(data=rows.slice(0, 1000))
    pair.both(lambda t: t.add(rows.slice(1000)))
    assert pair.same(everything).num_rows == 200_000


def test_add_overwrite(make):
    pair = make(data=sample.people(10))
    pair.both(lambda t: t.add(sample.people(2, start=50), mode="overwrite"))
    assert pair.same(everything)["id"].to_pylist() == [50, 51]


def test_add_nothing_adds_nothing(make):
    pair = make(data=sample.people(2))
    pair.both(lambda t: t.add(sample.people(0)))
    assert pair.same(everything).num_rows == 2


def test_nulls_where_there_may_be_none_are_refused(db, space):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("x", pa.int64())])
    table = db.create_table("strict", schema=schema, namespace_path=[space])
    table.add(pa.table({"id": [1], "x": [None]}, schema=schema))
    with pytest.raises(Exception):
        table.add(pa.table({"x": pa.array([2], pa.int64())}))
    assert table.count_rows() == 1


# Filters

# fmt: off
FILTERS = [
    "id = 5", "id != 5", "id <> 5", "id < 10", "id <= 10", "id > 640", "id >= 640", "5 = id", "10 > id",
    "price > 49.99", "price = 50", "price < -5.5", "ratio > 0.5", "ratio <= 0.25",
    "id > 10 AND id < 20", "id < 5 OR id > 695", "NOT id > 5", "NOT (id > 5 AND grp = 3)", "id < 50 AND (grp = 1 OR grp = 2)",
    "grp = 1 OR grp = 2 AND id < 100", "(grp = 1 OR grp = 2) AND id < 100", "not (grp = 1) and id < 5",
    "id IN (1, 2, 3, 650)", "id NOT IN (1, 2, 3)", "name IN ('Ada', '', 'Zoë')", "grp IN (1)", "grp NOT IN (1, 2)", "price IN (50, 51.5)",
    "id BETWEEN 10 AND 12", "id NOT BETWEEN 10 AND 690", "price BETWEEN 0.5 AND 20", "name BETWEEN 'A' AND 'B'",
    "name LIKE 'A%'", "name LIKE '%a%'", "name NOT LIKE '%a%'", "name LIKE '_da%'", "name LIKE 'under\\_score%'", "name LIKE '100\\%%'",
    "name LIKE ''", "name LIKE '%'", "name LIKE 'o''Brien%'", "name LIKE '東_%'",
    "name IS NULL", "name IS NOT NULL", "grp IS NULL", "flag IS NULL OR flag", "tags IS NULL", "spec IS NULL", "raw IS NOT NULL AND id < 20",
    "flag", "NOT flag", "flag = true", "flag = false", "flag IS TRUE", "flag IS NOT TRUE", "flag IS FALSE",
    "name = 'o''Brien'", "name = 'Zoë'", "name = '東京'", "name > 'back'", "name < 'B' AND name <> ''", "`name` = 'Ada'", "name = 'back\\slash'",
    "grp + 1 = 3", "id * 2 > 1390", "id % 100 = 1", "id - grp > 690", "price / 2 > 40", "-id < -690", "(id + grp) * 2 < 20",
    "day = date '2024-01-05'", "day > date '2025-01-01'", "at < timestamp '2024-01-01 12:10:00'", "day BETWEEN date '2024-02-01' AND date '2024-02-05'",
    "spec.w = 3", "spec.h > 20", "spec.label = 'L1'", "spec.label IS NULL", "spec.w IN (1, 2) AND spec.h IS NULL",
    "cast(id as string) = '12'", "CAST(price AS int) = 50", "upper(name) = 'ADA'", "length(name) = 3",
    "id = 1 OR grp = NULL", "grp = grp", "id = 9223372036854775807", "id > -1", "price > id", "grp < ratio * 10",
    "true", "false", "1 = 1", "name = 'nobody'", "id IN (1)", "id NOT IN (1, 2) AND id < 6",
]
# fmt: on


@pytest.mark.parametrize("condition", FILTERS)
def test_filter(people, condition):
    ask = lambda t: t.search().where(condition).select(["id", "name", "price"]).to_arrow()
    rows = people.same(ask).num_rows
    assert people.remote.count_rows(condition) == people.local.count_rows(condition) == rows


@pytest.mark.parametrize("condition", ["nope = 1", "spec.nope = 1", "id ="])
def test_wrong_filter_is_the_users_mistake(people, condition):
    """A 404 would make this client tell its user that the table is gone."""
    for ask in (lambda: people.remote.search().where(condition).to_arrow(), lambda: people.remote.count_rows(condition)):
        with pytest.raises(Exception) as raised:
            ask()
        assert "400 Bad Request" in str(raised.value)
        assert condition.endswith("=") or "nope" in str(raised.value)


# Scans


def test_scan_answers_all_rows_of_all_types(people):
    assert people.same(everything).num_rows == ROWS


@pytest.mark.parametrize("limit,offset", [(1, 0), (10, 0), (10, 5), (7, 295), (50, 298), (300, 299), (5, 699), (5, 700), (5, 5000), (1000, 0), (1000, 650)])
def test_limit_and_offset(people, limit, offset):
    rows = people.same(lambda t: t.search().limit(limit).offset(offset).to_arrow()).num_rows
    assert rows == max(0, min(limit, ROWS - offset))


@pytest.mark.parametrize("limit,offset", [(3, 0), (3, 2), (100, 90), (5, 100)])
def test_limit_and_offset_of_a_filter(people, limit, offset):
    people.same(lambda t: t.search().where("grp = 4").limit(limit).offset(offset).to_arrow())


@pytest.mark.parametrize(
    "columns",
    [["id"], ["vector"], ["name", "id"], ["spec"], ["spec.w", "id"], ["tags", "raw", "at"], {"twice": "id * 2", "loud": "upper(name)"}, {"id": "id", "w": "spec.w"}],
    ids=str,
)
def test_select(people, columns):
    want = sorted(columns) if isinstance(columns, dict) else columns
    for rows in (lambda t: t.search().select(columns), lambda t: t.search().where("id > 290").limit(20).select(columns)):
        people.same(lambda t: rows(t).to_arrow().select(want))


def test_row_ids(people):
    answer = people.same(lambda t: t.search().select(["id"]).with_row_id(True).limit(ROWS).to_arrow())
    assert answer.schema.field("_rowid").type == pa.uint64()
    assert len(set(answer["_rowid"].to_pylist())) == ROWS


def test_rows_by_row_id_and_offset(people):
    ids = people.local.search().select(["id"]).with_row_id(True).where("id IN (3, 400, 699)").to_arrow()["_rowid"].to_pylist()
    people.same(lambda t: t.take_row_ids(ids).select(["id", "name"]).to_arrow(), sort=("id",))
    people.same(lambda t: t.take_offsets([0, 5, 350, 699]).select(["id", "name"]).to_arrow(), sort=("id",))


def test_head(people):
    people.same(lambda t: t.head(4))


def test_other_forms_of_the_answer(people):
    ask = lambda t: t.search().where("id < 30").select(["id", "name", "price", "vector"])
    frames = [ask(t).to_pandas() for t in (people.remote, people.local)]
    pd.testing.assert_frame_equal(*frames)
    assert ask(people.remote).select(["id"]).to_list() == ask(people.local).select(["id"]).to_list()
    batches = ask(people.remote).to_batches()
    assert_same(pa.Table.from_batches(list(batches)), ask(people.local).to_arrow())


# Vector search


def query(seed: int = 11, dimensions: int = sample.DIMENSIONS) -> list[float]:
    return np.random.default_rng(seed).normal(size=dimensions).astype(np.float32).tolist()


@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
@pytest.mark.parametrize("k", [1, 10, 300, 1000])
def test_nearest(people, metric, k):
    answer = people.same(lambda t: t.search(query()).distance_type(metric).limit(k).to_arrow())
    assert answer.num_rows == min(k, ROWS)
    assert answer.schema.field("_distance").type == pa.float32()


def test_nearest_without_limit_is_ten(people):
    assert people.same(lambda t: t.search(query(3)).to_arrow()).num_rows == 10


@pytest.mark.parametrize("condition", ["grp = 2", "id < 5", "price > 60 AND flag", "name IS NULL", "false"])
@pytest.mark.parametrize("prefilter", [True, False])
def test_nearest_with_filter(people, condition, prefilter):
    people.same(lambda t: t.search(query(5)).where(condition, prefilter=prefilter).limit(12).to_arrow())


@pytest.mark.parametrize("offset,limit", [(0, 5), (3, 5), (20, 10), (690, 20), (800, 5)])
def test_nearest_skips_the_offset_first(people, offset, limit):
    people.same(lambda t: t.search(query(6)).limit(limit).offset(offset).select(["id"]).to_arrow())


@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
def test_distance_range(people, metric):
    distances = people.local.search(query(7)).distance_type(metric).limit(ROWS).to_arrow()["_distance"].to_pylist()
    # Between two distances, so that rounding does not decide.
    low, high = (distances[49] + distances[50]) / 2, (distances[89] + distances[90]) / 2
    ask = lambda t: t.search(query(7)).distance_type(metric)
    assert people.same(lambda t: ask(t).distance_range(low, high).limit(ROWS).to_arrow()).num_rows == 40
    assert people.same(lambda t: ask(t).distance_range(lower_bound=low).limit(20).to_arrow()).num_rows == 20
    assert people.same(lambda t: ask(t).distance_range(upper_bound=low).limit(100).to_arrow()).num_rows == 50


def test_distance_range_holds_its_lower_end_and_not_its_upper(make):
    pair = make(data=pa.table({"id": range(6), "vector": pa.array([[float(i), 0.0] for i in range(6)], pa.list_(pa.float32(), 2))}))
    answer = pair.same(lambda t: t.search([0.0, 0.0]).distance_range(1.0, 16.0).to_arrow())
    assert answer["_distance"].to_pylist() == [1.0, 4.0, 9.0]


@pytest.mark.parametrize("columns", [["id"], ["_distance", "id"], ["id", "_distance", "name"], ["vector"], ["spec", "tags"], {"plus": "id + 1"}], ids=str)
def test_nearest_select(people, columns):
    people.same(lambda t: t.search(query(8)).limit(4).select(columns).to_arrow())


def test_nearest_with_row_id(people):
    people.same(lambda t: t.search(query(9)).limit(6).select(["id"]).with_row_id(True).to_arrow())
    people.same(lambda t: t.search(query(9)).limit(6).with_row_id(True).to_arrow())


@pytest.mark.parametrize("prefilter", [True, False])
def test_several_query_vectors(people, prefilter):
    queries = [query(s) for s in (20, 21, 22)]
    ask = lambda t: t.search(queries).where("id < 500", prefilter=prefilter).limit(5).select(["id"]).to_arrow()
    answer = people.same(ask, sort=("query_index", "_distance"))
    assert answer.schema.field("query_index") == pa.field("query_index", pa.int32(), nullable=False)
    if prefilter:
        assert answer["query_index"].to_pylist() == [0] * 5 + [1] * 5 + [2] * 5


def test_bypass_index_is_the_same_without_one(people):
    people.same(lambda t: t.search(query(10)).bypass_vector_index().limit(5).to_arrow())


def test_hints_of_indexes_change_nothing(people):
    plain = people.remote.search(query(10)).limit(5).to_arrow()
    assert_same(people.remote.search(query(10)).nprobes(3).refine_factor(2).limit(5).to_arrow(), plain)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
def test_vectors_of_each_width(make, dtype, metric):
    data = pa.table({"id": range(200), "emb": sample.vectors(200, 8, seed=4, dtype=dtype)})
    pair = make(data=data)
    ask = lambda t: t.search(query(1, 8), vector_column_name="emb").distance_type(metric).limit(5)
    remote, local = (ask(t).to_arrow() for t in (pair.remote, pair.local))
    assert remote["id"].to_pylist() == local["id"].to_pylist()
    tolerance = 2e-3 if dtype == np.float16 else 1e-5
    np.testing.assert_allclose(remote["_distance"].to_numpy(), local["_distance"].to_numpy(), rtol=tolerance, atol=tolerance)


def test_one_of_two_vector_columns(make):
    data = pa.table({"id": range(50), "a": sample.vectors(50, 4, seed=1), "b": sample.vectors(50, 6, seed=2)})
    pair = make(data=data)
    pair.same(lambda t: t.search(query(1, 4), vector_column_name="a").limit(5).to_arrow())
    pair.same(lambda t: t.search(query(1, 6), vector_column_name="b").limit(5).to_arrow())


def test_null_vectors_are_never_near(make):
    vectors = pa.array([[1.0, 0.0], None, [0.0, 1.0], None, [0.5, 0.5]], pa.list_(pa.float32(), 2))
    pair = make(data=pa.table({"id": range(5), "vector": vectors}), on_bad_vectors="null")
    answer = pair.same(lambda t: t.search([1.0, 0.0]).limit(10).to_arrow())
    assert answer["id"].to_pylist() == [0, 4, 2]


@pytest.mark.parametrize("vector", [[1.0, 2.0, 3.0], [[1.0] * 3, [2.0] * 3]], ids=["one", "several"])
def test_wrong_query_vector_is_the_users_mistake(people, vector):
    with pytest.raises(Exception, match="dimension") as raised:
        people.remote.search(vector, vector_column_name="vector").limit(3).to_arrow()
    assert "400" in str(raised.value)


# Merging


def merge(rows, *on, update=True, insert=True):
    def run(table):
        builder = table.merge_insert(list(on))
        builder = builder.when_matched_update_all() if update else builder
        builder = builder.when_not_matched_insert_all() if insert else builder
        return builder.execute(rows)

    return run


def counters(result) -> tuple:
    return result.version, result.num_inserted_rows, result.num_updated_rows, result.num_deleted_rows


@pytest.mark.parametrize("update,insert", [(True, True), (True, False), (False, True)])
def test_merge_on_one_key(make, update, insert):
    pair = make(data=sample.people(50))
    results = pair.both(merge(sample.people(30, start=35, seed=8), "id", update=update, insert=insert))
    assert counters(results[0]) == counters(results[1])
    pair.same(everything, sort=("id",))


def test_merge_again_and_again(make):
    pair = make(data=sample.people(40))
    for i in range(6):
        results = pair.both(merge(sample.people(20, start=10 * i, seed=i), "id"))
        assert counters(results[0]) == counters(results[1])
        pair.same(everything, sort=("id",))
    assert pair.remote.count_rows() == 70


def test_merge_on_several_keys(make):
    rows = lambda n, v: pa.table({"a": [i % 3 for i in range(n)], "b": [f"k{i // 3}" for i in range(n)], "v": [v] * n})
    pair = make(data=rows(12, 1))
    results = pair.both(merge(rows(20, 2), "a", "b"))
    assert counters(results[0]) == counters(results[1]) == (2, 8, 12, 0)
    pair.same(everything, sort=("a", "b"))


@pytest.mark.parametrize(
    "key",
    [pa.array(["x", "o'k", ""]), pa.array([b"a", b"\0", b""]), pa.array([1, 2, 3], pa.int16()), pa.array([True, False, None]),
     pa.array([1, 2, 3], pa.date32()), pa.array([1, 2, 3], pa.timestamp("us")), pa.array([1, 2, None], pa.uint64())],
    ids=lambda a: str(a.type),
)  # fmt: skip
def test_merge_on_keys_of_each_type(make, key):
    pair = make(data=pa.table({"k": key, "v": [1, 2, 3]}))
    pair.both(merge(pa.table({"k": key.slice(0, 2), "v": [10, 20]}), "k"))
    pair.same(everything, sort=("v",))


def test_merge_does_not_match_null_keys(make):
    pair = make(data=pa.table({"k": pa.array([1, None]), "v": [1, 2]}))
    results = pair.both(merge(pa.table({"k": pa.array([None, 1]), "v": [20, 10]}), "k"))
    assert counters(results[0]) == counters(results[1])
    pair.same(everything, sort=("v",))


def test_merge_of_fewer_columns_keeps_the_others(make):
    pair = make(data=sample.people(20))
    rows = pa.table({"id": pa.array([3, 4], pa.int64()), "name": ["new", None]})
    pair.both(merge(rows, "id", insert=False))
    pair.same(everything, sort=("id",))


def test_merge_with_two_rows_for_one_is_refused(make):
    pair = make(data=sample.people(5))
    twice = pa.concat_tables([sample.people(2), sample.people(2, seed=5)])
    for table in (pair.remote, pair.local):
        with pytest.raises(Exception, match="(?i)ambiguous"):
            merge(twice, "id")(table)
    assert pair.same(everything, sort=("id",)).num_rows == 5


def test_merge_on_a_missing_column_is_refused(make):
    pair = make(data=sample.people(5))
    with pytest.raises(Exception, match="nope"):
        merge(sample.people(2), "nope")(pair.remote)
    assert pair.remote.count_rows() == 5


# Versions


def test_versions_are_listed_and_read(make):
    pair = make(data=sample.people(10))
    pair.both(lambda t: t.add(sample.people(10, start=10)))
    pair.both(merge(sample.people(10, start=15, seed=3), "id"))
    numbers = [[v["version"] for v in t.list_versions()] for t in (pair.remote, pair.local)]
    assert numbers[0] == numbers[1] == [1, 2, 3]
    assert pair.remote.version == 3
    times = [v["timestamp"] for v in pair.remote.list_versions()]
    assert times == sorted(times)
    for version in (1, 2, 3):
        pair.both(lambda t: t.checkout(version))
        assert pair.remote.version == version
        assert pair.remote.count_rows() == pair.local.count_rows()
        pair.same(everything, sort=("id",))
        pair.same(lambda t: t.search(query()).limit(5).select(["id"]).to_arrow())
    pair.both(lambda t: t.checkout_latest())
    assert pair.same(everything, sort=("id",)).num_rows == 25


def test_open_at_a_version(make, db, space):
    pair = make(data=sample.people(3))
    pair.both(lambda t: t.add(sample.people(1, start=3)))
    assert db.open_table("t", version=1, namespace_path=[space]).count_rows() == 3
    with pytest.raises(Exception, match="(?i)not found|no such version"):
        db.open_table("t", version=9, namespace_path=[space])


def test_checked_out_version_has_the_columns_of_its_time(make, db, space):
    table = db.create_table("t", pa.table({"a": [1]}), namespace_path=[space])
    db.create_table("t", pa.table({"b": ["x"]}), mode="overwrite", namespace_path=[space])
    table.checkout(1)
    assert everything(table).to_pydict() == {"a": [1]}
    table.checkout_latest()
    assert everything(table).to_pydict() == {"b": ["x"]}


def test_stats(people):
    got, want = people.remote.stats(), people.local.stats()
    for key in ("num_rows", "num_indices"):
        assert got[key] == want[key]
    assert got["total_bytes"] > 0
    lengths = got["fragment_stats"]["lengths"]
    assert got["fragment_stats"]["num_fragments"] >= 3
    assert 0 < lengths["min"] <= lengths["p25"] <= lengths["p50"] <= lengths["p75"] <= lengths["p99"] <= lengths["max"]


def test_location_opens_in_lance(people, directory):
    import lance

    assert_same(lance.dataset(people.remote.uri).to_table(), everything(people.local))


# What is not there yet says so, and is not retried


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.update(where="id = 1", values={"name": "x"}),
        lambda t: t.delete("id = 1"),
        lambda t: t.add_columns({"twice": "id * 2"}),
        lambda t: t.drop_columns(["name"]),
        lambda t: t.create_scalar_index("id"),
        lambda t: t.tags.create("first", 1),
        lambda t: t.restore(1),
        lambda t: t.search("words", query_type="fts").to_arrow(),
        lambda t: t.merge_insert("id").when_matched_update_all(where="target.id > 1").execute(sample.people(1)),
    ],
    ids=["update", "delete", "add_columns", "drop_columns", "create_scalar_index", "tags", "restore", "fts", "merge where"],
)
def test_unsupported_operations_say_so(db, space, call):
    table = db.create_table("t", sample.people(3), namespace_path=[space])
    with pytest.raises(Exception, match="(?i)not supported"):
        call(table)
    assert_same(everything(table), sample.people(3))
    assert table.version == 1


# The asynchronous client


def test_async_client(server, space):
    async def run():
        db = await lancedb.connect_async("db://e2e", api_key=server.token, host_override=server.url)
        table = await db.create_table("a", sample.people(30), namespace_path=[space])
        await table.add(sample.people(5, start=30))
        near = await (await table.search(query())).limit(3).to_arrow()
        rows = await table.query().where("id > 30").select(["id"]).to_arrow()
        return near, rows, await table.count_rows(), await db.table_names(namespace_path=[space])

    near, rows, count, names = asyncio.run(run())
    assert near.num_rows == 3 and near["_distance"].to_pylist() == sorted(near["_distance"].to_pylist())
    assert rows["id"].to_pylist() == [31, 32, 33, 34]
    assert count == 35 and list(names) == ["a"]


def test_many_threads_share_one_client(people):
    import concurrent.futures

    want = people.local.search(query()).limit(5).to_arrow()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: people.remote.search(query()).limit(5).to_arrow(), range(64)))
    for answer in answers:
        assert_same(answer, want)
