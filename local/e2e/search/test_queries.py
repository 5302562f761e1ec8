"""Random queries of the service and of native Lance over the same files.

Native Lance creates a table of several fragments with deletions, which is registered. The
queries are random: orders by several columns with limits and offsets, searches of vectors of
each width by each metric, filters before and after, bounds, lists of vectors, several vectors
at once. Native Lance reads the same version, and its results must be equal.
"""

from __future__ import annotations

import lance
import lancedb
import numpy as np
import pyarrow as pa
import pytest
from lance.dataset import ColumnOrdering

import sample
from rows import assert_same

pytestmark = pytest.mark.engine

ROWS = 1_500
DIMENSIONS = 8
WIDTHS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
FLOATS = ["l2", "cosine", "dot"]
SORTABLE = ["grp", "price", "ratio", "name", "flag", "day", "at", "raw", "odd", "dec", "spec.w", "tags", "spec"]
FILTERS = [
    None,
    "grp = 3",
    "id < 40",
    "price > 50 AND flag",
    "name LIKE 'A%' OR grp IS NULL",
    "id % 10 IN (1, 2, 3)",
    "spec.w > 4",
    "id < 0",
]


def rows(start: int, count: int) -> pa.Table:
    random = np.random.default_rng(start)
    table = sample.people(count, start=start, seed=start + 1).drop_columns(["vector"])
    odd = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5, 5e-324])
    table = table.append_column("odd", pa.array(random.choice(odd, count), mask=random.random(count) < 0.1))
    decimals = pa.array(random.integers(-50, 50, count)).cast(pa.decimal128(30, 2))
    table = table.append_column("dec", decimals)
    for name, dtype in WIDTHS.items():
        table = table.append_column(name, sample.vectors(count, DIMENSIONS, seed=start + 7, dtype=dtype))
        table = table.append_column("many_" + name, lists(random.normal(size=(count * 4, DIMENSIONS)).astype(dtype), count))
    noise = random.integers(0, 256, (count, DIMENSIONS)).astype(np.uint8)
    table = table.append_column("bits", pa.FixedSizeListArray.from_arrays(pa.array(noise.ravel()), DIMENSIONS))
    noise = random.integers(0, 256, (count * 4, DIMENSIONS)).astype(np.uint8)
    return table.append_column("many_bits", lists(noise, count))


def lists(vectors: np.ndarray, count: int) -> pa.Array:
    """Lists of zero to three vectors, some of them null."""
    lengths = np.arange(count) % 4
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    items = pa.FixedSizeListArray.from_arrays(pa.array(vectors[: offsets[-1]].ravel()), DIMENSIONS)
    missing = pa.array((np.arange(count) % 4 == 0) & (np.arange(count) % 8 == 0))
    return pa.ListArray.from_arrays(offsets, items, mask=missing)


class Both:
    """The table at ours and in native Lance."""

    def __init__(self, wire, path: str, native: lance.LanceDataset):
        self.wire, self.path, self.native = wire, path, native

    def ask(self, **fields) -> pa.Table:
        answer = self.wire.post(f"{self.path}/query", {"vector": [], "k": 0, **fields})
        assert answer.status == 200, (fields, answer.body)
        return answer.table

    def plan(self, **fields) -> str:
        answer = self.wire.post(f"{self.path}/explain_plan", {"query": {"vector": [], "k": 0, **fields}})
        assert answer.status == 200, (fields, answer.body)
        return answer.json


@pytest.fixture(scope="module")
def both(server, outside, module_space) -> Both:
    place = outside / f"queries-{module_space}.lance"
    native = lance.write_dataset(rows(0, ROWS - 300), place, max_rows_per_file=400)
    native.delete("id % 13 = 5")
    native = lance.write_dataset(rows(ROWS - 300, 300), place, mode="append")
    wire = server.wire()
    path = f"/v1/table/{module_space}$queries"
    assert wire.post(f"{path}/register", {"location": str(place)}).status == 200
    yield Both(wire, path, native)
    wire.close()


def some(random: np.random.Generator, values: list, least: int = 0) -> list:
    """Some of the values, in any order."""
    return list(random.permutation(values)[: random.integers(least, len(values) + 1)])


@pytest.mark.parametrize("seed", range(60))
def test_orders(both, seed):
    random = np.random.default_rng(seed)
    keys = [
        {"column_name": str(c), "ascending": bool(random.integers(2)), "nulls_first": bool(random.integers(2))}
        for c in some(random, SORTABLE, 1)[:3]
    ]
    # Native Lance leaves equal rows in any order, so there are none.
    keys.append({"column_name": "id", "ascending": bool(random.integers(2)), "nulls_first": False})
    condition = FILTERS[random.integers(len(FILTERS))]
    offset, limit = int(random.choice([0, 0, 3, 200])), int(random.choice([0, 1, 10, 500]))
    got = both.ask(order_by=keys, filter=condition, columns=["id", "name"], offset=offset, k=limit)
    # It also wants to answer the columns that it sorts by.
    ordering = [ColumnOrdering(k["column_name"], ascending=k["ascending"], nulls_first=k["nulls_first"]) for k in keys]
    want = both.native.to_table(filter=condition, order_by=ordering, with_row_id=True, offset=offset, limit=limit or None)
    assert_same(got, want.select(["id", "name"]), f"{keys}, {condition}, {offset}, {limit}")


