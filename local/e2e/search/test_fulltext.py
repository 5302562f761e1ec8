"""Searches for words: the service and native Lance find the same rows, with the same scores.

Native Lance creates each table and its indices. Queries are random, of all kinds and nested;
E2E_TEXTS is the number of queries for each table, and --seed the first seed.
"""

from __future__ import annotations

import asyncio
import os
import random
import time

import lance
import lance.query as q
import lancedb
import pyarrow as pa
import pytest
from lancedb.rerankers import RRFReranker

pytestmark = pytest.mark.engine

ASKED = int(os.environ.get("E2E_TEXTS", "150"))
CLOSE = 2e-6  # of scores, of the larger one: the terms of a row are added up in another order
SUBTRACTED = 3e-5  # … where a boost subtracts, which leaves more of the rounding

COMMON = "the of and a in to is".split()
STEMS = "run jump walk talk happy nation relate gener commun organ quick brown lazy fox dog cat house river".split()
ENDINGS = ["", "s", "ing", "ed", "er", "ly", "ness", "ation", "al"]
RARE = ["Café", "STRASSE", "Straße", "naïve", "x1", "42", "日本語", "foo_bar", "don't", "e-mail", "ﬁne", "parseHTML2", "snake_case::x"]
SCRIPTS = [
    "東京都に住んでいる人々", "我们去看天安门广场", "コンピューターを使う", "ภาษาไทยและผู้ใช้", "ພາສາລາວ", "ភាសាខ្មែរ", "မြန်မာစာကို",
    "한국어를", "it's", "3.14", "a.b.c", "👍🏽x👩‍👩‍👧", "cafe\u0301-bar", "ג'ירפה", "ми и", "foo_bar@example.com",
]  # fmt: skip


def words(rng: random.Random, count: int) -> str:
    """A text with words that differ in how often they are, in their endings and scripts."""
    out = []
    for _ in range(count):
        kind = rng.random()
        if kind < 0.25:
            out.append(rng.choice(COMMON))
        elif kind < 0.9:
            out.append(STEMS[min(int(rng.expovariate(0.25)), len(STEMS) - 1)] + rng.choice(ENDINGS))
        else:
            out.append(rng.choice(RARE + SCRIPTS))
        if rng.random() < 0.1:
            out[-1] = rng.choice([str.upper, str.title])(out[-1])
    return rng.choice([" ", " ", ", ", "  "]).join(out)


def text(rng: random.Random) -> str | None:
    return None if rng.random() < 0.05 else words(rng, rng.choice([0, 1, 3, 6, 12, 30]))


def rows(rng: random.Random, count: int, start: int = 0) -> pa.Table:
    ids = range(start, start + count)
    lists = [None if rng.random() < 0.1 else [text(rng) for _ in range(rng.randrange(4))] for _ in ids]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "body": pa.array([text(rng) for _ in ids], pa.string()),
            "title": pa.array([text(rng) for _ in ids], pa.large_string()),
            "tags": pa.array(lists, pa.list_(pa.string())),
        }
    )


