"""Searches in which each element of a list is a document of its own, by indices of native Lance and by
those that the service builds: the rows and places that native Lance finds, with its scores.
"""

from __future__ import annotations

import datetime
import json
import random

import lance
import lance.query as q
import lancedb.index
import lancedb.query
import pyarrow as pa
import pytest
from test_maintenance import maintain

pytestmark = pytest.mark.engine

MINUTE = datetime.timedelta(minutes=1)
ELEMENTS, ROWS = q.DocumentGranularity.LIST_ELEMENT, q.DocumentGranularity.ROW
CLOSE = 1e-5


def rows(rng: random.Random, count: int, start: int = 0) -> pa.Table:
    def element() -> str | None:
        return rng.choice([None, "", "the"]) if rng.random() < 0.1 else text()

    def text() -> str:
        return " ".join(f"word{min(int(rng.expovariate(0.3)), 60)}" for _ in range(rng.choice([1, 2, 5, 20])))

    def tags() -> list | None:
        return None if rng.random() < 0.05 else [element() for _ in range(rng.choice([0, 1, 2, 3, 8]))]

    return pa.table({
        "id": pa.array(range(start, start + count), pa.int64()),
        "tags": pa.array([tags() for _ in range(count)], pa.list_(pa.string())),
        "n": pa.array([rng.randrange(10) for _ in range(count)], pa.int64()),
    })  # fmt: skip