@pytest.mark.parametrize("column", ["f16", "f32", "f64", "bits"])
@pytest.mark.parametrize("lists_of", [False, True], ids=["vectors", "lists"])
@pytest.mark.parametrize("seed", range(8))
def test_searches(both, column, lists_of, seed):
    random = np.random.default_rng(seed)
    metric = "hamming" if column == "bits" else FLOATS[random.integers(3)]
    condition, prefilter = FILTERS[random.integers(len(FILTERS))], bool(random.integers(2))
    offset, k = int(random.choice([0, 0, 4])), int(random.choice([1, 10, 300]))
    count = int(random.integers(1, 4)) if lists_of else 1
    queries = (random.integers(0, 256, (count, DIMENSIONS)) if column == "bits" else random.normal(size=(count, DIMENSIONS))).astype(
        np.uint8 if column == "bits" else WIDTHS[column]
    )
    name = "many_" + column if lists_of else column
    search = {"column": name, "q": queries if lists_of else queries[0], "k": k + offset, "metric": metric}
    ours = {"vector_column": name, "distance_type": metric, "k": k, "offset": offset, "vector": queries.tolist() if lists_of else queries[0].tolist()}
    if random.integers(3) == 0:
        everything = both.native.to_table(columns=["id", "_distance"], nearest={**search, "k": ROWS})["_distance"].to_pylist()
        low, high = (float((everything[i] + everything[i + 1]) / 2) for i in (10, 80))
        search["distance_range"] = (low, high)
        ours |= {"lower_bound": low, "upper_bound": high}
    got = both.ask(**ours, columns=["id", "name"], filter=condition, prefilter=prefilter)
    want = both.native.to_table(columns=["id", "name", "_distance"], nearest=search, filter=condition, prefilter=prefilter)
    want = want.slice(offset, k)
    if column == "f16":  # which is summed up another way
        same_but_for_rounding(got, want)
    else:
        assert_same(got, want, f"{ours}, {condition}, {prefilter}")


def same_but_for_rounding(got: pa.Table, want: pa.Table) -> None:
    np.testing.assert_allclose(got["_distance"], want["_distance"], rtol=4e-3, atol=4e-3)
    assert len(set(got["id"].to_pylist()) ^ set(want["id"].to_pylist())) <= 4


@pytest.mark.parametrize("lists_of", [False, True], ids=["vectors", "lists"])
def test_several_vectors(both, lists_of):
    """Of single vectors they are several queries, of lists they are one."""
    queries = np.random.default_rng(5).normal(size=(3, DIMENSIONS)).astype(np.float32)
    name = "many_f32" if lists_of else "f32"
    got = both.ask(vector=queries.tolist(), vector_column=name, k=7, columns=["id"], with_row_id=True)
    assert ("query_index" in got.column_names) == (not lists_of)
    for i, q in enumerate([queries] if lists_of else queries):
        want = both.native.to_table(columns=["id", "_distance"], nearest={"column": name, "q": q, "k": 7}, with_row_id=True)
        part = got.slice(7 * i, 7)
        assert_same(part.select(["id", "_distance", "_rowid"]), want.select(["id", "_distance", "_rowid"]))
        if not lists_of:
            assert part["query_index"].to_pylist() == [i] * 7