def shapes(name: str):
    """What becomes of a table before it is asked: a list of steps."""

    def index(column, **options):
        return lambda t, rng: t.create_scalar_index(column, "INVERTED", **options)

    def insert(count):
        return lambda t, rng: t.insert(rows(rng, count, start=10_000 + rng.randrange(1 << 30) * 100))

    def delete(t, rng):
        t.delete(f"id % {rng.randrange(3, 9)} = 1")

    def segment(t, rng):
        t.optimize.optimize_indices(num_indices_to_merge=0)

    three = [index("body", with_position=True), index("title", with_position=True), index("tags", with_position=True)]
    return {
        "no index": [],
        "indexed": three,
        "one column": [index("body", with_position=True)],
        "rows after the index": [*three, insert(60)],
        "deleted rows": [*three, delete],
        "deleted rows on both sides": [*three, insert(80), delete],
        "two segments": [*three, insert(70), segment],
        "plain words": [index(c, with_position=True, stem=False, remove_stop_words=False, ascii_folding=False, lower_case=False) for c in ("body", "title", "tags")],
        "German": [index(c, with_position=True, language="German") for c in ("body", "title", "tags")],
        "own stop words": [index(c, with_position=True, custom_stop_words=["fox", "quick"]) for c in ("body", "title", "tags")],
        "ngrams": [index(c, base_tokenizer="ngram", min_ngram_length=2, max_ngram_length=3) for c in ("body", "title")] + [index("tags", base_tokenizer="whitespace")],
        "whole texts": [index(c, base_tokenizer="raw", max_token_length=None) for c in ("body", "title", "tags")],
        "code": [index(c, base_tokenizer="code", split_identifiers=True, index_operators=True) for c in ("body", "title", "tags")],
        "ICU": [index("body", base_tokenizer="icu", with_position=True), index("title", base_tokenizer="icu/split", with_position=True)]
        + [index("tags", base_tokenizer="icu", with_position=True, stem=False, remove_stop_words=False, ascii_folding=False), insert(60), delete],
        "compacted": [*three, delete, lambda t, rng: t.optimize.compact_files()],
    }[name]


COLUMNS = ["body", "title", "tags"]
OPERATORS = {"Or": q.FullTextOperator.OR, "And": q.FullTextOperator.AND}


class Queries:
    """Random queries, as pairs of the form on the wire and the form for pylance."""

    def __init__(self, rng: random.Random, phrases: bool):
        self.rng, self.phrases = rng, phrases

    def terms(self) -> str:
        return words(self.rng, self.rng.choice([1, 1, 2, 3, 5]))

    def match(self):
        rng = self.rng
        column, terms = rng.choice(COLUMNS), self.terms()
        operator = rng.choice(["Or", "Or", "And"])
        boost = rng.choice([1.0, 1.0, 2.5, 0.0])
        fuzzy = {}
        if rng.random() < 0.3:
            fuzzy = {"fuzziness": rng.choice([0, 1, 1, 2]), "max_expansions": rng.choice([50, 2, 7]), "prefix_length": rng.choice([0, 0, 1, 3])}
        wire = {"match": {"column": column, "terms": terms, "operator": operator, "boost": boost, **fuzzy}}
        return wire, q.MatchQuery(terms, column, operator=OPERATORS[operator], boost=boost, **({"fuzziness": 0} | fuzzy))

    def phrase(self):
        column, terms, slop = self.rng.choice(COLUMNS), words(self.rng, self.rng.choice([1, 2, 2, 3])), self.rng.choice([0, 0, 1, 3])
        return {"phrase": {"column": column, "terms": terms, "slop": slop}}, q.PhraseQuery(terms, column, slop=slop)

    def multi_match(self):
        columns = self.rng.sample(COLUMNS, self.rng.randrange(1, 4))
        boosts, terms = [self.rng.choice([1.0, 2.0, 0.5]) for _ in columns], self.terms()
        each = [{"column": c, "terms": terms, "boost": b} for c, b in zip(columns, boosts)]
        return {"multi_match": {"match_queries": each}}, q.MultiMatchQuery(terms, columns, boosts=boosts)

    def boost(self, depth):
        positive, negative = self.any(depth - 1), self.any(depth - 1)
        by = self.rng.choice([0.5, 0.25, 2.0])
        return {"boost": {"positive": positive[0], "negative": negative[0], "negative_boost": by}}, q.BoostQuery(positive[1], negative[1], negative_boost=by)

    def boolean(self, depth):
        clauses = {"must": [], "should": [], "must_not": []}
        for _ in range(self.rng.randrange(1, 5)):
            clauses[self.rng.choice(["must", "should", "should", "must_not"])].append(self.any(depth - 1))
        if not clauses["must"] and not clauses["should"]:
            clauses["should"].append(self.any(depth - 1))
        occurs = {"must": q.Occur.MUST, "should": q.Occur.SHOULD, "must_not": q.Occur.MUST_NOT}
        return (
            {"boolean": {kind: [c[0] for c in those] for kind, those in clauses.items()}},
            q.BooleanQuery([(occurs[kind], c[1]) for kind, those in clauses.items() for c in those]),
        )

    def any(self, depth=2):
        kind = self.rng.random()
        if depth > 0 and kind < 0.25:
            return self.boolean(depth)
        if depth > 0 and kind < 0.35:
            return self.boost(depth)
        if kind < 0.45:
            return self.multi_match()
        if self.phrases and kind < 0.6:
            return self.phrase()
        return self.match()


