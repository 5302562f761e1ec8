"""Hybrid searches: one query for a vector and a text has the rows, the order and the relevances that the LanceDB client
computes from two queries to the same server."""

from __future__ import annotations

import random

import lance
import pyarrow as pa
import pytest
from lancedb.rerankers import RRFReranker

pytestmark = pytest.mark.engine

WORDS = "fox dog cat house river stone lamp road".split()
ROWS = 600


def rows(rng: random.Random) -> pa.Table:
    """Vectors and texts of which several are equal, so that distances, scores and relevances are, too."""
    bodies = [" ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 6))) for _ in range(ROWS)]
    values = pa.array([float(rng.randrange(3)) for _ in range(ROWS * 4)], pa.float32())
    return pa.table({"id": range(ROWS), "group": [i % 7 for i in range(ROWS)], "body": bodies, "vector": pa.FixedSizeListArray.from_arrays(values, 4)})


@pytest.fixture(params=["flat", "indexed"])
def table(request, db, space, outside, wire):
    """A table with a text index that covers most rows, and with or without a vector index."""
    path = outside / f"hybrid-{request.param}-{space}" / "t.lance"
    made = rows(random.Random(5))
    native = lance.write_dataset(made.slice(0, 500), path)
    native.create_scalar_index("body", "INVERTED")
    if request.param == "indexed":
        native.create_index("vector", "IVF_FLAT", num_partitions=4)
    lance.write_dataset(made.slice(500), path, mode="append")
    lance.dataset(path).delete("id % 50 = 3")
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(path)}).status == 200
    return db.open_table("t", namespace_path=[space])


def asked(text: str, vector: list[float], **fields) -> dict:
    return {"vector": vector, "full_text_query": {"string_query": {"query": text}}, "prefilter": True, "with_row_id": True, **fields}


@pytest.mark.parametrize("limit,offset", [(1, 0), (10, 0), (10, 5), (100, 250), (ROWS, 0)])
def test_rows_are_those_that_the_client_joins(table, wire, space, limit, offset):
    rng = random.Random(limit + offset)
    for text in ("fox", "river stone", "nothing", "cat house dog lamp"):
        for where, prefilter in ((None, True), ("`group` < 3", True), ("`group` < 3", False)):
            vector = [rng.random() * 2 for _ in range(4)]
            search = table.search(query_type="hybrid", vector_column_name="vector", fts_columns="body").vector(vector).text(text)
            search = search.rerank(RRFReranker(return_score="all")).limit(limit).offset(offset).with_row_id(True)
            if where:
                search = search.where(where, prefilter=prefilter)
            want = search.to_arrow()
            fields = {"k": limit, "offset": offset, **({"filter": where, "prefilter": prefilter} if where else {})}
            answer = wire.post(f"/v1/table/{space}$t/query", asked(text, vector, **fields))
            assert answer.status == 200, answer.body
            got = answer.table
            assert got.column_names == ["id", "group", "body", "vector", "_distance", "_score", "_relevance_score", "_rowid"]
            for column in ("_rowid", "id", "body", "_relevance_score", "_distance", "_score"):
                # The client has no column of scores if no row has the words.
                values = want[column].to_pylist() if column in want.column_names else [None] * want.num_rows
                assert got[column].to_pylist() == values, (text, where, prefilter, column)


def test_constant_of_the_fusion(table, wire, space):
    vector = [1.0, 0.5, 2.0, 0.0]
    for k in (1, 7, 1000):
        search = table.search(query_type="hybrid", vector_column_name="vector", fts_columns="body").vector(vector).text("fox river")
        want = search.rerank(RRFReranker(K=k)).limit(50).to_arrow()
        got = wire.post(f"/v1/table/{space}$t/query", asked("fox river", vector, k=50, rerank={"method": "rrf", "k": k})).table
        assert got["id"].to_pylist() == want["id"].to_pylist()
        assert got["_relevance_score"].to_pylist() == want["_relevance_score"].to_pylist()


def test_weights_choose_between_the_rankings(table, wire, space):
    vector = [1.0, 0.5, 2.0, 0.0]
    path = f"/v1/table/{space}$t/query"
    body = asked("fox river", vector, k=10)
    nearest = wire.post(path, {**body, "full_text_query": None}).table["id"].to_pylist()
    words = wire.post(path, {**body, "vector": []}).table["id"].to_pylist()
    for weights, want in (({"text": 0}, nearest), ({"vector": 0}, words), ({"vector": 1000}, nearest), ({"text": 1000}, words)):
        assert wire.post(path, {**body, "rerank": {"weights": weights}}).table["id"].to_pylist() == want, weights


def test_order_applies_to_the_best_rows(table, wire, space):
    body = asked("fox river", [1.0, 0.5, 2.0, 0.0], k=20)
    path = f"/v1/table/{space}$t/query"
    best = wire.post(path, body).table["id"].to_pylist()
    ordered = {**body, "order_by": [{"column_name": "id"}]}
    assert wire.post(path, ordered).table["id"].to_pylist() == sorted(best)
    assert wire.post(path, {**ordered, "k": 15, "offset": 5}).table["id"].to_pylist() == sorted(best)[5:]


def test_plan_shows_both_halves(table, wire, space):
    body = asked("fox", [1.0, 0.5, 2.0, 0.0], k=3)
    plan = wire.post(f"/v1/table/{space}$t/explain_plan", {"query": body}).json
    assert "Fuse: method=rrf, k=60" in plan
    assert plan.index("Take") < plan.index("Fuse") < plan.index("Nearest") < plan.index("MatchText")
    assert "Fuse" in wire.post(f"/v1/table/{space}$t/analyze_plan", body).json


BAD = {
    "method": ({"rerank": {"method": "linear"}}, "rerank.method"),
    "field": ({"rerank": {"method": "rrf", "normalize": "rank"}}, "normalize"),
    "weight": ({"rerank": {"weights": {"image": 1}}}, "image"),
    "constant": ({"rerank": {"k": 0}}, "rerank.k"),
    "weights": ({"rerank": {"weights": {"vector": 0, "text": 0}}}, "rerank.weights"),
    "negative": ({"rerank": {"weights": {"text": -1}}}, "rerank.weights.text"),
    "alone": ({"rerank": {"method": "rrf"}, "vector": []}, "rerank"),
    "several": ({"vector": [[1, 2, 3, 4], [1, 2, 3, 4]]}, "several query vectors"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_joined_is_refused_by_name(table, wire, space, name):
    fields, named = BAD[name]
    answer = wire.post(f"/v1/table/{space}$t/query", {**asked("fox", [1, 2, 3, 4], k=3), **fields})
    assert answer.status == 400 and named in answer.json["error"], answer.body
