"""Queries of the unmodified LanceDB client: filters, scans and vector searches, each on a table
of our server and on the same table in process, compared row by row."""

from __future__ import annotations

import concurrent.futures

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sample
from pair import everything
from rows import assert_same
from sample import query

ROWS = 700  # of the people

# Filters

FILTERS = r"""
id = 5
id != 5
id <> 5
id < 10
id <= 10
id > 640
id >= 640
5 = id
10 > id
price > 49.99
price = 50
price < -5.5
ratio > 0.5
ratio <= 0.25
id > 10 AND id < 20
id < 5 OR id > 695
NOT id > 5
NOT (id > 5 AND grp = 3)
id < 50 AND (grp = 1 OR grp = 2)
grp = 1 OR grp = 2 AND id < 100
(grp = 1 OR grp = 2) AND id < 100
not (grp = 1) and id < 5
id IN (1, 2, 3, 650)
id NOT IN (1, 2, 3)
name IN ('Ada', '', 'Zoë')
grp IN (1)
grp NOT IN (1, 2)
price IN (50, 51.5)
id BETWEEN 10 AND 12
id NOT BETWEEN 10 AND 690
price BETWEEN 0.5 AND 20
name BETWEEN 'A' AND 'B'
name LIKE 'A%'
name LIKE '%a%'
name NOT LIKE '%a%'
name LIKE '_da%'
name LIKE 'under\_score%'
name LIKE '100\%%'
name LIKE ''
name LIKE '%'
name LIKE 'o''Brien%'
name LIKE '東_%'
name IS NULL
name IS NOT NULL
grp IS NULL
flag IS NULL OR flag
tags IS NULL
spec IS NULL
raw IS NOT NULL AND id < 20
flag
NOT flag
flag = true
flag = false
flag IS TRUE
flag IS NOT TRUE
flag IS FALSE
name = 'o''Brien'
name = 'Zoë'
name = '東京'
name > 'back'
name < 'B' AND name <> ''
`name` = 'Ada'
name = 'back\slash'
grp + 1 = 3
id * 2 > 1390
id % 100 = 1
id - grp > 690
price / 2 > 40
-id < -690
(id + grp) * 2 < 20
day = date '2024-01-05'
day > date '2025-01-01'
at < timestamp '2024-01-01 12:10:00'
day BETWEEN date '2024-02-01' AND date '2024-02-05'
spec.w = 3
spec.h > 20
spec.label = 'L1'
spec.label IS NULL
spec.w IN (1, 2) AND spec.h IS NULL
cast(id as string) = '12'
CAST(price AS int) = 50
upper(name) = 'ADA'
length(name) = 3
id = 1 OR grp = NULL
grp = grp
id = 9223372036854775807
id > -1
price > id
grp < ratio * 10
true
false
1 = 1
name = 'nobody'
id IN (1)
id NOT IN (1, 2) AND id < 6
""".strip().splitlines()


@pytest.mark.parametrize("condition", FILTERS)
@pytest.mark.many
def test_filter(people, condition):
    ask = lambda t: t.search().where(condition).select(["id", "name", "price"]).to_arrow()
    rows = people.same(ask).num_rows
    assert people.remote.count_rows(condition) == people.local.count_rows(condition) == rows


@pytest.mark.parametrize("condition", ["nope = 1", "spec.nope = 1", "id ="])
def test_wrong_filter_is_the_users_mistake(people, condition):
    """A 404 would make this client report to its user that the table is gone."""
    for ask in (
        lambda: people.remote.search().where(condition).to_arrow(),
        lambda: people.remote.count_rows(condition),
    ):
        with pytest.raises(Exception) as raised:
            ask()
        assert "400 Bad Request" in str(raised.value)
        assert condition.endswith("=") or "nope" in str(raised.value)


# Scans


def test_scan_answers_all_rows_of_all_types(people):
    assert people.same(everything).num_rows == ROWS


@pytest.mark.parametrize(
    "limit,offset",
    [(1, 0), (10, 0), (10, 5), (7, 295), (50, 298), (300, 299), (5, 699), (5, 700), (5, 5000), (1000, 0), (1000, 650)],
)
def test_limit_and_offset(people, limit, offset):
    rows = people.same(lambda t: t.search().limit(limit).offset(offset).to_arrow()).num_rows
    assert rows == max(0, min(limit, ROWS - offset))


@pytest.mark.parametrize("offset", [1, 299, 699, 700])
def test_offset_without_limit(people, offset):
    people.same(lambda t: t.search().offset(offset).to_arrow())
    people.same(lambda t: t.search().where("grp = 4").offset(offset).select(["id"]).to_arrow())


@pytest.mark.parametrize("limit,offset", [(3, 0), (3, 2), (100, 90), (5, 100)])
def test_limit_and_offset_of_a_filter(people, limit, offset):
    people.same(lambda t: t.search().where("grp = 4").limit(limit).offset(offset).to_arrow())


@pytest.mark.parametrize(
    "columns",
    [
        ["id"],
        ["vector"],
        ["name", "id"],
        ["spec"],
        ["spec.w", "id"],
        ["tags", "raw", "at"],
        {"twice": "id * 2", "loud": "upper(name)"},
        {"id": "id", "w": "spec.w"},
        ["*"],
    ],
    ids=str,
)
def test_select(people, columns):
    want = sorted(columns) if isinstance(columns, dict) else people.local.schema.names if columns == ["*"] else columns
    for rows in (
        lambda t: t.search().select(columns),
        lambda t: t.search().where("id > 290").limit(20).select(columns),
    ):
        people.same(lambda t: rows(t).to_arrow().select(want))


