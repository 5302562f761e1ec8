"""Text indices that the service builds: native Lance lists them, uses them, extends them, and finds by
them the rows that it finds by its own, with the same scores.
"""

from __future__ import annotations

import datetime
import json
import random

import lance
import lance.query as q
import lancedb.index
import pyarrow as pa
import pytest
from test_fulltext import difference
from test_fulltext import rows as texts_of_all_kinds
from test_text_index import Queries, ask, find, histories, rows

pytestmark = pytest.mark.engine

MINUTE = datetime.timedelta(minutes=1)

FORMS = {
    "plain": {},
    "positions": {"with_position": True},
    "large blocks": {"with_position": True, "block_size": 256},
}


def register(server, name: str, place) -> None:
    wire = server.wire()
    assert wire.post(f"/v1/table/{name}/register", {"location": str(place)}).status == 200
    wire.close()


def parameters(native: lance.LanceDataset, name: str) -> dict:
    (index,) = native.stats.index_stats(name)["indices"]
    return index["params"]


@pytest.mark.many
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable ids"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.embedded("scores are the same wherever the engine runs")
def test_they_answer_as_those_of_native_lance(form, stable, server, outside, space, db):
    """Through a history in which native Lance extends, compacts and remaps them."""
    rng = random.Random(f"{form} {stable}")
    ours, theirs = outside / f"{space}-ours.lance", outside / f"{space}-theirs.lance"
    table = rows(rng, 1500)
    for place in (ours, theirs):
        lance.write_dataset(table, place, max_rows_per_file=600, enable_stable_row_ids=stable)
    register(server, f"{space}$t", ours)
    opened = db.open_table("t", namespace_path=[space])
    for column in ("body", "title"):
        opened.create_index(column, config=lancedb.index.FTS(**FORMS[form]), wait_timeout=MINUTE)
        lance.dataset(theirs).create_scalar_index(column, "INVERTED", **FORMS[form])
    for column in ("body_idx", "title_idx"):
        assert parameters(lance.dataset(ours), column) == parameters(lance.dataset(theirs), column)
    wire = server.wire()
    queries = Queries(rng, phrases="with_position" in FORMS[form])
    astray = False  # see test_text_index
    for step, happens in histories(random.Random(1)):
        happens(lance.dataset(ours))
        native = lance.dataset(ours)
        astray = astray or stable and step == "delta"
        wrong = find(wire, f"{space}$t", native, rng)
        wrong += [] if astray else ask(wire, f"{space}$t", native, queries, rng)
        assert not wrong, f"{step}: {len(wrong)} differ:\n" + "\n".join(wrong[:3])
    wire.close()


def both(rng: random.Random, server, outside, space, db, table: pa.Table, column: str, config: lancedb.index.FTS, **options):
    """One table twice, with an index of the service and with one of native Lance."""
    ours, theirs = outside / f"{space}-ours.lance", outside / f"{space}-theirs.lance"
    for place in (ours, theirs):
        lance.write_dataset(table, place, max_rows_per_file=700)
    register(server, f"{space}$t", ours)
    opened = db.open_table("t", namespace_path=[space])
    opened.create_index(column, config=config, wait_timeout=MINUTE)
    lance.dataset(theirs).create_scalar_index(column, "INVERTED", **options)
    return opened, lance.dataset(ours), lance.dataset(theirs)


ANALYSES = {
    "usual": {},
    "whitespace": {"base_tokenizer": "whitespace", "lower_case": False, "stem": False},
    "raw": {"base_tokenizer": "raw", "max_token_length": None, "stem": False, "remove_stop_words": False},
    "ngrams": {"base_tokenizer": "ngram", "min_ngram_length": 2, "max_ngram_length": 4},
    "prefixes": {"base_tokenizer": "ngram", "min_ngram_length": 1, "max_ngram_length": 5, "prefix_only": True},
    "icu": {"base_tokenizer": "icu"},
    "icu/split": {"base_tokenizer": "icu/split", "ascii_folding": False},
    "German": {"language": "German", "max_token_length": 9},
    "own stop words": {"custom_stop_words": ["fox", "dog"], "stem": False},
    "no stop words": {"custom_stop_words": []},
}
CLIENT = {"min_ngram_length": "ngram_min_length", "max_ngram_length": "ngram_max_length"}