def scores(table: pa.Table) -> dict[int, float]:
    return dict(zip(table["id"].to_pylist(), table["_score"].to_pylist()))


def near(a: float, b: float, close: float = CLOSE) -> bool:
    return abs(a - b) <= close * max(1, abs(a), abs(b))


def difference(got: pa.Table, want: pa.Table, close: float = CLOSE) -> str | None:
    """Which of several rows with equal scores are cut off by offset and limit is open."""
    ordered = got["_score"].to_pylist()
    if ordered != sorted(ordered, reverse=True):
        return f"not in order: {ordered}"
    if got.num_rows != want.num_rows:
        return f"{got.num_rows} rows, want {want.num_rows}; got {scores(got)} want {scores(want)}"
    if not all(near(a, b, close) for a, b in zip(ordered, sorted(want["_score"].to_pylist(), reverse=True))):
        return f"scores differ: got {scores(got)} want {scores(want)}"
    left, right = scores(got), scores(want)
    ends = ordered[:1] + ordered[-1:]
    for row, score in left.items():
        if not any(near(score, end, close) for end in ends) and not (row in right and near(score, right[row], close)):
            return f"row {row} has {score}, want {right.get(row)}"
    return None


NAMES = [
    "no index", "indexed", "one column", "rows after the index", "deleted rows", "deleted rows on both sides", "two segments",
    "plain words", "German", "own stop words", "ngrams", "whole texts", "code", "ICU", "compacted",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.many
@pytest.mark.embedded("scores are the same wherever the engine runs")
def test_found_rows_and_scores_are_the_peers(name, server, outside, space, request):
    rng = random.Random(f"{name} {request.config.getoption('--seed')}")
    place = outside / f"text-{space}.lance"
    native = lance.write_dataset(rows(rng, 300), place, max_rows_per_file=120, enable_stable_row_ids=name != "compacted" and rng.random() < 0.3)
    for step in shapes(name):
        step(native, rng)
        native = lance.dataset(place)
    wire = server.wire()
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    queries = Queries(rng, phrases=name not in ("ngrams", "whole texts", "code"))
    wrong, refused = [], 0
    for _ in range(ASKED):
        ours, theirs = queries.any()
        how = {"prefilter": rng.random() < 0.7}
        if rng.random() < 0.3:
            how["filter"] = f"id % {rng.randrange(2, 5)} = 0"
        limit, offset = rng.choice([(0, 0), (5, 0), (20, 3), (500, 0), (500, 5)])
        if not how["prefilter"] and "filter" in how:
            limit = max(limit, 500)  # so that it does not matter which of equals are filtered
        fast = rng.random() < 0.1
        asked = {"k": limit, "vector": [], "columns": ["id"], "full_text_query": {"structured_query": {"query": ours}}, "offset": offset, "fast_search": fast, **how}
        answer = wire.post(f"/v1/table/{space}$t/query", asked)
        try:
            want = native.scanner(columns=["id", "_score"], full_text_query=theirs, limit=limit or None, offset=offset or None, fast_search=fast, **how).to_table()
        except BaseException as error:  # panics of the library are no Exceptions
            if isinstance(error, (KeyboardInterrupt, TimeoutError)):
                raise
            refused += 1
            assert answer.status in (200, 400), answer.body
            continue
        if answer.status != 200:
            wrong.append(f"{asked}\n  {answer.body}")
        elif found := difference(answer.table, want, SUBTRACTED if "'negative'" in str(ours) else CLOSE):
            wrong.append(f"{asked}\n  {found}")
    wire.close()
    assert refused < ASKED / 3
    assert not wrong, f"{len(wrong)} of {ASKED} differ:\n" + "\n".join(wrong[:5])


def test_json_is_searched_by_path_and_type(server, outside, space):
    rng = random.Random(5)
    documents = [
        None if rng.random() < 0.1 else '{"a":{"b":"%s","n":%d},"tags":["%s",true,null]}' % (words(rng, 4).replace('"', ""), rng.randrange(5), rng.choice(STEMS))
        for _ in range(200)
    ]
    place = outside / f"json-{space}.lance"
    table = pa.table({"id": pa.array(range(200)), "doc": pa.array(documents, pa.json_())})
    native = lance.write_dataset(table, place, max_rows_per_file=90)
    native.create_scalar_index("doc", "INVERTED")
    native = lance.dataset(place)
    wire = server.wire()
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    for terms in ("a.b,str,running", "a.n,number,3", "tags,bool,true", "tags,str,fox;a.b,str,jumps the", "tags,null,null"):
        asked = {"k": 0, "vector": [], "columns": ["id"], "full_text_query": {"structured_query": {"query": {"match": {"column": "doc", "terms": terms}}}}}
        answer = wire.post(f"/v1/table/{space}$t/query", asked)
        assert answer.status == 200, answer.body
        want = native.to_table(columns=["id", "_score"], full_text_query=q.MatchQuery(terms, "doc"))
        assert want.num_rows > 0 and not difference(answer.table, want), terms
    assert wire.post(f"/v1/table/{space}$t/query", asked | {"full_text_query": {"string_query": {"query": "hello", "columns": ["doc"]}}}).status == 400
    wire.close()


@pytest.mark.parametrize("tokenizer", ["icu", "icu/split"])
def test_words_of_many_scripts(tokenizer, server, outside, space):
    place = outside / f"scripts-{space}.lance"
    body = [*SCRIPTS, " ".join(SCRIPTS), "".join(SCRIPTS), *RARE, "的 the и", "天安门\u0301 👍🏽", None, ""]
    native = lance.write_dataset(pa.table({"id": range(len(body)), "body": body}), place)
    native.create_scalar_index("body", "INVERTED", base_tokenizer=tokenizer, with_position=True)
    native = lance.dataset(place)
    wire = server.wire()
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    found = 0
    for terms in [*SCRIPTS, *RARE, "天安门", "去 广场", "ไทย", "ลาว", "東京", "人々", "14", "foo_bar", "example com", "it", "👍🏽", "x", "bar", "的", "the"]:
        for query, theirs in (
            ({"match": {"column": "body", "terms": terms}}, q.MatchQuery(terms, "body")),
            ({"phrase": {"column": "body", "terms": terms, "slop": 1}}, q.PhraseQuery(terms, "body", slop=1)),
        ):
            asked = {"k": 0, "vector": [], "columns": ["id"], "full_text_query": {"structured_query": {"query": query}}}
            answer = wire.post(f"/v1/table/{space}$t/query", asked)
            assert answer.status == 200, answer.body
            want = native.to_table(columns=["id", "_score"], full_text_query=theirs)
            assert not difference(answer.table, want), (query, difference(answer.table, want))
            found += want.num_rows
    wire.close()
    assert found > 150


@pytest.mark.parametrize("indexed", [["body", "title"], ["body"]], ids="+".join)
def test_combined_fields_are_scored_as_one(indexed, server, outside, space):
    rng = random.Random(11)
    place = outside / f"combined-{space}.lance"
    native = lance.write_dataset(rows(rng, 300), place, max_rows_per_file=120)
    for column in indexed:
        native.create_scalar_index(column, "INVERTED")
    wire = server.wire()
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    for round in range(2):
        native = lance.dataset(place)
        for _ in range(20):
            terms, operator = words(rng, rng.randrange(1, 4)), rng.choice(["Or", "And"])
            boosts = [1.0, rng.choice([1.0, 2.5])]
            node = {"combined_fields": {"query": terms, "columns": ["body", "title"], "boost": boosts, "operator": operator}}
            query = q.CombinedFieldsQuery(terms, ["body", "title"], boosts=boosts, operator=OPERATORS[operator])
            if rng.random() < 0.5:
                node = {"boolean": {"must": [node], "should": [{"match": {"column": "title", "terms": terms}}], "must_not": []}}
                query = q.BooleanQuery([(q.Occur.MUST, query), (q.Occur.SHOULD, q.MatchQuery(terms, "title", fuzziness=0))])
            answer = wire.post(f"/v1/table/{space}$t/query", {"k": 0, "vector": [], "columns": ["id"], "full_text_query": {"structured_query": {"query": node}}})
            assert answer.status == 200, answer.body
            want = native.to_table(columns=["id", "_score"], full_text_query=query)
            assert not difference(answer.table, want), node
        native.insert(rows(rng, 50, start=5_000))
    wire.close()


BAD = {
    "no column and no index": {"string_query": {"query": "fox"}},
    "a number": {"string_query": {"query": "fox", "columns": ["id"]}},
    "negative boost": {"structured_query": {"query": {"match": {"column": "body", "terms": "fox", "boost": -1}}}},
    "only must_not": {"structured_query": {"query": {"boolean": {"must": [], "should": [], "must_not": [{"match": {"column": "body", "terms": "fox"}}]}}}},
    "two kinds in a node": {"structured_query": {"query": {"match": {"column": "body", "terms": "fox"}, "phrase": {"column": "body", "terms": "fox"}}}},
    "combined without an index": {"structured_query": {"query": {"combined_fields": {"query": "fox", "columns": ["body"]}}}},
    "too many expansions": {"structured_query": {"query": {"match": {"column": "body", "terms": "fox", "fuzziness": -1}}}},
}


@pytest.fixture
def small(db, space):
    rng = random.Random(1)
    return db.create_table("t", rows(rng, 50), namespace_path=[space])


@pytest.mark.parametrize("name", BAD)
def test_bad_queries_are_the_callers_fault(name, small, wire, space):
    answer = wire.post(f"/v1/table/{space}$t/query", {"k": 10, "vector": [], "full_text_query": BAD[name]})
    assert answer.status == 400, answer.body


def test_unknown_columns_are_not_found(small, wire, space):
    asked = {"k": 10, "vector": [], "full_text_query": {"string_query": {"query": "fox", "columns": ["nothing"]}}}
    answer = wire.post(f"/v1/table/{space}$t/query", asked)
    assert answer.status in (400, 404) and "nothing" in answer.json["error"], answer.body


# The LanceDB client: it asks twice for a hybrid search, and joins the answers itself.


def vectors(rng: random.Random, count: int) -> pa.Table:
    """Each text has a length of its own, so that few rows have the same score."""
    table = pa.table({"id": range(count), "body": [words(rng, i + 3) for i in range(count)]})
    values = pa.array([rng.random() for _ in range(count * 8)], pa.float32())
    return table.append_column("vector", pa.FixedSizeListArray.from_arrays(values, 8))


@pytest.fixture
def hybrid(db, space, outside, wire):
    """The same table and text index at ours and in a local LanceDB."""
    path = outside / f"hybrid-{space}" / "t.lance"
    # Not by LanceDB: it drops other words than the Lance that we follow.
    lance.write_dataset(vectors(random.Random(3), 200), path).create_scalar_index("body", "INVERTED", with_position=True)
    local = lancedb.connect(path.parent).open_table("t")
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(path)}).status == 200
    return db.open_table("t", namespace_path=[space]), local


