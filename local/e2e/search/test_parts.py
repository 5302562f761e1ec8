"""Large queries run in parts on other servers: their answers are those of Lance, and nothing of a part is lost.

One server sends the parts of its queries to another one over the same files. Parts are small here, so that a table of
some thousand rows is a large one.
"""

from __future__ import annotations

import concurrent.futures
import json
import random

import lance
import lance.query as q
import lancedb
import pyarrow as pa
import pytest

from process import Server
from wire import Wire

ROWS = 30_000
DIMENSION = 16

beside = pytest.mark.embedded("starts servers that call each other")


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """A server that runs parts, and one that sends its parts there."""
    root = tmp_path_factory.mktemp("parts") / "root"
    outside = tmp_path_factory.mktemp("outside")
    write(outside / "t.lance")
    with Server(root, log="parts.log", allow=[outside], settings={"TILTYARD_LOG_FORMAT": "json"}) as other:
        settings = {"TILTYARD_PARTS": other.url, "TILTYARD_PART_BYTES": "64KiB", "TILTYARD_PARTS_TOGETHER": "4"}
        with Server(root, log="whole.log", allow=[outside], settings=settings) as server:
            assert Wire(server.url, server.token).post("/v1/table/t/register", {"location": str(outside / "t.lance")}).status == 200
            yield server, other, outside


def write(place) -> None:
    """Writes a table of several fragments, with nulls and deleted rows."""
    r = random.Random(5)
    columns = {
        "id": pa.array(range(ROWS)),
        "name": pa.array([None if i % 9 == 0 else f"n{r.randrange(50)}" for i in range(ROWS)]),
        "text": pa.array([f"{r.getrandbits(256):064x}" for _ in range(ROWS)]),
        "vector": pa.array([None if i % 11 == 0 else [r.random() for _ in range(DIMENSION)] for i in range(ROWS)], pa.list_(pa.float32(), DIMENSION)),
    }
    native = lance.write_dataset(pa.table(columns), place, max_rows_per_file=7_000)
    native.delete("id % 13 = 4 OR id BETWEEN 6900 AND 7100")


def remote(server: Server):
    return lancedb.connect("db://default", api_key=server.token, host_override=server.url).open_table("t")


def queries_answered(server: Server) -> int:
    """The number of queries in the log of a server."""
    lines = (json.loads(line) for line in server.log().splitlines() if line.startswith(b"{"))
    return sum(line.get("operation") == "QueryTable" for line in lines)


@beside
def test_answers_of_parts_are_those_of_lance(servers):
    server, other, place = servers
    table, native = remote(server), lance.dataset(place / "t.lance")
    local = lancedb.connect(place).open_table("t")
    before = queries_answered(other)
    r = random.Random(6)
    for n in range(6):
        query = [r.random() for _ in range(DIMENSION)]
        for where in (None, f"id % 7 = {n}", "name = 'n3' AND id > 9000"):
            asked = [t.search(query).limit(10).select(["id", "_distance"]) for t in (table, local)]
            if where:
                asked = [a.where(where, prefilter=True) for a in asked]
            got, want = (a.to_arrow() for a in asked)
            assert got["id"].to_pylist() == want["id"].to_pylist()
            assert got["_distance"].to_pylist() == pytest.approx(want["_distance"].to_pylist(), rel=1e-5)
    for where in ("id % 2 = 0", "name IS NULL", "text LIKE '%abc%'", "id < 0"):
        assert table.count_rows(where) == native.count_rows(where)
        got = table.search().where(where).select(["id", "name"]).limit(None).to_arrow()
        assert got.equals(native.to_table(["id", "name"], filter=where)), where
        got = table.search().where(where).select(["id"]).limit(17).offset(40).to_arrow()
        assert got["id"].to_pylist() == native.to_table(["id"], filter=where, limit=17, offset=40)["id"].to_pylist(), where
    assert queries_answered(other) > before + 50