def test_select_of_what_cannot_be_null(people):
    columns = {"a": "coalesce(grp, 0)", "b": "grp IS NULL", "c": "grp + 1", "d": "flag IS TRUE", "e": "nvl2(grp, 1, 2)"}
    people.same(lambda t: t.search().limit(20).select(columns).to_arrow())


@pytest.mark.parametrize("columns", [["id", "id"], ["name", "id", "name"]], ids=str)
def test_a_column_is_answered_once(people, columns):
    for table in (people.remote, people.local):
        with pytest.raises(Exception, match="twice|Duplicate"):
            table.search().limit(3).select(columns).to_arrow()


def test_row_ids(people):
    answer = people.same(lambda t: t.search().select(["id"]).with_row_id(True).limit(ROWS).to_arrow())
    assert answer.schema.field("_rowid").type == pa.uint64()
    assert len(set(answer["_rowid"].to_pylist())) == ROWS
    for wanted in (True, False):  # they come last when they are wanted beside the columns
        people.same(lambda t: t.search().select(["_rowid", "id"]).with_row_id(wanted).limit(5).to_arrow())


def test_rows_by_row_id_and_offset(people):
    ids = (
        people.local.search()
        .select(["id"])
        .with_row_id(True)
        .where("id IN (3, 400, 699)")
        .to_arrow()["_rowid"]
        .to_pylist()
    )
    people.same(lambda t: t.take_row_ids(ids).select(["id", "name"]).to_arrow(), sort=("id",))
    people.same(lambda t: t.take_offsets([0, 5, 350, 699]).select(["id", "name"]).to_arrow(), sort=("id",))


def test_head(people):
    for rows in (4, 0, 10_000):
        people.same(lambda t: t.head(rows))


def test_other_forms_of_the_answer(people):
    ask = lambda t: t.search().where("id < 30").select(["id", "name", "price", "vector"])
    frames = [ask(t).to_pandas() for t in (people.remote, people.local)]
    pd.testing.assert_frame_equal(*frames)
    assert ask(people.remote).select(["id"]).to_list() == ask(people.local).select(["id"]).to_list()
    batches = ask(people.remote).to_batches()
    assert_same(pa.Table.from_batches(list(batches)), ask(people.local).to_arrow())


# Vector search


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
    pair = make(
        data=pa.table(
            {"id": range(6), "vector": pa.array([[float(i), 0.0] for i in range(6)], pa.list_(pa.float32(), 2))}
        )
    )
    answer = pair.same(lambda t: t.search([0.0, 0.0]).distance_range(1.0, 16.0).to_arrow())
    assert answer["_distance"].to_pylist() == [1.0, 4.0, 9.0]


@pytest.mark.parametrize(
    "columns",
    [["id"], ["_distance", "id"], ["id", "_distance", "name"], ["vector"], ["spec", "tags"], {"plus": "id + 1"}],
    ids=str,
)
def test_nearest_select(people, columns):
    people.same(lambda t: t.search(query(8)).limit(4).select(columns).to_arrow())


@pytest.mark.parametrize("columns", [{"d": "_distance"}, {"_distance": "_distance", "id": "id"}, {"d": "_distance * 2 + id", "e": "round(_distance)"}], ids=str)
def test_distances_in_expressions(people, columns):
    people.same(lambda t: t.search(query(8)).limit(9).select(columns).to_arrow())
    people.same(lambda t: t.search(query(8)).limit(9).select(columns).where("_distance > 20 AND id > 9", prefilter=False).to_arrow())


def test_distances_are_not_known_before_the_search(people):
    for table in (people.remote, people.local):
        with pytest.raises(Exception, match="_distance"):
            table.search(query(8)).limit(9).where("_distance > 20").to_arrow()


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
    np.testing.assert_allclose(
        remote["_distance"].to_numpy(), local["_distance"].to_numpy(), rtol=tolerance, atol=tolerance
    )


def test_one_of_two_vector_columns(make):
    data = pa.table({"id": range(50), "a": sample.vectors(50, 4, seed=1), "b": sample.vectors(50, 6, seed=2)})
    pair = make(data=data)
    pair.same(lambda t: t.search(query(1, 4), vector_column_name="a").limit(5).to_arrow())
    pair.same(lambda t: t.search(query(1, 6), vector_column_name="b").limit(5).to_arrow())


def test_vectors_are_of_the_column_that_has_their_dimensions(make):
    docs = pa.StructArray.from_arrays([sample.vectors(50, 8, seed=3)], ["emb"])
    columns = {"a": sample.vectors(50, 4, seed=1), "b": sample.vectors(50, 6, seed=2), "doc": docs, "c": sample.vectors(50, 4, seed=4)}
    pair = make(data=pa.table({"id": range(50), **columns}))
    for dimensions in (6, 8):
        pair.same(lambda t: t.search(query(1, dimensions)).limit(5).to_arrow())
        pair.same(lambda t: t.search([query(1, dimensions)]).limit(5).select(["id"]).to_arrow())
    for dimensions in (4, 5):  # two columns, and none
        for table in (pair.remote, pair.local):
            with pytest.raises(Exception, match="vector.column"):
                table.search(query(1, dimensions)).limit(5).to_arrow()


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


def test_many_threads_share_one_client(people):
    want = people.local.search(query()).limit(5).to_arrow()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: people.remote.search(query()).limit(5).to_arrow(), range(64)))
    for answer in answers:
        assert_same(answer, want)
