"""Indices that native Lance has built: what the clients are told of them, dropping them, and fast
searches and scans, which are of the rows that are indexed. Searches by indices of vectors are in
test_vector_index.py.
"""

from __future__ import annotations

import datetime
import itertools

import lance
import lance_namespace
import lancedb
import numpy as np
import pyarrow as pa
import pytest
from lance.dataset import ColumnOrdering

from rows import assert_same

pytestmark = pytest.mark.engine

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
def test_searches_without_the_index_are_exact(table, native, column, metric):
    """All rows are measured, or all that are indexed are looked at and measured again."""
    query = np.random.default_rng(1).normal(size=DIMENSIONS).astype(np.float32)
    search = table.search(query.tolist(), vector_column_name=column).limit(5).select(["id"])
    meant = metric or {c: m for c, (_, m, _) in VECTORS.items()}.get(column, "l2")
    nearest = {"column": column, "q": query, "k": 5, "metric": meant, "use_index": False}
    want = native.to_table(columns=["id", "_distance"], nearest=nearest)
    search = search.nprobes(2).refine_factor(50)
    assert_same((search.distance_type(metric) if metric else search).to_arrow(), want)


@pytest.mark.parametrize("column", ["plain", "sq", "bare"])
@pytest.mark.parametrize("metric", [None, "l2"])
def test_fast_search_is_one_of_indexed_rows(table, native, column, metric):
    """There is no result if no index has the metric."""
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


# Fast searches by nothing but a filter: of the rows that the indices cover which native Lance
# would ask.


def values(start: int, count: int) -> pa.Table:
    ids = range(start, start + count)
    ordered = {"i": [k if k % 9 else None for k in ids], "b": [k % 5 for k in ids], "z": list(ids), "f": [k % 7 for k in ids]}
    columns = {"id": pa.array(ids), **{name: pa.array(list_, pa.int64()) for name, list_ in ordered.items()}}
    columns["x"] = pa.array([k * 0.5 for k in ids])
    columns["day"] = pa.array(ids, pa.int32()).cast(pa.date32())
    for name in ("flag", "zflag"):
        columns[name] = pa.array([k % 2 == 0 if k % 5 else None for k in ids])
    columns["tags"] = pa.array([[f"t{k % 3}", f"u{k % 4}"] if k % 8 else None for k in ids])
    columns["s"] = pa.array([f"hello w{k % 7} cat" for k in ids])
    for name in ("st", "bst", "zst", "words", "stems"):
        columns[name] = pa.array([f"n{k % 6}" if k % 10 else None for k in ids])
    columns["j"] = pa.array([{"a": k, "b.c": f"n{k % 3}"} for k in ids])
    return pa.table(columns)