@beside
def test_searches_of_an_index(servers):
    """A search that reads many partitions of an index is divided by them."""
    server, other, outside = servers
    write(outside / "indexed.lance")
    native, wire = lance.dataset(outside / "indexed.lance"), Wire(server.url, server.token)
    native = native.create_index("vector", "IVF_FLAT", num_partitions=16, metric="l2")
    assert wire.post("/v1/table/indexed/register", {"location": str(outside / "indexed.lance")}).status == 200
    before, r = queries_answered(other), random.Random(7)
    for nprobes in (5, 16):
        for where in (None, "id % 7 = 3", "name = 'n3'"):
            query = [r.random() for _ in range(DIMENSION)]
            asked = {"vector": query, "k": 10, "nprobes": nprobes, "columns": {"column_names": ["id"]}, **({"filter": where, "prefilter": True} if where else {})}
            want = native.to_table(["id"], filter=where, prefilter=True, nearest={"column": "vector", "q": query, "k": 10, "nprobes": nprobes})
            got = wire.post("/v1/table/indexed/query", asked)
            assert got.status == 200 and got.table["id"].to_pylist() == want["id"].to_pylist(), (nprobes, where)
            assert got.table["_distance"].to_pylist() == pytest.approx(want["_distance"].to_pylist(), rel=1e-5)
    plan = str(wire.post("/v1/table/indexed/analyze_plan", {"vector": query, "k": 3, "nprobes": 16}).json)
    assert "parts=" in plan and "partitions=16" in plan, plan
    assert queries_answered(other) > before + 20


def write_texts(place, each: int) -> lance.LanceDataset:
    """Writes texts of common and rare words with an index of five segments, which lacks the last rows."""
    r = random.Random(8)

    def texts(start: int, count: int) -> pa.Table:
        made = [" ".join(f"word{int(r.expovariate(0.3))}" for _ in range(r.randrange(1, 12))) for _ in range(count)]
        return pa.table({"id": range(start, start + count), "text": [None if r.random() < 0.05 else text for text in made]})

    native = lance.write_dataset(texts(0, each), place)
    native.create_scalar_index("text", "INVERTED", with_position=True, stem=False, remove_stop_words=False)
    for start in range(each, 5 * each, each):
        native.insert(texts(start, each))
        native = lance.dataset(place)
        native.optimize.optimize_indices(num_indices_to_merge=0)
    native.insert(texts(5 * each, 500))
    native = lance.dataset(place)
    native.delete("id % 13 = 4 OR id BETWEEN 6900 AND 7100")
    return native


def boolean(must, should, must_not):
    ours = {"boolean": {kind: [match(t)[0] for t in terms] for kind, terms in (("must", must), ("should", should), ("must_not", must_not))}}
    occurs = ((q.Occur.MUST, must), (q.Occur.SHOULD, should), (q.Occur.MUST_NOT, must_not))
    return ours, q.BooleanQuery([(occur, q.MatchQuery(t, "text")) for occur, terms in occurs for t in terms])


def match(terms, **how):
    theirs = {**how, **({"operator": q.FullTextOperator.AND} if how.get("operator") == "And" else {})}
    return {"match": {"column": "text", "terms": terms, **how}}, q.MatchQuery(terms, "text", **theirs)


WORDS = {
    "any": match("word0 word3"),
    "all": match("word1 word2 word4", operator="And"),
    "boosted": match("word1 word5", boost=2.5),
    "fuzzy": match("wurd1 word2", fuzziness=1),
    "few expansions": match("word1", fuzziness=1, max_expansions=3),
    "boolean": boolean(["word0"], ["word5 word6"], ["word2"]),
    "demoted": (
        {"boost": {"positive": {"match": {"column": "text", "terms": "word1"}}, "negative": {"match": {"column": "text", "terms": "word2"}}, "negative_boost": 0.3}},
        q.BoostQuery(q.MatchQuery("word1", "text"), q.MatchQuery("word2", "text"), negative_boost=0.3),
    ),
    "phrase": ({"phrase": {"column": "text", "terms": "word0 word1"}}, q.PhraseQuery("word0 word1", "text")),
}


def best_of(found: pa.Table, every: pa.Table, k: int) -> bool:
    """Whether rows are the k best of all. Which of several rows with equal scores are left out is open."""
    scores = dict(zip(every["id"].to_pylist(), every["_score"].to_pylist()))
    best = pytest.approx(sorted(scores.values(), reverse=True)[:k], rel=3e-5)
    return found.num_rows == k and found["_score"].to_pylist() == best and [scores.get(i) for i in found["id"].to_pylist()] == best