@pytest.mark.parametrize("analysis", ANALYSES)
def test_every_parameter_is_that_of_native_lance(analysis, server, outside, space, db):
    rng = random.Random(analysis)
    options = ANALYSES[analysis]
    config = lancedb.index.FTS(**{CLIENT.get(name, name): value for name, value in options.items()})
    if config.base_tokenizer == "ngram":
        # The client sends its defaults, which stem.
        options = {"stem": True, "remove_stop_words": True} | options
    table = texts_of_all_kinds(rng, 800)
    _, ours, theirs = both(rng, server, outside, space, db, table, "body", config, **options)
    assert parameters(ours, "body_idx") == parameters(theirs, "body_idx")
    counts = [{k: d.stats.index_stats("body_idx")["indices"][0][k] for k in ("num_tokens", "num_docs")} for d in (ours, theirs)]
    assert counts[0] == counts[1]
    bodies = [b for b in table["body"].to_pylist() if b]
    for _ in range(40):
        words = rng.choice(bodies).split()
        terms = " ".join(rng.choice(words) for _ in range(rng.randrange(1, 4)))
        query = q.MatchQuery(terms, "body", fuzziness=rng.choice([0, 0, 1]) if analysis == "usual" else 0)
        got, want = (d.scanner(columns=["id", "_score"], full_text_query=query) for d in (ours, theirs))
        plan = got.explain_plan()
        assert " MatchQuery" in plan and "FlatMatchQuery" not in plan, plan
        assert not difference(got.to_table(), want.to_table()), terms


@pytest.mark.embedded("scores are the same wherever the engine runs")
def test_native_lance_asks_both_alike(server, outside, space, db):
    """Queries of all kinds, in native Lance, with the index of the service and with its own."""
    rng = random.Random(11)
    ours, theirs = outside / f"{space}-ours.lance", outside / f"{space}-theirs.lance"
    table = rows(rng, 4000)
    for place in (ours, theirs):
        lance.write_dataset(table, place)
    register(server, f"{space}$t", ours)
    opened = db.open_table("t", namespace_path=[space])
    for column in ("body", "title"):
        opened.create_index(column, config=lancedb.index.FTS(with_position=True), wait_timeout=MINUTE)
        lance.dataset(theirs).create_scalar_index(column, "INVERTED", with_position=True)
    ours, theirs = lance.dataset(ours), lance.dataset(theirs)
    queries = Queries(rng, phrases=True)
    for number in range(150):
        _, query = queries.any()
        limit = rng.choice([None, 10])
        got, want = (d.to_table(columns=["id", "_score"], full_text_query=query, limit=limit) for d in (ours, theirs))
        assert not difference(got, want), f"query {number}: {query}"
    for prefix in ("word1", "wo", "word19"):
        query = q.MatchQuery(prefix + "x", "body", fuzziness=1, prefix_length=len(prefix) - 1)
        got, want = (d.to_table(columns=["id", "_score"], full_text_query=query) for d in (ours, theirs))
        assert not difference(got, want), prefix


@pytest.mark.parametrize("kind", ["lists", "large lists", "large texts", "members", "documents"])
def test_columns_of_every_type(kind, server, outside, space, db):
    rng = random.Random(kind)
    table = texts_of_all_kinds(rng, 500)
    column = "tags"
    if kind == "large lists":
        table = table.set_column(table.schema.get_field_index("tags"), "tags", table["tags"].cast(pa.large_list(pa.large_string())))
    elif kind == "large texts":
        column = "title"
    elif kind == "members":
        column = "m.text"
        table = table.append_column("m", pa.StructArray.from_arrays([table["body"].combine_chunks()], ["text"]))
    elif kind == "documents":
        column = "doc"
        documents = [None if i % 9 == 4 else json.dumps({"a": {"b": [body, i % 5]}, "c": i % 2 == 0, "d": None}) for i, body in enumerate(table["body"].to_pylist())]
        table = table.append_column("doc", pa.array(documents, pa.json_()))
    _, ours, theirs = both(rng, server, outside, space, db, table, column, lancedb.index.FTS())
    name = f"{column}_idx"
    assert parameters(ours, name) == parameters(theirs, name)
    for _ in range(30):
        terms = " ".join(rng.choice(["quick", "brown", "lazy", "fox", "dog", "cat", "rivers", "jumping"]) for _ in range(2))
        if kind == "documents":
            terms = rng.choice([f"a.b,str,{terms}", f"a.b,number,{rng.randrange(5)}", "c,bool,true;d,null,null"])
        query = q.MatchQuery(terms, column)
        got, want = (d.to_table(columns=["id", "_score"], full_text_query=query) for d in (ours, theirs))
        assert not difference(got, want), terms