def test_clients_search_for_words(hybrid):
    ours, local = hybrid
    for text in ("jumping foxes", "the", '"quick brown"', "nations"):
        for build in (
            lambda t: t.search(text, query_type="fts").limit(7),
            lambda t: t.search(text, query_type="fts").select(["id", "_score"]).limit(200),
            lambda t: t.search(text, query_type="fts").where("id > 50").limit(10).with_row_id(True),
        ):
            got, want = build(ours).to_arrow(), build(local).to_arrow()
            assert got.schema.names == want.schema.names
            assert got.num_rows == want.num_rows
            assert all(near(a, b) for a, b in zip(got["_score"].to_pylist(), want["_score"].to_pylist())), text


def test_clients_search_for_queries(hybrid):
    ours, local = hybrid
    from lancedb.query import BooleanQuery, BoostQuery, MatchQuery, MultiMatchQuery, Occur, PhraseQuery

    for query in (
        MatchQuery("jumping", "body"),
        MatchQuery("jumpin", "body", fuzziness=2),
        PhraseQuery("quick brown", "body", slop=2),
        BoostQuery(MatchQuery("fox", "body"), MatchQuery("dog", "body"), negative_boost=0.3),
        MultiMatchQuery("fox dog", ["body"]),
        BooleanQuery([(Occur.MUST, MatchQuery("run", "body")), (Occur.MUST_NOT, MatchQuery("fox", "body"))]),
        MatchQuery("run", "body") & MatchQuery("walk", "body"),
    ):
        got, want = (t.search(query, query_type="fts").limit(50).to_arrow() for t in (ours, local))
        assert got.num_rows == want.num_rows > 0, query
        assert not difference(got, want), query