@beside
def test_searches_for_words(servers):
    """A search for words that reads much of an index is divided by its partitions. Scores and order are those of Lance."""
    server, other, outside = servers
    native, wire = write_texts(outside / "texts.lance", 4_000), Wire(server.url, server.token)
    assert wire.post("/v1/table/texts/register", {"location": str(outside / "texts.lance")}).status == 200
    alone = Wire(other.url, other.token)  # answers without parts
    before, asked = queries_answered(other), 0
    for name, (ours, theirs) in WORDS.items():
        for how in ({}, {"filter": "id % 7 = 3", "prefilter": True}, {"filter": "id % 7 = 3", "prefilter": False}, {"fast_search": True}):
            body = {"k": 20, "vector": [], "columns": ["id"], "full_text_query": {"structured_query": {"query": ours}}, **how}
            got, whole = (w.post("/v1/table/texts/query", body) for w in (wire, alone))
            assert got.status == 200 and got.table.equals(whole.table), (name, how, got.body)
            asked += 1
            if how.get("prefilter") is False:
                continue
            want = native.scanner(columns=["id", "_score"], full_text_query=theirs, **how).to_table()
            assert best_of(got.table, want, 20), (name, how, got.table)
    assert queries_answered(other) >= before + asked + 2 * asked
    plan = str(wire.post("/v1/table/texts/analyze_plan", {"k": 9, "vector": [], "full_text_query": {"structured_query": {"query": WORDS["any"][0]}}}).json)
    assert "parts=" in plan and "partitions=" in plan, plan


@beside
def test_orders_and_statements(servers):
    server, other, place = servers
    native = lance.dataset(place / "t.lance")
    wire = Wire(server.url, server.token)
    before = queries_answered(other)
    rows = native.to_table(["id", "text"]).sort_by([("text", "descending")]).slice(5, 20)
    answer = wire.post("/v1/table/t/query", {"k": 20, "offset": 5, "columns": {"column_names": ["id", "text"]}, "order_by": [{"column_name": "text", "ascending": False}]})
    assert answer.status == 200 and answer.table["id"].to_pylist() == rows["id"].to_pylist()
    counted = wire.post("/v1/table/t/count_rows", {"predicate": "text > '8'"})
    assert counted.json == native.count_rows("text > '8'")
    plan = wire.post("/v1/table/t/analyze_plan", {"vector": [0.5] * DIMENSION, "k": 3}).json
    assert "parts=" in str(plan) and "slowest_part=" in str(plan)
    assert queries_answered(other) > before


@beside
def test_groups_of_statements(servers):
    server, other, place = servers
    native, wire = lance.dataset(place / "t.lance"), Wire(server.url, server.token)
    before = queries_answered(other)
    for statement in (
        "SELECT name, count(*) AS n, min(id) AS low, max(text) AS high, avg(id) AS mean FROM {} GROUP BY name ORDER BY name",
        "SELECT sum(id) AS s, count(name) AS n FROM {} WHERE id % 7 = 3",
        "SELECT id % 10 AS d, sum(id) AS s FROM {} WHERE text > '8' GROUP BY id % 10 HAVING count(*) > 5 ORDER BY d",
        "SELECT DISTINCT name FROM {} ORDER BY name DESC LIMIT 3",
    ):
        answer = wire.post("/v1/sql", {"query": statement.format("t")})
        want = pa.Table.from_batches(native.sql(statement.format("dataset")).build().to_batch_records())
        assert answer.status == 200 and answer.table.num_rows == want.num_rows > 0, statement
        for got, row in zip(answer.table.to_pylist(), want.to_pylist()):
            assert got == pytest.approx(row), statement
    plan = wire.post("/v1/sql", {"query": "EXPLAIN ANALYZE SELECT name, sum(id) FROM t GROUP BY name"}).table["plan"][0].as_py()
    assert "Group:" in plan and " parts=" in plan and "slowest_part=" in plan, plan
    assert queries_answered(other) > before + 20