class Queries:
    """Random queries, each as JSON and for pylance."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def terms(self, most: int = 4) -> str:
        return " ".join(f"word{self.rng.choice([0, 0, 1, 2, 5, 99])}" for _ in range(self.rng.randrange(1, most)))

    def leaf(self):
        terms, asked = self.terms(), self.rng.choice([None, ELEMENTS])
        said = {"document_granularity": asked.value} if asked else {}
        if self.rng.random() < 0.3:
            return {"phrase": {"column": "tags", "terms": terms, **said}}, q.PhraseQuery(terms, "tags", document_granularity=asked)
        operator, fuzziness = self.rng.choice(["Or", "And"]), self.rng.choice([0, 0, 0, 1])
        ours = {"column": "tags", "terms": terms, "operator": operator, "fuzziness": fuzziness, **said}
        theirs = q.MatchQuery(terms, "tags", operator=q.FullTextOperator[operator.upper()], fuzziness=fuzziness, document_granularity=asked)
        return {"match": ours}, theirs

    def any(self):
        a, b = self.leaf(), self.leaf()
        return self.rng.choice([
            a, b,
            ({"boost": {"positive": a[0], "negative": b[0]}}, q.BoostQuery(a[1], b[1])),
            ({"boolean": {"should": [a[0]], "must_not": [b[0]]}}, q.BooleanQuery([(q.Occur.SHOULD, a[1]), (q.Occur.MUST_NOT, b[1])])),
            ({"boolean": {"must": [a[0]], "should": [b[0]]}}, q.BooleanQuery([(q.Occur.MUST, a[1]), (q.Occur.SHOULD, b[1])])),
        ])  # fmt: skip


def found(table: pa.Table) -> dict:
    return {(r["id"], *r["_doc_index"]): r["_score"] for r in table.select(["id", "_doc_index", "_score"]).to_pylist()}


def difference(got: pa.Table, want: pa.Table) -> str | None:
    """Which of several with equal scores are cut off by offset and limit is open."""
    left, right = found(got), found(want)
    scores, others = list(left.values()), sorted(right.values(), reverse=True)
    if len(left) != got.num_rows or scores != sorted(scores, reverse=True):
        return f"out of order, or twice: {left}"
    if len(left) != len(right) or any(abs(a - b) > CLOSE * max(1, abs(a)) for a, b in zip(scores, others)):
        return f"{len(left)} documents, want {len(right)}: {left} want {right}"
    ends = scores[:1] + scores[-1:]
    for place, score in left.items():
        if all(abs(score - end) > CLOSE for end in ends) and (place not in right or abs(right[place] - score) > CLOSE * max(1, abs(score))):
            return f"{place} has {score}, want {right.get(place)}"
    return None


def steps(rng: random.Random) -> list:
    return [
        ("plain", lambda t: None),
        ("deleted", lambda t: t.delete("id % 7 = 3 OR id BETWEEN 100 AND 140")),
        ("appended", lambda t: t.insert(rows(rng, 60, start=2_000))),
        ("updated", lambda t: t.update({"tags": "make_array('word1 word3', 'word0')"}, where="id % 13 = 5")),
        ("extended", lambda t: t.optimize.optimize_indices(num_indices_to_merge=0)),
        ("appended again", lambda t: t.insert(rows(rng, 40, start=3_000))),
        ("compacted", lambda t: t.optimize.compact_files()),
        ("optimized", lambda t: t.optimize.optimize_indices()),
    ]


def ask(wire, name: str, native: lance.LanceDataset, rng: random.Random, count: int) -> None:
    queries, refused = Queries(rng), 0
    for _ in range(count):
        ours, theirs = queries.any()
        fast, limit, offset = rng.random() < 0.2, *rng.choice([(0, 0), (5, 0), (20, 3)])
        how = {"filter": f"n < {rng.randrange(1, 9)}", "prefilter": True} if rng.random() < 0.3 else {}
        asked = {"k": limit, "offset": offset, "vector": [], "columns": ["id"], "fast_search": fast, **how}
        try:
            want = native.scanner(
                columns=["id", "_score"], full_text_query=theirs, limit=limit or None, offset=offset or None, fast_search=fast, **how
            ).to_table()
        except ValueError as error:
            # Native Lance does not search for similar words also in rows that the index does not cover.
            assert "fuzzy" in str(error) or "BM25 scorer is missing" in str(error), error
            refused += 1
            continue
        answer = wire.post(f"/v1/table/{name}/query", asked | {"full_text_query": {"structured_query": {"query": ours}}})
        assert answer.status == 200, f"{asked} {ours}: {answer.body}"
        assert answer.table.schema.field("_doc_index").type == want.schema.field("_doc_index").type
        assert not difference(answer.table, want), f"{asked} {ours}: {difference(answer.table, want)}"
    assert refused <= count / 2


@pytest.mark.parametrize("builder", ["native", "service"])
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable ids"])
@pytest.mark.embedded("scores are the same wherever the engine runs")
def test_found_elements_and_scores_are_the_peers(stable, builder, server, outside, space, db):
    rng = random.Random(f"{builder} {stable}")
    place = outside / f"elements-{space}.lance"
    native = lance.write_dataset(rows(rng, 400), place, max_rows_per_file=150, enable_stable_row_ids=stable)
    wire, name = server.wire(), f"{space}$t"
    assert wire.post(f"/v1/table/{name}/register", {"location": str(place)}).status == 200
    if builder == "native":
        native.create_scalar_index("tags", "INVERTED", document_granularity=ELEMENTS, with_position=True)
    else:
        config = lancedb.index.FTS(document_granularity=lancedb.index.DocumentGranularity.LIST_ELEMENT, with_position=True)
        db.open_table("t", namespace_path=[space]).create_index("tags", config=config, wait_timeout=MINUTE)
        (description,) = lance.dataset(place).describe_indices()
        assert description.name == "tags_idx"  # the client waits for this one
    for step, happens in steps(rng):
        happens(lance.dataset(place))
        if stable and step == "extended":
            break  # native Lance finds an updated row by its earlier text, too
        try:
            ask(wire, name, lance.dataset(place), rng, 8)
        except AssertionError as wrong:
            raise AssertionError(f"{step}: {wrong}") from wrong
    assert "index_blocks=" in plan(wire, name), "the index is not used"
    wire.close()


def plan(wire, name: str) -> str:
    query = {"structured_query": {"query": {"match": {"column": "tags", "terms": "word0"}}}}
    answer = wire.post(f"/v1/table/{name}/analyze_plan", {"k": 10, "vector": [], "full_text_query": query})
    assert answer.status == 200, answer.body
    return str(answer.body)


def test_without_an_index_the_query_chooses(server, outside, space):
    rng = random.Random(5)
    place = outside / f"elements-{space}.lance"
    native = lance.write_dataset(rows(rng, 60), place)
    wire, name = server.wire(), f"{space}$t"
    assert wire.post(f"/v1/table/{name}/register", {"location": str(place)}).status == 200
    for granularity in (ELEMENTS, ROWS, None):
        said = {"document_granularity": granularity.value} if granularity else {}
        query = {"match": {"column": "tags", "terms": "word0 word2", **said}}
        answer = wire.post(f"/v1/table/{name}/query", {"k": 0, "vector": [], "columns": ["id"], "full_text_query": {"structured_query": {"query": query}}})
        assert answer.status == 200, answer.body
        want = native.to_table(columns=["id", "_score"], full_text_query=q.MatchQuery("word0 word2", "tags", document_granularity=granularity))
        if granularity is ELEMENTS:
            assert not difference(answer.table, want)
        else:
            assert "_doc_index" not in answer.table.schema.names
            assert sorted(answer.table["id"].to_pylist()) == sorted(want["id"].to_pylist())
    wire.close()


def test_maintenance_extends_the_index(wire, space, db):
    table = db.create_table("t", pa.table({"id": [1], "tags": [["red fox", "", None, "blue"]]}), namespace_path=[space])
    config = lancedb.index.FTS(document_granularity=lancedb.index.DocumentGranularity.LIST_ELEMENT)
    table.create_index("tags", config=config, wait_timeout=MINUTE)
    table.add(pa.table({"id": [2], "tags": [["green", "red red"]]}))
    maintain(wire, f"{space}$t", indices=True)
    assert table.index_stats("tags_idx").num_unindexed_rows == 0
    got = table.search(lancedb.query.MatchQuery("red", "tags")).select(["id"]).to_arrow()
    assert [(r["id"], r["_doc_index"]) for r in got.to_pylist()] == [(2, [1]), (1, [0])]
    chosen = table.search(lancedb.query.MatchQuery("red", "tags")).where("array_has(_doc_index, 0)", prefilter=False).select(["id", "_doc_index"])
    assert chosen.to_arrow()["id"].to_pylist() == [1]


def test_both_granularities_side_by_side(wire, space, db):
    table = db.create_table("t", pa.table({"id": [1, 2], "tags": [["red fox", "blue"], ["red"]], "t": ["a", "b"]}), namespace_path=[space])
    table.create_index("tags", config=lancedb.index.FTS(), wait_timeout=MINUTE)
    asked = {"column": "tags", "index_type": "FTS", "document_granularity": "list_element"}
    assert wire.post(f"/v1/table/{space}$t/create_index", asked).status in (200, 202)
    table.wait_for_index(["tags_list_element_idx"], MINUTE)
    assert sorted(i.name for i in table.list_indices()) == ["tags_idx", "tags_list_element_idx"]
    for granularity in lancedb.index.DocumentGranularity:
        got = table.search(lancedb.query.MatchQuery("blue red", "tags", operator=lancedb.query.FullTextOperator.AND, document_granularity=granularity))
        assert got.to_arrow()["id"].to_pylist() == ([1] if granularity.value == "row" else [])
    assert table.search("blue", query_type="fts").to_arrow()["id"].to_pylist() == [1]  # of rows


WRONG = [
    ({"match": {"column": "tags", "terms": "a", "document_granularity": "row"}}, "list elements"),
    ({"match": {"column": "tags", "terms": "a", "document_granularity": "page"}}, "document_granularity"),
    ({"match": {"terms": "a", "document_granularity": "list_element"}}, "needs a column"),
    ({"match": {"column": "t", "terms": "a", "document_granularity": "list_element"}}, "list of texts"),
    ({"multi_match": {"query": "a", "columns": ["tags"]}}, "whole rows"),
    ({"combined_fields": {"query": "a", "columns": ["tags", "t"]}}, "whole rows"),
    ({"boolean": {"must": [{"match": {"column": "tags", "terms": "a"}}, {"match": {"column": "t", "terms": "a"}}]}}, "same document_granularity"),
    ({"boolean": {"must": [{"match": {"column": "tags", "terms": "a"}}, {"match": {"column": "more", "terms": "a", "document_granularity": "list_element"}}]}}, "one column only"),
]  # fmt: skip


def test_what_does_not_fit_is_refused(wire, space, db):
    table = db.create_table("t", pa.table({"id": [1], "tags": [["a"]], "more": [["a"]], "t": ["a"]}), namespace_path=[space])
    config = lancedb.index.FTS(document_granularity=lancedb.index.DocumentGranularity.LIST_ELEMENT)
    table.create_index("tags", config=config, wait_timeout=MINUTE)
    for query, says in WRONG:
        asked = {"k": 0, "vector": [], "full_text_query": {"structured_query": {"query": query}}}
        answer = wire.post(f"/v1/table/{space}$t/query", asked)
        assert answer.status == 400, f"{query}: {answer.body}"
        assert says in json.dumps(answer.json), f"{query}: {answer.json}"
    for asked, says in (({"column": "t"}, "list of texts"), ({"column": "tags", "document_granularity": "page"}, "row or list_element")):
        answer = wire.post(f"/v1/table/{space}$t/create_index", {"index_type": "FTS", "document_granularity": "list_element"} | asked)
        assert answer.status == 400, answer.body
        assert says in json.dumps(answer.json), answer.json


def test_elements_without_terms(server, outside, space, db):
    place = outside / f"elements-{space}.lance"
    lance.write_dataset(pa.table({"id": [1, 2], "tags": pa.array([["", None], []], pa.list_(pa.string()))}), place)
    wire = server.wire()
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    table = db.open_table("t", namespace_path=[space])
    config = lancedb.index.FTS(document_granularity=lancedb.index.DocumentGranularity.LIST_ELEMENT)
    table.create_index("tags", config=config, wait_timeout=MINUTE)
    query = q.MatchQuery("red", "tags")
    assert lance.dataset(place).to_table(full_text_query=query).num_rows == 0
    table.add(pa.table({"id": [3], "tags": [["red"]]}))
    native = lance.dataset(place)
    assert native.to_table(full_text_query=query)["id"].to_pylist() == [3]
    assert table.search(lancedb.query.MatchQuery("red", "tags")).to_arrow()["id"].to_pylist() == [3]
    native.optimize.optimize_indices()
    assert lance.dataset(place).to_table(full_text_query=query)["id"].to_pylist() == [3]
    assert table.search(lancedb.query.MatchQuery("red", "tags")).to_arrow()["_doc_index"].to_pylist() == [[0]]
    wire.close()
