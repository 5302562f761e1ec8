"""Indices that native Lance has built: what the clients are told of them, and dropping them.

Searching by them comes later. Until then an indexed table answers as if it had none, but
for a fast search, which is one of the rows that are indexed.
"""

from __future__ import annotations

import datetime

import lance
import lance_namespace
import lancedb
import numpy as np
import pyarrow as pa
import pytest

from rows import assert_same

DIMENSIONS = 16
SCALARS = {
    "id": "BTREE",
    "grp": "BITMAP",
    "tags": "LABEL_LIST",
    "word": "NGRAM",
    "zone": "ZONEMAP",
    "bloom": "BLOOMFILTER",
    "text": "INVERTED",
    "st.x": "BTREE",
}
VECTORS = {
    "pq": ("IVF_PQ", "cosine", {"num_sub_vectors": 4}),
    "sq": ("IVF_SQ", "l2", {}),
    "hnsw": ("IVF_HNSW_SQ", "l2", {}),
    "plain": ("IVF_FLAT", "dot", {}),
    "bits": ("IVF_FLAT", "hamming", {}),
}


def rows(start: int, count: int) -> pa.Table:
    random = np.random.default_rng(start)
    ids = range(start, start + count)
    columns = {name: pa.array(ids) for name in ("id", "zone", "bloom")}
    columns["grp"] = pa.array([i % 7 for i in ids])
    columns["tags"] = pa.array([[f"t{i % 3}"] for i in ids])
    columns["word"] = pa.array([f"word{i}" for i in ids])
    columns["text"] = pa.array([f"some text {i % 50}" for i in ids])
    columns["st"] = pa.array([{"x": i} for i in ids])
    for name in [*VECTORS, "bare"]:
        values = pa.array(random.normal(size=count * DIMENSIONS).astype(np.float32))
        if name == "bits":
            values = pa.array(random.integers(0, 256, count * DIMENSIONS).astype(np.uint8))
        columns[name] = pa.FixedSizeListArray.from_arrays(values, DIMENSIONS)
    return pa.table(columns)


@pytest.fixture(scope="module")
def native(outside, module_space) -> lance.LanceDataset:
    """A table with an index of each kind, deletions, and rows that are not indexed."""
    place = outside / f"peer-{module_space}" / "t.lance"
    table = lance.write_dataset(rows(0, 600), place)
    for column, kind in SCALARS.items():
        table.create_scalar_index(column, kind, name="an index/1" if column == "word" else None)
    for column, (kind, metric, options) in VECTORS.items():
        table.create_index(column, kind, metric=metric, num_partitions=2, **options)
    table = lance.write_dataset(rows(600, 60), place, mode="append")
    table.optimize.optimize_indices(num_indices_to_merge=0, index_names=["id_idx"])
    table = lance.write_dataset(rows(660, 40), place, mode="append")
    table.delete("id % 10 = 3")
    return table


@pytest.fixture(scope="module")
def peer(native):
    return lancedb.connect(native.uri.rpartition("/")[0]).open_table("t")


@pytest.fixture(scope="module")
def table(native, server, db, module_space):
    """The same table at ours, which no test changes."""
    register(server, module_space, "indexed", native.uri)
    return db.open_table("indexed", namespace_path=[module_space])


def register(server, space: str, name: str, place) -> str:
    wire = server.wire()
    path = f"/v1/table/{space}${name}"
    assert wire.post(f"{path}/register", {"location": str(place)}).status == 200
    wire.close()
    return path


def test_list_is_what_lancedb_lists(table, peer):
    told = {x.name: x for x in table.list_indices()}
    want = {x.name: x for x in peer.list_indices()}
    assert list(told) == sorted(want)
    facts = "index_type columns index_uuid type_url created_at num_indexed_rows num_unindexed_rows size_bytes num_segments index_version"
    for name, index in want.items():
        for fact in facts.split():
            assert getattr(told[name], fact) == getattr(index, fact), f"{fact} of {name}"
        details, expected = dict(told[name].index_details), dict(index.index_details)
        if index.index_type == "FTS":
            # It tells the remote what it tells itself under another name, or not at all.
            for only in ("lance_tokenizer", "document_granularity"):
                details.pop(only, None), expected.pop(only, None)
        assert details == expected, name


def test_stats_are_what_lancedb_tells(server, table, peer):
    for index in peer.list_indices():
        if server.behind_gateway and "/" in index.name:
            continue  # see test_names_with_spaces_and_slashes
        got, want = table.index_stats(index.name), peer.index_stats(index.name)
        for fact in ("num_indexed_rows", "num_unindexed_rows", "distance_type", "num_indices"):
            assert getattr(got, fact) == getattr(want, fact), f"{fact} of {index.name}"
        assert got.index_type.replace("_", "") == want.index_type.replace("_", ""), index.name
    assert table.index_stats("nope") is None


def test_list_by_pages(table, ns, module_space):
    ask = lambda **page: ns.list_table_indices(lance_namespace.ListTableIndicesRequest(id=[module_space, "indexed"], **page))
    whole = ask()
    assert whole.page_token is None and len(whole.indexes) == len(SCALARS) + len(VECTORS)
    names, token = [], None
    while True:
        page = ask(limit=5, page_token=token)
        names += [x.index_name for x in page.indexes]
        token = page.page_token
        if not token:
            break
    assert names == [x.index_name for x in whole.indexes]
    assert all(x.status == "SUCCEEDED" for x in whole.indexes)