PLAIN = {"stem": False, "max_token_length": None}
VALUE_INDICES = [
    # Those of the later ones cover fewer fragments.
    [("i", "BTREE", {}), ("st", "BTREE", {}), ("zst", "ZONEMAP", {}), ("j.a", "BTREE", {}), ("tags", "LABEL_LIST", {}), ("words", "INVERTED", PLAIN)],
    [
        ("b", "BITMAP", {}), ("z", "ZONEMAP", {}), ("f", "BLOOMFILTER", {}), ("x", "BTREE", {}), ("day", "BTREE", {}), ("flag", "BITMAP", {}),
        ("zflag", "ZONEMAP", {}), ("s", "NGRAM", {}), ("bst", "BITMAP", {}), ("stems", "INVERTED", {}), ("j.`b.c`", "BITMAP", {}),
    ],
]  # fmt: skip
TESTS = [[test.strip() for test in line.split("|")] for line in """
i = 40 | 40 = i | i > 20 | i BETWEEN 20 AND 50 | i NOT BETWEEN 20 AND 25 | i IN (1,2,40) | i NOT IN (1,2,40) | i IN (1,2,3,4,70)
i IN (1, NULL, 40) | i IN (1,2,3,4,NULL) | i IN (id, 40) | i IS NULL | i IS NOT NULL | i != 3 | NOT (i > 20) | i = 20 + 20 | i = id | i + 1 = 41
CAST(i AS INT) = 3 | i = NULL | i IS DISTINCT FROM 3 | coalesce(i, 0) = 40 | i % 2 = 0 | id > 30 | _rowid > 20 | i >= -3
b = 2 | b IN (1,2) | b > 2 | b IS NOT NULL | b != 2 | b BETWEEN 1 AND 3 | b = b
z = 40 | z > 20 | z IN (40,41) | z IS NOT NULL | z != 3 | NOT (z > 20) | z NOT IN (1,2,3,4,5) | z NOT BETWEEN 10 AND 70
f = 2 | f IN (1,2) | f > 2 | f IS NULL | f IS NOT NULL | f != 2 | f IN (1,2,3,4,5)
x > 20 | x = 20.0 | x != 1 | x < 0 | x IN (1.0, 2.0) | x = 0.0 | x BETWEEN 1 AND 30 | day = date '1970-01-20' | day > date '1970-01-20' | j.a > 20 | j.a IS NOT NULL
flag | NOT flag | flag = true | flag = false | flag != true | flag IS TRUE | flag IS NOT TRUE | flag IS FALSE | flag IS NOT FALSE | flag IS NULL | flag IN (true)
zflag | NOT zflag | zflag = false | zflag IS FALSE | zflag IS NOT NULL | NOT (NOT zflag)
array_has(tags, 't1') | array_has_any(tags, ['t1','u1']) | array_has_all(tags, ['t1','u1']) | array_contains(tags, 't1') | NOT array_has(tags, 't1') | tags IS NOT NULL
array_has_all(tags, []) | array_has_any(['t1','u1'], tags) | array_length(tags) = 2 | array_has(tags, st) | list_has(tags, upper('t1'))
contains(s, 'cat') | contains(s, 'w1') | NOT contains(s, 'cat') | contains(s, 'o w') | s LIKE '%hello%' | s LIKE 'hello%' | s LIKE '%w1%' | s LIKE '%lo_w1%' | s LIKE '%o%w%cat'
s LIKE 'h_llo%' | s LIKE '%cat' | s ILIKE '%HELLO%' | starts_with(s, 'he') | starts_with(s, 'hel') | s = 'hello w1 cat' | ends_with(s, 'cat') | s IS NOT NULL
st LIKE 'n1%' | st LIKE 'n1' | st LIKE '%1' | st LIKE 'n_%' | st ILIKE 'n1%' | st NOT LIKE 'n1%' | starts_with(st, 'n1') | contains(st, 'n1') | st = 'n1' | st > 'n2' | upper(st) = 'N1'
st LIKE '%' | st LIKE 'n1%%' | st LIKE 'n%1' | NOT starts_with(st, 'n1') | st = lower('N1') | st IN ('n1','n2')
bst LIKE 'n1%' | bst LIKE 'n1' | starts_with(bst, 'n1') | bst > 'n1' | zst LIKE 'n1%' | zst LIKE 'n_%' | zst IS NOT NULL | zst != 'n1'
contains_tokens(words, 'n1') | NOT contains_tokens(words, 'n1') | words = 'n1' | contains_tokens(stems, 'n1') | stems = 'n1' | j.`b.c` = 'n1' | j['a'] < 70
""".strip().splitlines()]  # fmt: skip


# Not to be put together with others. Of NOT of these native Lance forgets the nulls when an index
# answers it.
ALONE = [" IS TRUE", " IS FALSE"]


@pytest.fixture(scope="module")
def fast(server, outside, module_space):
    """Three fragments, of which the indices cover two, one or none."""
    place = outside / f"fast-{module_space}.lance"
    parts = [(values(30 * part, 30), indices) for part, indices in enumerate([*VALUE_INDICES[::-1], []])]
    yield from fast_scans(server, place, f"/v1/table/{module_space}$fast", parts)