@pytest.mark.parametrize("options", [{}, {"split_identifiers": True, "index_operators": True}, {"split_identifiers": True, "split_on_numerics": False, "preserve_original": False}])
def test_program_text(options, server, outside, space, db):
    """The class of the client has no parameters for it; requests have."""
    rng = random.Random(5)
    names = ["parseHTML2JSON", "snake_case_name", "a::b", "x->y", "i += 1", "fooBar", "HTTPServer", "utf8"]
    table = pa.table({"id": range(300), "body": [" ".join(rng.choices(names, k=rng.randrange(6))) for _ in range(300)]})
    ours, theirs = outside / f"{space}-ours.lance", outside / f"{space}-theirs.lance"
    for place in (ours, theirs):
        lance.write_dataset(table, place)
    register(server, f"{space}$t", ours)
    wire = server.wire()
    asked = {"column": "body", "index_type": "INVERTED", "base_tokenizer": "code"} | options
    assert wire.post(f"/v1/table/{space}$t/create_index", asked).status == 200
    wire.close()
    db.open_table("t", namespace_path=[space]).wait_for_index(["body_idx"], MINUTE)
    lance.dataset(theirs).create_scalar_index("body", "INVERTED", base_tokenizer="code", analyzer="code", **options)
    ours, theirs = lance.dataset(ours), lance.dataset(theirs)
    assert parameters(ours, "body_idx") == parameters(theirs, "body_idx")
    for terms in names + ["parse", "html", "bar", "::", "8"]:
        got, want = (d.to_table(columns=["id", "_score"], full_text_query=q.MatchQuery(terms, "body")) for d in (ours, theirs))
        assert not difference(got, want), terms


WRONG = [
    ({"column": "id"}, "FTS fits texts"),
    ({"base_tokenizer": "words"}, "simple, whitespace, raw, ngram"),
    ({"base_tokenizer": "jieba/default"}, "language model"),
    ({"language": "english"}, "English"),
    ({"block_size": 100}, "128 or 256"),
    ({"base_tokenizer": "ngram", "min_ngram_length": 3, "max_ngram_length": 2}, "min_ngram_length"),
    ({"max_token_length": -1}, "max_token_length"),
    ({"split_identifiers": True}, "base_tokenizer code"),
    ({"lance_tokenizer": "json"}, "lance_tokenizer"),
    ({"document_granularity": "list_element"}, "list of texts"),
]


@pytest.mark.parametrize(("asked", "says"), WRONG)
def test_what_does_not_fit_is_refused(asked, says, wire, space, db):
    db.create_table("t", pa.table({"id": [1, 2], "body": ["a", "b"]}), namespace_path=[space])
    answer = wire.post(f"/v1/table/{space}$t/create_index", {"column": "body", "index_type": "FTS"} | asked)
    assert answer.status == 400, answer.body
    assert says in json.dumps(answer.json), answer.json


def test_an_empty_table(db, space):
    table = db.create_table("e", schema=pa.schema({"id": pa.int64(), "body": pa.string()}), namespace_path=[space])
    table.create_index("body", config=lancedb.index.FTS(), wait_timeout=MINUTE)
    table.add(pa.table({"id": [1, 2], "body": ["red fox", "blue fox"]}))
    assert table.search("blue", query_type="fts").to_arrow()["id"].to_pylist() == [2]
    table.create_index("body", config=lancedb.index.FTS(), wait_timeout=MINUTE)
    assert table.search("red", query_type="fts").to_arrow()["id"].to_pylist() == [1]
