"""Text indices of native Lance, in each form of its format and after each history: we read them, and
find the rows that it finds, with its scores.
"""

from __future__ import annotations

import os
import random
import shutil

import lance
import lance.query as q
import pyarrow as pa
import pytest
from test_fulltext import difference

pytestmark = pytest.mark.engine

ASKED = int(os.environ.get("E2E_TEXTS", "60"))

FORMS = {
    "plain": {},
    "positions": {"with_position": True},
    "large blocks": {"with_position": True, "block_size": 256},
    "first format": {"with_position": True, "format_version": 1},
    "first format without positions": {"format_version": 1},
    "third format": {"with_position": True, "format_version": 3},
}


def text(rng: random.Random) -> str | None:
    """A few words are in most texts, so that their posting lists have blocks of all kinds."""
    if rng.random() < 0.05:
        return None
    return " ".join(f"word{min(int(rng.expovariate(0.12)), 200)}" for _ in range(rng.choice([0, 1, 4, 9, 30, 90])))


def rows(rng: random.Random, count: int, start: int = 0) -> pa.Table:
    return pa.table({
        "id": pa.array(range(start, start + count), pa.int64()),
        "body": pa.array([text(rng) for _ in range(count)], pa.string()),
        "title": pa.array([text(rng) for _ in range(count)], pa.string()),
        "n": pa.array([rng.randrange(10) for _ in range(count)], pa.int64()),
    })  # fmt: skip


def histories(rng: random.Random) -> list:
    """Steps of what happens to a table, after each of which it is asked."""

    def update(t):
        t.update({"body": "'word1 word3 word3'"}, where="id % 13 = 5")

    def update_other(t):
        t.update({"n": "n + 1"}, where="id % 11 = 2")

    return [
        ("plain", lambda t: None),
        ("deleted", lambda t: t.delete("id % 7 = 3 OR id BETWEEN 300 AND 420")),
        ("appended", lambda t: t.insert(rows(rng, 150, start=2_000))),
        ("updated", update),
        ("another column updated", update_other),
        ("delta", lambda t: t.optimize.optimize_indices(num_indices_to_merge=0)),
        ("appended again", lambda t: t.insert(rows(rng, 90, start=3_000))),
        ("compacted", lambda t: t.optimize.compact_files()),
        ("optimized", lambda t: t.optimize.optimize_indices()),
        ("deleted again", lambda t: t.delete("id % 5 = 1")),
        ("updated again", update),
        ("all optimized", lambda t: t.optimize.optimize_indices()),
    ]


class Queries:
    """Random queries, as (what goes over the wire, the same for pylance)."""

    def __init__(self, rng: random.Random, phrases: bool):
        self.rng, self.phrases = rng, phrases

    def terms(self) -> str:
        return " ".join(f"word{self.rng.choice([0, 1, 2, 5, 20, 40, 300])}" for _ in range(self.rng.choice([1, 1, 2, 3, 5])))

    def match(self):
        rng = self.rng
        terms, column, operator = self.terms(), rng.choice(["body", "body", "title"]), rng.choice(["Or", "Or", "And"])
        fuzzy = {"fuzziness": 1, "max_expansions": rng.choice([3, 50])} if rng.random() < 0.2 else {}
        wire = {"match": {"column": column, "terms": terms, "operator": operator, "boost": 1.5, **fuzzy}}
        how = q.FullTextOperator.AND if operator == "And" else q.FullTextOperator.OR
        return wire, q.MatchQuery(terms, column, operator=how, boost=1.5, **({"fuzziness": 0} | fuzzy))

    def phrase(self):
        terms, slop = " ".join(f"word{self.rng.randrange(4)}" for _ in range(self.rng.choice([1, 2, 3]))), self.rng.choice([0, 0, 2])
        return {"phrase": {"column": "body", "terms": terms, "slop": slop}}, q.PhraseQuery(terms, "body", slop=slop)

    def multi_match(self):
        terms = self.terms()
        each = [{"column": c, "terms": terms, "boost": b} for c, b in (("body", 1.0), ("title", 2.0))]
        return {"multi_match": {"match_queries": each}}, q.MultiMatchQuery(terms, ["body", "title"], boosts=[1.0, 2.0])

    def boolean(self):
        a, b, c = self.leaf(), self.leaf(), self.leaf()
        wire = {"boolean": {"must": [a[0]], "should": [b[0]], "must_not": [c[0]]}}
        return wire, q.BooleanQuery([(q.Occur.MUST, a[1]), (q.Occur.SHOULD, b[1]), (q.Occur.MUST_NOT, c[1])])

    def boost(self):
        a, b = self.leaf(), self.leaf()
        return {"boost": {"positive": a[0], "negative": b[0], "negative_boost": 0.3}}, q.BoostQuery(a[1], b[1], negative_boost=0.3)

    def leaf(self):
        kinds = [self.match, self.match, self.multi_match] + ([self.phrase] if self.phrases else [])
        return self.rng.choice(kinds)()

    def any(self):
        return self.rng.choice([self.leaf, self.leaf, self.leaf, self.boolean, self.boost])()