def test_clients_find_no_index_to_wait_for(make):
    pair = make(data=pa.table({"id": [1]}))
    assert pair.remote.list_indices() == []
    assert pair.remote.index_stats("id_idx") is None


def test_wait_for_index(table):
    with pytest.raises(Exception, match="id_idx|imeout"):  # some of its rows are not indexed
        table.wait_for_index(["id_idx"], timeout=datetime.timedelta(seconds=1))


def test_tokens_are_made_as_the_index_makes_them(table):
    assert [t.text for t in table.tokenize("Some running words", column="text")] == ["run", "word"]


def test_drop(server, db, ns, native, outside, space):
    """Each drop is a version in which native Lance finds the other indices."""
    place = outside / f"dropped-{space}.lance"
    copied = lance.write_dataset(native, place)
    for column in ("id", "grp", "zone"):
        copied.create_scalar_index(column, SCALARS[column])
    register(server, space, "t", place)
    table = db.open_table("t", namespace_path=[space])
    before = table.version
    table.drop_index("id_idx")
    assert table.version == before + 1
    assert [x.name for x in table.list_indices()] == ["grp_idx", "zone_idx"]
    with pytest.raises(Exception, match="id_idx"):
        table.drop_index("id_idx")
    done = ns.drop_table_index(lance_namespace.DropTableIndexRequest(id=[space, "t"], index_name="zone_idx"))
    assert done.transaction_id
    after = lance.dataset(place)
    assert [x.name for x in after.describe_indices()] == ["grp_idx"]
    assert after.to_table(filter="grp = 3").num_rows == native.to_table(filter="grp = 3").num_rows
    assert [x.name for x in lance.dataset(place, version=before).describe_indices()] == ["grp_idx", "id_idx", "zone_idx"]
    # An older version is still told as it was.
    told = ns.list_table_indices(lance_namespace.ListTableIndicesRequest(id=[space, "t"], version=before))
    assert [x.index_name for x in told.indexes] == ["grp_idx", "id_idx", "zone_idx"]


def test_drop_of_what_is_not_there(wire, module_space, table):
    for index in ("nope", "%5F%5Flance_frag_reuse"):
        answer = wire.post(f"/v1/table/{module_space}$indexed/index/{index}/drop")
        assert (answer.status, answer.json["code"]) == (404, 6), answer.body
    answer = wire.post(f"/v1/table/{module_space}$nope/index/x/drop")
    assert (answer.status, answer.json["code"]) == (404, 4), answer.body


def test_names_with_spaces_and_slashes(server, table):
    server.sends("an index/1")
    assert table.index_stats("an index/1").index_type == "NGRAM"


@pytest.mark.parametrize("metric", [None, "l2", "cosine", "dot"])
@pytest.mark.parametrize("column", ["plain", "pq", "sq", "bare"])
def test_searches_are_exact(table, native, column, metric):
    """All rows are measured. Without a metric the index's is meant."""
    query = np.random.default_rng(1).normal(size=DIMENSIONS).astype(np.float32)
    search = table.search(query.tolist(), vector_column_name=column).limit(5).select(["id"])
    meant = metric or {c: m for c, (_, m, _) in VECTORS.items()}.get(column, "l2")
    nearest = {"column": column, "q": query, "k": 5, "metric": meant, "use_index": False}
    want = native.to_table(columns=["id", "_distance"], nearest=nearest)
    assert_same((search.distance_type(metric) if metric else search).to_arrow(), want)


@pytest.mark.parametrize("column", ["plain", "sq", "bare"])
@pytest.mark.parametrize("metric", [None, "l2"])
def test_fast_search_is_one_of_indexed_rows(table, native, column, metric):
    """There are none when no index is of the metric."""
    query = np.random.default_rng(2).normal(size=DIMENSIONS).astype(np.float32)
    search = table.search(query.tolist(), vector_column_name=column).limit(700).select(["id"]).fast_search()
    got = (search.distance_type(metric) if metric else search).to_arrow()
    nearest = {"column": column, "q": query, "k": 700, "nprobes": 100, **({"metric": metric} if metric else {})}
    want = native.to_table(columns=["id"], nearest=nearest, fast_search=True)
    assert sorted(got["id"].to_pylist()) == sorted(want["id"].to_pylist())
    assert max(got["id"].to_pylist(), default=0) < 600


@pytest.mark.parametrize("condition", ["id = 650", "grp = 3", "st.x BETWEEN 590 AND 670", "array_has(tags, 't1')", "contains(word, 'word66')"])
def test_filters_find_all_rows(table, native, condition):
    got = table.search().where(condition).select(["id"]).to_arrow()
    assert_same(got, native.to_table(columns=["id"], filter=condition, use_scalar_index=False))


def test_making_one_is_not_supported_yet(table):
    with pytest.raises(Exception, match="501"):
        table.create_scalar_index("bare")