def fast_scans(server, place, path, parts):
    """Yields the differences between a fast scan of a table and one by native Lance. Each part
    is a fragment, and the indices that are created when it is the last one."""
    native = None
    for rows, indices in parts:
        native = lance.write_dataset(rows, place, mode="append" if native else "create")
        for column, kind, options in indices:
            native.create_scalar_index(column, kind, **options)
    wire = server.wire()
    assert wire.post(f"{path}/register", {"location": str(place)}).status == 200

    def difference(condition: str, offset: int = 0, limit: int = 0, order: bool = False) -> str | None:
        how = {"filter": condition, "fast_search": True, "offset": offset}
        by = [ColumnOrdering("id", ascending=False)] if order else None
        scanner = lance.dataset(place).scanner(columns=["id"], limit=limit or None, order_by=by, **how)
        keys = [{"column_name": "id", "ascending": False}] if order else []
        answer = wire.post(f"{path}/query", {"vector": [], "k": limit, "columns": ["id"], "order_by": keys, **how})
        if answer.status != 200:
            return f"{condition}: {answer.body}"
        got, want = answer.table["id"].to_pylist(), scanner.to_table()["id"].to_pylist()
        return None if got == want else f"{condition}: got {got}, want {want}\n{scanner.explain_plan()}"

    yield difference
    wire.close()


@pytest.mark.parametrize("condition", list(itertools.chain(*TESTS)))
@pytest.mark.many
def test_fast_scan(fast, condition):
    problem = fast(condition)
    assert problem is None, problem


@pytest.mark.parametrize("order", [False, True], ids=["rows", "sorted"])
@pytest.mark.parametrize("offset,limit", [(0, 7), (5, 0), (25, 20), (70, 5)])
def test_fast_scan_of_some_rows(fast, offset, limit, order):
    for condition in ("i > 3", "b >= 0", "i > 3 AND b >= 0", "id >= 0"):
        problem = fast(condition, offset, limit, order)
        assert problem is None, problem


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.many
def test_fast_scan_of_several_conditions(fast, seed):
    """Of conditions joined by AND, an index may answer each; of those joined by OR, all or
    none."""
    random = np.random.default_rng(seed)

    def any_of(depth: int, lines: list[int]) -> str:
        if depth == 0:  # each of another column, so that none takes the place of others
            return str(random.choice([t for t in TESTS[lines.pop()] if not any(a in t + " " for a in ALONE)]))
        left, right = any_of(depth - 1, lines), any_of(int(random.integers(depth)), lines)
        return f"{'NOT ' if random.random() < 0.2 else ''}(({left}) {random.choice(['AND', 'OR'])} ({right}))"

    problems = [fast(any_of(int(random.integers(1, 4)), list(random.permutation(len(TESTS))))) for _ in range(10)]
    problems = [p for p in problems if p]
    assert not problems, "\n".join(problems)


# An index of ngrams knows of runs of three letters or digits, once accents and case are gone. What
# native Lance asks of it depends on how it simplifies a condition.