def test_vectors_without_a_direction(both, outside, module_space):
    """Zeros and NaN in vectors, alone and in lists, by cosine and by the others."""
    place = outside / f"directions-{module_space}.lance"
    odd = [[0.0, 0.0], [1.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [0.5, 0.5]]
    many = [[odd[0]], [odd[0], odd[1]], [odd[1], odd[2]], [odd[2]], [odd[3], odd[4]]]
    vector = pa.list_(pa.float32(), 2)
    table = pa.table({"id": range(5), "one": pa.array(odd, vector), "many": pa.array(many, pa.list_(vector))})
    native = lance.write_dataset(table, place)
    path = f"/v1/table/{module_space}$directions"
    assert both.wire.post(f"{path}/register", {"location": str(place)}).status == 200
    pair = Both(both.wire, path, native)
    for metric in FLOATS:
        for column in ("one", "many"):
            q = np.array([1.0, 2.0], np.float32)
            want = native.to_table(columns=["id", "_distance"], nearest={"column": column, "q": q, "k": 10, "metric": metric})
            got = pair.ask(vector=[1.0, 2.0], vector_column=column, distance_type=metric, k=10, columns=["id"])
            assert_same(got, want, f"{metric} of {column}")


@pytest.fixture(scope="module")
def deep(server, outside, module_space) -> Both:
    """Vectors in structs in structs, of which some are null at each depth, beside others."""
    count = 400
    missing = lambda every: pa.array(np.arange(count) % every == 0)
    narrow, wide, half = (sample.vectors(count, 4, seed=s, dtype=t) for s, t in ((1, np.float32), (2, np.float64), (3, np.float16)))
    several = lists(np.random.default_rng(4).normal(size=(count * 4, DIMENSIONS)).astype(np.float32), count)
    inner = pa.StructArray.from_arrays([narrow, half, several, pa.array(range(count))], ["e", "h", "many", "n"], mask=missing(7))
    outer = pa.StructArray.from_arrays([inner, wide, narrow], ["in.ner", "e", "a`b"], mask=missing(11))
    place = outside / f"deep-{module_space}.lance"
    native = lance.write_dataset(pa.table({"id": range(count), "doc": outer}), place, max_rows_per_file=150)
    native.delete("id % 13 = 5")
    wire = server.wire()
    path = f"/v1/table/{module_space}$deep"
    assert wire.post(f"{path}/register", {"location": str(place)}).status == 200
    yield Both(wire, path, native)
    wire.close()


DEEP = {"doc.`in.ner`.e": 4, "doc.`in.ner`.h": 4, "doc.`in.ner`.many": DIMENSIONS, "doc.e": 4, "doc.`a``b`": 4}


@pytest.mark.parametrize("metric", FLOATS)
@pytest.mark.parametrize("column", DEEP)
def test_vectors_in_structs(deep, column, metric):
    q = np.random.default_rng(6).normal(size=DEEP[column]).astype(np.float32)
    for condition, prefilter in ((None, True), ("id < 90", True), ("doc.`in.ner`.n > 60", False)):
        how = {"filter": condition, "prefilter": prefilter}
        search = {"column": column, "q": q, "k": 40, "metric": metric}
        got = deep.ask(vector=q.tolist(), vector_column=column, distance_type=metric, k=40, columns=["id"], **how)
        want = deep.native.to_table(columns=["id", "_distance"], nearest=search, **how)
        if column.endswith("h"):
            same_but_for_rounding(got, want)
        else:
            assert_same(got, want, f"{metric} of {column} where {condition}")


def test_members_that_are_no_vectors(deep):
    for column, status in (("doc.`in.ner`.n", 400), ("doc", 400), ("doc.nope", 404), ("doc.in.ner.e", 404)):
        with pytest.raises(Exception):
            deep.native.to_table(nearest={"column": column, "q": np.zeros(4, np.float32), "k": 1})
        answer = deep.wire.post(f"{deep.path}/query", {"vector": [0.0] * 4, "vector_column": column, "k": 1})
        assert answer.status == status, answer.body


def documents() -> pa.Array:
    return pa.StructArray.from_arrays([sample.vectors(50, 4), pa.array(range(50))], ["embedding", "n"])


def test_the_only_vectors_may_be_in_a_struct(make):
    """They need not be named, as with native LanceDB."""
    pair = make(data=pa.table({"id": range(50), "doc": documents()}))
    pair.same(lambda t: t.search(sample.query(1, 4)).limit(5).select(["id"]).to_arrow())
    pair.same(lambda t: t.search(sample.query(1, 4), vector_column_name="doc.embedding").limit(5).to_arrow())


def test_one_of_the_vectors_in_and_beside_structs_has_to_be_named(make):
    pair = make(data=pa.table({"id": range(50), "doc": documents(), "v": sample.vectors(50, 4)}))
    for table in (pair.remote, pair.local):
        with pytest.raises(Exception, match="vector.column"):
            table.search(sample.query(1, 4)).limit(5).to_arrow()


def test_index_on_vectors_in_a_struct_lends_its_metric(server, outside, space):
    place = outside / f"deepindex-{space}.lance"
    docs = pa.StructArray.from_arrays([sample.vectors(300, 4)], ["a.b"])
    native = lance.write_dataset(pa.table({"id": range(300), "doc": docs}), place)
    native.create_index("doc.`a.b`", "IVF_FLAT", num_partitions=1, metric="cosine")
    native = lance.write_dataset(pa.table({"id": range(300, 330), "doc": docs[:30]}), place, mode="append")
    wire = server.wire()
    path = f"/v1/table/{space}$deepindex"
    assert wire.post(f"{path}/register", {"location": str(place)}).status == 200
    q = np.array(sample.query(2, 4), np.float32)
    for fast in (False, True):
        got = wire.post(f"{path}/query", {"vector": q.tolist(), "k": 400, "columns": ["id"], "fast_search": fast}).table
        scanner = native.scanner(columns=["id", "_distance"], nearest={"column": "doc.`a.b`", "q": q, "k": 400}, fast_search=fast)
        want = scanner.to_table()
        assert (got.num_rows, want.num_rows) == ((300, 300) if fast else (330, 330))
        assert_same(got.sort_by([("_distance", "ascending"), ("id", "ascending")]), want.sort_by([("_distance", "ascending"), ("id", "ascending")]))
    wire.close()


def test_fast_search_is_one_of_the_index_that_is_passed_by(db, outside, wire, space):
    place = outside / f"fast-{space}.lance"
    rows = pa.table({"id": range(300), "v": sample.vectors(300, 4)})
    lance.write_dataset(rows.slice(0, 260), place).create_index("v", "IVF_FLAT", num_partitions=1)
    lance.write_dataset(rows.slice(260), place, mode="append")
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    ours, local = db.open_table("t", namespace_path=[space]), lancedb.connect(str(outside)).open_table(f"fast-{space}")
    for build in (lambda s: s.bypass_vector_index(), lambda s: s.fast_search(), lambda s: s.fast_search().bypass_vector_index()):
        got, want = (build(t.search(sample.query(1, 4)).limit(400)).select(["id"]).to_arrow() for t in (ours, local))
        # Native LanceDB answers row ids beside what a fast search finds, whether they are asked for or not.
        assert_same(got, want.select(["id", "_distance"]))


def test_order_of_what_was_found(make):
    """A search may be asked for in another order, which is that of the rows found."""
    from lancedb.query import ColumnOrdering as Order

    pair = make(data=sample.people(200))
    for limit, offset in ((5, 0), (5, 3), (500, 20)):
        pair.same(
            lambda t: t.search(sample.query()).order_by([Order(column_name="id", ascending=False)]).limit(limit).offset(offset).to_arrow()
        )


@pytest.mark.parametrize("column", ["nope", "spec.nope"])
def test_order_by_what_is_not_there(both, column):
    answer = both.wire.post(f"{both.path}/query", {"vector": [], "k": 1, "order_by": [{"column_name": column}]})
    assert (answer.status, answer.json["code"]) == (404, 12), answer.body


def test_plans(both, db, module_space):
    """The plans of both clients name the steps and their results."""
    table = db.open_table("queries", namespace_path=[module_space])
    search = table.search([0.5] * DIMENSIONS, vector_column_name="f32").where("id < 50").limit(3)
    plan = search.explain_plan()
    steps = [line.strip().partition(":")[0] for line in plan.splitlines()]
    assert steps == ["Project", "Take", "Nearest", "Scan"], plan
    assert "metric=l2" in plan and "filter=id < 50" in plan
    assert "fragments=4" in search.explain_plan(verbose=True) and "fragments=4" not in plan
    measured = search.analyze_plan()
    assert "rows=3" in measured.splitlines()[0] and "requests=" in measured and "elapsed=" in measured, measured
    ordered = both.plan(order_by=[{"column_name": "id"}], k=4)
    assert "Sort: by=[id], limit=4" in ordered


def test_plan_of_a_wrong_query_is_the_users_mistake(both):
    for route, body in (("explain_plan", {"query": {"vector": [], "filter": "nope > 1"}}), ("analyze_plan", {"vector": [], "filter": "nope > 1"})):
        answer = both.wire.post(f"{both.path}/{route}", body)
        assert (answer.status, answer.json["code"]) == (400, 13), answer.body


@pytest.mark.parametrize("form", ["file", "stream"])
@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_answers_are_compressed_for_who_asks(people, wire, module_space, form, compression):
    query = {"k": 1000, "vector": [], "columns": {"column_names": ["id"]}}
    path = f"/v1/table/{module_space}$people/query"
    plain = wire.post(path, query)
    accept = f"application/vnd.apache.arrow.{form}; compression={compression}"
    answer = wire.post(path, query, Accept=accept)
    assert answer.headers["Content-Type"] == f"application/vnd.apache.arrow.{form}"
    rows = pa.ipc.open_stream(answer.body).read_all() if form == "stream" else answer.table
    assert rows == plain.table and len(answer.body) < len(plain.body)


def test_a_table_is_read_ahead(people, wire, module_space):
    people.remote.prewarm_data(["id"])
    people.remote.prewarm_data()
    assert wire.post(f"/v1/table/{module_space}$people/page_cache/prewarm", {"columns": ["nope"]}).status == 404
    assert wire.post(f"/v1/table/{module_space}$people/index/nope/prewarm").json["type"] == "/errors/table-index-not-found"