@pytest.mark.parametrize("limit,offset", [(5, 0), (5, 3), (7, 30), (300, 0), (300, 20)])
def test_the_best_are_answered_in_the_order_asked_for(hybrid, limit, offset):
    """Which rows are the best is decided before they are put in order and the offset is skipped."""
    from lancedb.query import ColumnOrdering

    ours, local = hybrid
    for keys in ([("id", False)], [("id", True)], [("body", True), ("id", False)]):
        by = [ColumnOrdering(column_name=name, ascending=ascending) for name, ascending in keys]
        for build in (
            lambda t: t,
            lambda t: t.where("id % 3 = 1"),
            lambda t: t.where("id % 3 = 1", prefilter=False),
        ):
            got, want = (
                build(t.search("jumping foxes run", query_type="fts")).order_by(by).limit(limit).offset(offset).select(["id", "_score"]).to_arrow()
                for t in (ours, local)
            )
            assert got["id"].to_pylist() == want["id"].to_pylist(), (keys, limit, offset)
            assert all(near(a, b) for a, b in zip(got["_score"].to_pylist(), want["_score"].to_pylist()))


@pytest.mark.parametrize("column", ["_score", "nope"])
def test_order_of_words_found_by_what_no_column_is(hybrid, wire, space, column):
    from lancedb.query import ColumnOrdering

    _, local = hybrid
    with pytest.raises(ValueError, match="not found"):
        local.search("fox", query_type="fts").order_by([ColumnOrdering(column_name=column)]).limit(3).to_arrow()
    asked = {"k": 3, "vector": [], "full_text_query": {"query": "fox", "columns": ["body"]}, "order_by": [{"column_name": column}]}
    answer = wire.post(f"/v1/table/{space}$t/query", asked)
    assert (answer.status, answer.json["code"]) == (404, 12), answer.body