TEXTS = ["abcdef ghi", "foobar cat", "ABC fooBAR", "naïve café", "straße ½¼¾", "x1y2z3", "a.b.c", "日本語 abc", "ab%cd_g", "foo", "bar", "123", "", None]
TEXT_TESTS = [test for line in r"""
contains(s, 'fo') ; contains(s, 'foo') ; contains(s, 'r c') ; contains(s, '日本語') ; contains(s, '') ; contains(s, lower('FOO')) ; contains(ls, 'foo') ; contains(m.s, 'foo')
NOT contains(s, 'foo') ; contains(s, 'foo') = true ; contains(s, 'foo') IS TRUE ; contains(upper(s), 'FOO') ; coalesce(contains(s, 'foo'), false) ; coalesce(contains(s, 'foo'), true)
s LIKE '%foo%' ; s LIKE 'foo%' ; s LIKE '%foo' ; s LIKE 'foo' ; s LIKE '%' ; s LIKE '%fo%' ; s LIKE '%fo_bar%' ; s LIKE 'f_o%bar%' ; s NOT LIKE '%foo%' ; s ILIKE '%foo%' ; s ILIKE 'foo'
s LIKE '%aïv%' ; s LIKE '%ße%' ; s LIKE '%aße%' ; s LIKE '%½¼¾%' ; s LIKE '%日本語%' ; s LIKE '%.b.%' ; s LIKE '%a%b%c%' ; s LIKE '%f\oo%' ; s LIKE '%f\oo%' ESCAPE '\' ; s LIKE '%b\%cd\_g'
ls LIKE '%foo%' ; m.s LIKE '%foo%' ; b LIKE '%foo%' ; b LIKE 'foo%' ; b LIKE 'foo' ; b LIKE 'f\oo' ; starts_with(s, 'foo') ; starts_with(s, 'fo') ; starts_with(s, 'ab%c') ; starts_with(s, '') ; ends_with(s, 'foo')
regexp_like(s, 'foo') ; regexp_like(s, '^foo') ; regexp_like(s, 'bar$') ; regexp_like(s, '^foo$') ; regexp_like(s, '^(foo|bar)$') ; regexp_like(s, '^(?:foo|bar)$') ; regexp_like(s, 'foo|bar')
regexp_like(s, 'foo.*') ; regexp_like(s, 'fo+') ; regexp_like(s, 'fo(o)') ; regexp_like(s, 'f[o]o') ; regexp_like(s, '(?:fo)o') ; regexp_like(s, 'b%c') ; regexp_like(s, 'd_g') ; regexp_like(s, 'o{1}ob')
regexp_like(s, '') ; regexp_like(s, '.*') ; regexp_like(s, '^$') ; regexp_like(s, '^') ; regexp_like(s, 'foo|') ; regexp_like(s, '(?m)^foo$') ; regexp_like(s, '\Afoo\z') ; regexp_like(s, '(?i)123')
NOT regexp_like(s, 'foo') ; NOT regexp_like(s, '^(foo|bar)$') ; NOT regexp_like(s, 'foo|bar') ; regexp_like(s, 'foo') IS TRUE ; regexp_like(upper(s), 'FOO') ; regexp_like(ls, 'foo') ; regexp_like(m.s, 'foo')
regexp_like(b, 'foo') ; regexp_like(b, '^foo') ; regexp_like(b, '^foo$') ; regexp_like(b, '^(foo|bar)$') ; NOT regexp_like(b, '^foo$') ; regexp_like(b, '^foo$|^bar$') ; regexp_like(b, '^foo|^bar$')
regexp_like(s, 'foo', '') ; regexp_like(s, 'foo', 'i') ; regexp_like(s, '^foo$', 'i') ; regexp_like(s, '123', 'i') ; regexp_like(s, 'foo', 's') ; regexp_like(s, 'foo', 'im') ; regexp_like(s, '123', 'im')
regexp_like(s, 'foo', 'U') ; regexp_like(s, 'foo', NULL) ; regexp_like(s, 'foo.*b', 'm') ; NOT regexp_like(s, 'foo', 's') ; regexp_like(s, 'foo', 's') IS TRUE ; regexp_like(ls, 'foo', 's') ; regexp_like(m.s, 'foo', 's')
regexp_match(s, 'foo') ; regexp_match(s, 'foo') IS NOT NULL ; regexp_match(s, 'foo') IS NULL ; NOT regexp_match(s, 'foo') ; regexp_match(s, '^foo$') ; regexp_match(s, 'foo', 'i') ; regexp_match(s, '123', 'i')
regexp_match(s, 'foo', 'm') ; regexp_match(s, 'foo', 'U') ; regexp_match(s, NULL) ; regexp_match(s, 'foo', NULL) ; regexp_match(ls, 'foo') ; regexp_match(m.s, 'foo') ; regexp_match(b, 'foo') ; regexp_match(upper(s), 'FOO')
regexp_match(s, 'foo|bar') ; regexp_match(s, 'foo|ba') ; regexp_match(s, 'foo|') ; regexp_match(s, '(a|bc)(b|c)(c|d)') ; regexp_match(s, '(ab|bc)(c|d)') ; regexp_match(s, '(?:fo|ba)[or]') ; regexp_match(s, '(fo|ba)(o|r)')
regexp_match(s, 'f.o') ; regexp_match(s, '.*foo.*') ; regexp_match(s, 'f[o]o') ; regexp_match(s, 'f[op]o') ; regexp_match(s, 'fo{2}') ; regexp_match(s, 'fo{1}o') ; regexp_match(s, '(?:foo)+') ; regexp_match(s, '(foo)?')
regexp_match(s, '(foo)*bar') ; regexp_match(s, 'f(o|o)o') ; regexp_match(s, '(?i)foo') ; regexp_match(s, '(?i)1(?-i)23') ; regexp_match(s, 'x\dy') ; regexp_match(s, 'foo') ; regexp_match(s, 'foo') ; regexp_match(s, 'a\.b')
regexp_match(s, 'aïv') ; regexp_match(s, 'ße') ; regexp_match(s, 'aße') ; regexp_match(s, 'a[ß]e') ; regexp_match(s, '日本語') ; regexp_match(s, '日本語 abc') ; regexp_match(s, '½¼') ; regexp_match(s, '\p{Greek}|foo') ; regexp_match(s, '[^\s\S]foo|bar')
regexp_match(s, 'foo') AND id > 3 ; regexp_match(s, 'foo') OR id > 3 ; regexp_match(s, 'foo') OR b = 'foo' ; regexp_like(s, 'foo') OR b = 'foo' ; contains(s, 'foo') OR b = 'foo' ; regexp_like(s, 'foo', 's') OR regexp_match(s, 'bar')
NOT (contains(s, 'foo') OR b = 'foo') ; NOT (contains(s, 'foo') AND b = 'foo') ; (regexp_like(s, 'foo') AND b > 'c') OR (s LIKE '%foo%' AND b < 'c') ; coalesce(regexp_match(s, 'foo') IS NOT NULL, b = 'foo') ; regexp_match(s, 'foo')[1] = 'foo'
""".strip().splitlines() for test in line.split(" ; ")]  # fmt: skip