def ask(wire, name: str, native: lance.LanceDataset, queries: Queries, rng: random.Random) -> list[str]:
    wrong = []
    for _ in range(max(ASKED // 6, 4)):
        ours, theirs = queries.any()
        how = {"prefilter": rng.random() < 0.7}
        if rng.random() < 0.3:
            how["filter"] = f"n < {rng.randrange(1, 9)}"
        limit, offset = rng.choice([(0, 0), (5, 0), (20, 3), (2000, 0)])
        if not how["prefilter"] and "filter" in how:
            limit = 3000  # so that it does not matter which of equals are filtered
        fast = rng.random() < 0.1
        asked = {"k": limit, "vector": [], "columns": ["id"], "full_text_query": {"structured_query": {"query": ours}}, "offset": offset, "fast_search": fast, **how}
        want = native.scanner(columns=["id", "_score"], full_text_query=theirs, limit=limit or None, offset=offset or None, fast_search=fast, **how).to_table()
        answer = wire.post(f"/v1/table/{name}/query", asked)
        if answer.status != 200:
            wrong.append(f"{asked}\n  {answer.body}")
        elif found := difference(answer.table, want):
            wrong.append(f"{asked}\n  {found}")
    return wrong


def find(wire, name: str, native: lance.LanceDataset, rng: random.Random) -> list[str]:
    """Which rows have some words, by their texts."""
    wrong, texts = [], native.to_table(columns=["id", "body"]).to_pylist()
    for _ in range(8):
        words, operator = [f"word{rng.choice([0, 1, 3, 5, 20])}" for _ in range(rng.randrange(1, 4))], rng.choice(["Or", "And"])
        query = {"match": {"column": "body", "terms": " ".join(words), "operator": operator}}
        asked = {"k": 0, "vector": [], "columns": ["id"], "full_text_query": {"structured_query": {"query": query}}}
        answer = wire.post(f"/v1/table/{name}/query", asked)
        assert answer.status == 200, answer.body
        holds = any if operator == "Or" else all
        want = [row["id"] for row in texts if holds(word in (row["body"] or "").split() for word in words)]
        if sorted(answer.table["id"].to_pylist()) != sorted(want):
            wrong.append(f"{query}: {answer.table.num_rows} rows, want {len(want)}")
    return wrong


CASES = [pytest.param(form, stable, ["body", "title"], id=f"{form}-{'stable ids' if stable else 'addresses'}") for form in FORMS for stable in (False, True)]
CASES += [pytest.param(form, False, ["body"], id=f"{form}-one column") for form in ("plain", "third format")]


@pytest.mark.many
@pytest.mark.parametrize("form, stable, columns", CASES)
@pytest.mark.embedded("scores are the same wherever the engine runs")
def test_indices_of_every_form_answer_as_the_peers_do(form, stable, columns, server, outside, space):
    """With one index, the other column is read, whose rows are found beside those of the index."""
    rng = random.Random(f"{form} {stable}")
    place = outside / f"lists-{space}.lance"
    native = lance.write_dataset(rows(rng, 700), place, max_rows_per_file=300, enable_stable_row_ids=stable)
    for column in columns:
        native.create_scalar_index(column, "INVERTED", **FORMS[form])
    wire = server.wire()
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    queries = Queries(rng, phrases="with_position" in FORMS[form] and len(columns) == 2)
    # Where rows keep their ids, native Lance finds an updated row by its earlier text, too, as soon as
    # another segment has its new one: it answers the row twice, or gives up.
    astray = False
    for step, happens in histories(rng):
        native = lance.dataset(place)
        happens(native)
        native = lance.dataset(place)
        astray = astray or stable and step == "delta"
        wrong = find(wire, f"{space}$t", native, rng)
        wrong += [] if astray else ask(wire, f"{space}$t", native, queries, rng)
        assert not wrong, f"{step}: {len(wrong)} differ:\n" + "\n".join(wrong[:3])
        plan = analyzed(wire, f"{space}$t", {"match": {"column": "body", "terms": "word0"}})
        assert "index_blocks=" in plan or astray and "several documents of row" in plan, plan
    wire.close()


def analyzed(wire, name: str, query: dict) -> str:
    answer = wire.post(f"/v1/table/{name}/analyze_plan", {"k": 10, "vector": [], "columns": ["id"], "full_text_query": {"structured_query": {"query": query}}})
    assert answer.status == 200, answer.body
    return answer.body.decode() if isinstance(answer.body, bytes) else str(answer.body)


def test_a_damaged_index_is_done_without(server, outside, space):
    """Whatever file of an index is cut off or gone, the rows are found, and with their scores."""
    server.not_behind_gateway("files in a bucket are not listed here")
    rng = random.Random(3)
    place = outside / f"damaged-{space}.lance"
    native = lance.write_dataset(rows(rng, 300), place)
    native.create_scalar_index("body", "INVERTED", with_position=True)
    want = native.to_table(columns=["id", "_score"], full_text_query=q.MatchQuery("word1 word2", "body"))
    query = {"match": {"column": "body", "terms": "word1 word2"}}
    (folder,) = (place / "_indices").iterdir()
    for number, file in enumerate(sorted(f.name for f in folder.iterdir() if f.name != "metadata.lance")):
        copy = outside / f"damaged-{space}-{number}.lance"
        shutil.copytree(place, copy)
        damaged = copy / "_indices" / folder.name / file
        damaged.write_bytes(damaged.read_bytes()[: damaged.stat().st_size // 2])
        wire = server.wire()
        assert wire.post(f"/v1/table/{space}$t{number}/register", {"location": str(copy)}).status == 200
        asked = {"k": 0, "vector": [], "columns": ["id"], "full_text_query": {"structured_query": {"query": query}}}
        answer = wire.post(f"/v1/table/{space}$t{number}/query", asked)
        assert answer.status == 200, answer.body
        assert not difference(answer.table, want), file
        assert "index_not_used" in analyzed(wire, f"{space}$t{number}", query)
        wire.close()