def test_index_that_needs_a_language_model(server, outside, space, monkeypatch, tmp_path):
    """Neither side has the model with which the index was made: searches are refused, and
    nothing else is."""
    model = tmp_path / "jieba" / "default"
    model.mkdir(parents=True)
    (model / "config.json").write_text('{"main": "dict.txt"}')
    (model / "dict.txt").write_text("今天 100 t\n天气 100 n\n")
    monkeypatch.setenv("LANCE_LANGUAGE_MODEL_HOME", str(tmp_path))
    place = outside / f"chinese-{space}.lance"
    native = lance.write_dataset(pa.table({"id": [1, 2], "body": ["今天天气 hello", "quick fox"]}), place)
    native.create_scalar_index("body", "INVERTED", base_tokenizer="jieba/default")
    monkeypatch.delenv("LANCE_LANGUAGE_MODEL_HOME")
    native = lance.dataset(place, session=lance.Session())
    with pytest.raises(Exception, match="Invalid user input"):
        native.to_table(full_text_query="hello")
    wire = server.wire()
    path = f"/v1/table/{space}$t"
    assert wire.post(f"{path}/register", {"location": str(place)}).status == 200
    answer = wire.post(f"{path}/query", {"k": 3, "vector": [], "full_text_query": {"query": "hello"}})
    assert (answer.status, answer.json["code"]) == (400, 13), answer.body
    assert "jieba/default" in answer.json["error"] and "base_tokenizer" in answer.json["error"]
    assert wire.post(f"{path}/query", {"k": 0, "vector": [], "filter": "body LIKE '%fox'"}).table["id"].to_pylist() == [2]
    wire.close()