@pytest.fixture(scope="module")
def fast_texts(server, outside, module_space):
    """The same texts in two fragments, of which the indices cover the first."""
    ngrams = [(column, "NGRAM", {}) for column in ("s", "ls", "m.s")]

    def part(start: int) -> pa.Table:
        members = pa.array([{"s": text} for text in TEXTS])
        return pa.table({"id": range(start, start + len(TEXTS)), "s": TEXTS, "ls": pa.array(TEXTS, pa.large_string()), "b": TEXTS, "m": members})

    parts = [(part(0), [*ngrams, ("b", "BTREE", {})]), (part(100), [])]
    yield from fast_scans(server, outside / f"texts-{module_space}.lance", f"/v1/table/{module_space}$texts", parts)


@pytest.mark.parametrize("condition", TEXT_TESTS)
@pytest.mark.many
def test_fast_scan_of_texts(fast_texts, condition):
    problem = fast_texts(condition)
    assert problem is None, problem


@pytest.mark.parametrize("prefilter", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("condition", ["b = 2", "id > 10", "b >= 0 AND id > 10", "b = 2 OR id > 10"])
def test_fast_search_with_a_filter(server, outside, space, condition, prefilter):
    """A filter that runs before the search limits it to the rows that the filter's index
    covers."""
    place = outside / f"filtered-{space}.lance"

    def part(start: int) -> pa.Table:
        values = np.random.default_rng(start).normal(size=100 * 4).astype(np.float32)
        ids = range(start, start + 100)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(values), 4)
        return pa.table({"id": ids, "b": [i % 5 for i in ids], "text": [f"dog w{i % 3} " + "cat " * (i % 7) for i in ids], "v": vectors})

    native = lance.write_dataset(part(0), place)
    native.create_scalar_index("b", "BITMAP")
    native = lance.write_dataset(part(100), place, mode="append")
    native.create_index("v", "IVF_FLAT", num_partitions=1)
    native.create_scalar_index("text", "INVERTED")
    native = lance.write_dataset(part(200), place, mode="append")
    wire = server.wire()
    path = f"/v1/table/{space}$t"
    assert wire.post(f"{path}/register", {"location": str(place)}).status == 200
    how = {"filter": condition, "prefilter": prefilter, "fast_search": True, "columns": ["id"]}

    got = wire.post(f"{path}/query", {"vector": [0.0] * 4, "k": 400, **how}).table
    want = native.scanner(nearest={"column": "v", "q": np.zeros(4, np.float32), "k": 400}, **how).to_table()
    assert_same(got, want)
    got = wire.post(f"{path}/query", {"vector": [], "k": 0, "full_text_query": {"query": "dog cat"}, **how}).table.sort_by("id")
    want = native.scanner(full_text_query="dog cat", **how).to_table().sort_by("id")
    assert got["id"].to_pylist() == want["id"].to_pylist()
    np.testing.assert_allclose(got["_score"], want["_score"], rtol=1e-5)
    wire.close()