@beside
def test_queries_and_commits_at_the_same_time(servers):
    """A query reads one version: it has all rows of a commit or none."""
    server, _, outside = servers
    place = outside / "counts.lance"
    lance.write_dataset(pa.table({"n": [0] * 20_000, "text": ["x" * 20] * 20_000}), place, max_rows_per_file=5_000)
    wire = Wire(server.url, server.token)
    assert wire.post("/v1/table/counts/register", {"location": str(place)}).status == 200

    def commits():
        for _ in range(15):
            lance.dataset(place).update({"n": "n + 1"})

    with concurrent.futures.ThreadPoolExecutor() as pool:
        writing = pool.submit(commits)
        while not writing.done():
            answer = wire.post("/v1/table/counts/query", {"k": 0, "filter": "text LIKE 'x%'", "columns": {"column_names": ["n"]}})
            assert answer.status == 200
            values = answer.table["n"].to_pylist()
            assert len(values) == 20_000 and len(set(values)) == 1
        writing.result()


@beside
def test_a_dead_server_leaves_the_work_here(servers):
    server, _, outside = servers
    with Server(server.root, log="dead.log", allow=[outside], settings={"TILTYARD_PARTS": "http://127.0.0.1:9", "TILTYARD_PART_BYTES": "64KiB"}) as alone:
        native, wire = lance.dataset(outside / "t.lance"), Wire(alone.url, alone.token)
        for _ in range(2):
            assert wire.post("/v1/table/t/count_rows", {"predicate": "text > '8'"}).json == native.count_rows("text > '8'")


def test_functions_call_themselves(server, outside, module_space):
    """A large query of a function is divided among instances of it."""
    if not server.behind_gateway:
        pytest.skip("test_answers_of_parts_are_those_of_lance is about servers")
    place, wire = outside / f"{module_space}-parts.lance", server.wire()
    write(place)
    native = lance.dataset(place)
    path = f"/v1/table/{module_space}$parts"
    assert wire.post(f"{path}/register", {"location": str(place)}).status == 200
    for where in ("text > '8'", "text LIKE '%abc%'"):
        assert wire.post(f"{path}/count_rows", {"predicate": where}).json == native.count_rows(where)
        answer = wire.post(f"{path}/query", {"k": 0, "filter": where, "columns": {"column_names": ["id", "name"]}})
        assert answer.table.equals(native.to_table(["id", "name"], filter=where))
    query = [0.5] * DIMENSION
    answer = wire.post(f"{path}/query", {"vector": query, "k": 9, "columns": {"column_names": ["id"]}})
    assert answer.table["id"].to_pylist() == native.to_table(["id"], nearest={"column": "vector", "q": query, "k": 9})["id"].to_pylist()
    plan = str(wire.post(f"{path}/analyze_plan", {"k": 0, "filter": "text > '8'", "columns": {"column_names": ["id"]}}).json)
    assert "parts=" in plan and "parts_requests=" in plan
    lance.dataset(place).create_index("vector", "IVF_FLAT", num_partitions=8, metric="l2")
    answer = wire.post(f"{path}/query", {"vector": query, "k": 9, "nprobes": 8, "columns": {"column_names": ["id"]}})
    assert answer.table["id"].to_pylist() == native.to_table(["id"], nearest={"column": "vector", "q": query, "k": 9, "use_index": False})["id"].to_pylist()
    plan = str(wire.post(f"{path}/analyze_plan", {"vector": query, "k": 9, "nprobes": 8}).json)
    assert "partitions=8" in plan and "parts=" in plan, plan
    texts = write_texts(outside / f"{module_space}-part-texts.lance", 16_000)
    path, (ours, theirs) = f"/v1/table/{module_space}$texts", WORDS["any"]
    assert wire.post(f"{path}/register", {"location": texts.uri}).status == 200
    asked = {"vector": [], "k": 9, "columns": ["id"], "full_text_query": {"structured_query": {"query": ours}}}
    answer = wire.post(f"{path}/query", asked)
    assert best_of(answer.table, texts.scanner(columns=["id", "_score"], full_text_query=theirs).to_table(), 9), answer.table
    plan = str(wire.post(f"{path}/analyze_plan", asked).json)
    assert "parts=" in plan and "partitions=" in plan, plan