def test_hybrid_search_of_the_client(hybrid):
    ours, local = hybrid
    for reranker in (RRFReranker(), RRFReranker(return_score="all")):
        def build(t):
            return t.search(query_type="hybrid").vector([0.5] * 8).text("jumping foxes").rerank(reranker).limit(10).to_arrow()

        got, want = build(ours), build(local)
        assert got.schema.names == want.schema.names
        assert got["id"].to_pylist() == want["id"].to_pylist()
        assert got["_relevance_score"].to_pylist() == want["_relevance_score"].to_pylist()


def test_hybrid_search_of_the_async_client(hybrid, server, space):
    _, local = hybrid

    async def ask() -> pa.Table:
        connection = await lancedb.connect_async("db://e2e", api_key=server.token, host_override=server.url)
        table = await connection.open_table("t", namespace_path=[space])
        return await table.query().nearest_to([0.5] * 8).nearest_to_text("jumping foxes").limit(10).to_arrow()

    got = asyncio.run(ask())
    want = local.search(query_type="hybrid").vector([0.5] * 8).text("jumping foxes").limit(10).to_arrow()
    assert got["id"].to_pylist() == want["id"].to_pylist()


@pytest.mark.embedded("builds an index of 300,000 texts, which is the same everywhere")
def test_many_texts(server, outside, space):
    """Of so many texts the service reads lengths, rows and terms of its index in pages. Rows are deleted after it was built,
    and many texts have the same score."""
    rng = random.Random(11)
    often = [f"w{n}" for n in range(300)]
    shares = [1 / (n + 1) for n in range(len(often))]
    texts = [" ".join([*rng.choices(often, shares, k=rng.randrange(2, 9)), f"{rng.getrandbits(64):x}", f"{rng.getrandbits(64):x}"]) for _ in range(300_000)]
    place = outside / f"many-{space}.lance"
    lance.write_dataset(pa.table({"id": pa.array(range(len(texts)), pa.int64()), "body": texts}), place)
    wire, path = server.wire(), f"/v1/table/{space}$t"
    assert wire.post(f"{path}/register", {"location": str(place)}).status == 200
    assert wire.post(f"{path}/create_index", {"column": "body", "index_type": "FTS", "stem": False, "remove_stop_words": False}).status < 300
    deadline = time.monotonic() + 120
    while not wire.post(f"{path}/index/list", {}).json["indexes"]:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert wire.post(f"{path}/delete", {"predicate": "id % 9 = 4"}).status == 200
    native = lance.dataset(place)
    for _ in range(40):
        words, k = rng.sample(often, rng.randrange(1, 4)) + rng.choice([[], [rng.choice(texts).split()[-1]]]), rng.choice([1, 10, 70])
        query = {"query": " ".join(words), "columns": ["body"]}
        want = native.to_table(["id", "_score"], full_text_query=query, limit=k).to_pydict()
        got = wire.post(f"{path}/query", {"k": k, "vector": [], "full_text_query": query, "columns": {"column_names": ["id", "_score"]}}).table.to_pydict()
        assert len(got["id"]) == len(want["id"]) > 0, query
        assert all(near(a, b) for a, b in zip(got["_score"], sorted(want["_score"], reverse=True), strict=True)), query
        least = min(want["_score"])  # of the rows with that score, native Lance may take others
        best = [{i for i, score in zip(found["id"], found["_score"]) if not near(score, least)} for found in (got, want)]
        assert best[0] == best[1], query
        assert all(i % 9 != 4 for i in got["id"]), query
    wire.close()
