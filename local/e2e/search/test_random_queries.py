"""Random queries: the client gets the same rows from the service as from a local table of the
same files.

E2E_QUERIES is the number of queries for each table, and --seed the first seed:

    E2E_QUERIES=5000 make test-e2e ARGS='-k random_queries --seed 7'

The order of equal rows, and which of them a limit cuts off, is open. Where an index for vectors
would be used, which finds rows other than the nearest, the queries ask both not to use it; what
indices find is compared elsewhere. A fast search must find rows of the index only.
"""

from __future__ import annotations

import os
import random
import re

import lance
import lancedb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sample
from pair import Pair
from queries import INDICES, MORE, SCALARS, UNSORTED, Queries, Query, table
from rows import difference, schema_difference, values

ASKED = int(os.environ.get("E2E_QUERIES", "175"))
ROWS = 400
LARGE = 4000
LEAST_ANSWERED = 0.5  # of the queries, with some rows


def make(place, r: random.Random, name: str) -> Queries:
    """Writes a table and returns a source of queries of it."""
    more = tuple(INDICES) if name == "indexed" else ()
    options = {"max_rows_per_file": 150, "data_storage_version": "2.1" if name == "old" else "2.2", "enable_stable_row_ids": name in ("stable", "indexed")}
    queries = Queries(r, ROWS + 100, {}, name in ("indexed", "texts"), [])
    if name == "empty":
        lance.write_dataset(table(r, 10).slice(0, 0), place, **options)
        return queries
    if name == "large":
        lance.write_dataset(table(r, LARGE), place, **(options | {"max_rows_per_file": 2000}))
        queries.rows = LARGE
        return queries
    if name == "types":
        queries.more = [n for n in MORE if n != "vector"]
        queries.sorted = [n for n in queries.more if n not in UNSORTED]
        lance.write_dataset(table(r, ROWS), place, **options)
        columns = {n: sample.column(MORE[n], ROWS, r.choice(sample.NULLS[:2])) for n in queries.more}
        lance.dataset(place).merge(pa.table({"id": range(ROWS), **columns}), "id")
        return queries
    native = lance.write_dataset(table(r, ROWS, more=more), place, **options)
    if name == "one":
        lance.write_dataset(table(r, ROWS), place, mode="overwrite", **(options | {"max_rows_per_file": 10_000}))
        return queries
    if name == "indexed":
        for column, (kind, metric, settings) in INDICES.items():
            native.create_index(column, kind, metric=metric, num_partitions=2, **settings)
            queries.indexed[column] = metric
        queries.covered = ROWS
        for column, kind in SCALARS.items():
            native.create_scalar_index(column, kind)
    if name in ("indexed", "texts"):
        for column in ("text", "title"):
            native.create_scalar_index(column, "INVERTED", with_position=True, remove_stop_words=False)
    native.tags.create("before", native.version)
    native = lance.write_dataset(table(r, 100, start=ROWS, more=more), place, mode="append")
    native.delete("id % 7 = 5 OR id BETWEEN 150 AND 180")
    if name == "stable":
        native.update({"i64": "i64 + 1"}, where="id % 5 = 2")
    if name == "evolved":
        native.add_columns({"double": "i64 * 2", "loud": "upper(s)"})
        native.alter_columns({"path": "i32", "data_type": pa.int64()}, {"path": "double", "name": "twice"})
        native.drop_columns(["tss"])
        native.add_columns(pa.field("none", pa.float32()))
        native.add_columns({"tss": "cast(ts as timestamp(0))"})
        native.delete("id BETWEEN 310 AND 330")
        queries.more = queries.sorted = ["twice", "loud", "none"]
        again = lance.dataset(place).to_table(limit=20)
        lance.write_dataset(again.set_column(0, "id", pa.array(range(1000, 1020))), place, mode="append")
    return queries


NAMES = ["one", "several", "stable", "old", "empty", "indexed", "texts", "large", "types", "evolved"]


@pytest.fixture(params=NAMES)
def asked(request, server, outside, space, db):
    place = outside / f"random-{space}" / "t.lance"
    queries = make(place, random.Random(f"{request.config.getoption('--seed')} {request.param}"), request.param)
    wire = server.wire()
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    wire.close()
    pair = Pair(db.open_table("t", namespace_path=[space]), lancedb.connect(str(place.parent)).open_table("t"))
    return pair, queries


# What native LanceDB does not do, or not with all that goes with it, and we do.
UNDONE = re.compile(
    "is not supported SQL|TakeExec requires the input plan|must request at least one column|count_pushdown|Invalid comparison operation: Decimal"
)
SCORES = ("_distance", "_score", "_relevance_score")


@pytest.mark.slow
@pytest.mark.embedded("very many cases of the engine, which is the same behind a gateway")
def test_the_client_gets_the_same_of_both(asked, request):
    pair, queries = asked
    problems, answered = [], 0
    for i in range(ASKED):
        if i == ASKED // 2 and "before" in pair.local.tags.list():
            pair.both(lambda t: t.checkout("before"))
        query = queries.any()
        got, want = ask(query, pair.remote, exact=True), ask(query, pair.local, exact=True)
        if problem := compare(query, pair, got, want) or by_index(query, pair, queries.covered):
            problems.append(f"{query}\n    {problem}")
        answered += isinstance(got, pa.Table) and got.num_rows > 0
    assert not problems, f"{len(problems)} of {ASKED} queries:\n" + "\n".join(problems[:10])
    assert answered >= ASKED * LEAST_ANSWERED or "empty" in request.node.name, f"{answered} of {ASKED} found rows"


class Refused:
    """What a table answered in place of rows."""

    def __init__(self, error: BaseException):
        self.text = f"{type(error).__name__}: {error}"
        self.panic = not isinstance(error, Exception)

    def fault(self) -> bool:
        """Returns whether the response blames the service and not the caller: it failed, or
        does not support the query."""
        status = re.search(r"(\d\d\d) [A-Z][a-z]+", self.text)
        return "RetryError" in self.text or bool(status) and not 400 <= int(status[1]) < 500


def ask(query: Query, table, exact: bool = False) -> pa.Table | Refused:
    try:
        made = query.of(table, exact)
        if isinstance(made, int):
            return pa.table({"count": [made]})
        return made if isinstance(made, pa.Table) else made.to_arrow()
    except BaseException as error:  # panics of the library are no Exceptions
        if isinstance(error, (KeyboardInterrupt, TimeoutError)):
            raise
        return Refused(error)


def by_index(query: Query, pair: Pair, covered: int) -> str | None:
    """Asks by the index what was asked without it."""
    if not query.exact:
        return None
    got = ask(query, pair.remote)
    if isinstance(got, Refused):
        return f"refused by the index: {got.text}" if got.fault() else None
    fast = "fast_search" in [name for name, *_ in query.calls]
    if fast and "id" in got.column_names and got["id"].type == pa.int64() and pc.max(got["id"]).as_py() not in (None, *range(covered)):
        return "a fast search found rows that are not in the index"
    return None


def compare(query: Query, pair: Pair, got: pa.Table | Refused, want: pa.Table | Refused) -> str | None:
    if isinstance(got, Refused):
        return None if isinstance(want, Refused) and not got.fault() else f"refused: {got.text}"
    if query.planned and hasattr(made := query.of(pair.remote), "analyze_plan"):
        made.explain_plan(True), made.analyze_plan()
    if isinstance(want, Refused):
        return None if want.panic or UNDONE.search(want.text) else f"{got.num_rows} rows, want refusal: {want.text[:600]}"
    got, want = alike(query, got, want)
    if query.rank is None and query.total:
        return difference(got, want, metadata=True)
    if problem := schema_difference(got.schema, want.schema, metadata=True):
        return problem
    if got.num_rows != want.num_rows:
        return f"{got.num_rows} rows, want {want.num_rows}"
    if query.rank is None:
        return None if query.cut or sorted(unranked(got)) == sorted(unranked(want)) else "other rows"
    if query.words and has_equal(query, ask(query.words, pair.local)):
        return None  # the ranks of equal ones are open, and a hybrid search goes by them
    return ranked(query, got, want)


def alike(query: Query, got: pa.Table, want: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Returns both without parts in which native LanceDB differs, by design or by accident."""
    got, want = plain(got), plain(want)
    if "fast_search" in [name for name, *_ in query.calls] and "_rowid" not in got.column_names and "_rowid" in want.column_names:
        want = want.drop_columns("_rowid")  # which LanceDB adds, and no other way to ask native Lance
    if not want.num_rows and got.schema.names == want.schema.names:
        got = got.cast(want.schema)  # of no rows native Lance declares no better than that there may be nulls
    if "query_index" in want.column_names:
        want = want.take(pc.sort_indices(want, [("query_index", "ascending")]))
    return got, want


def plain(table: pa.Table) -> pa.Table:
    """The table with texts in place of views and dictionaries of texts, as which native Lance
    computes some."""
    for i, field in enumerate(table.schema):
        if re.fullmatch(r"c\d", field.name) and (field.type == pa.string_view() or pa.types.is_dictionary(field.type)):
            table = table.set_column(i, field.with_type(pa.string()), table.column(i).cast(pa.string()))
    return table


def unranked(table: pa.Table) -> list[str]:
    """The rows, without how good they are."""
    columns = [values(table[name]) for name in table.column_names if name not in SCORES]
    return [repr(row) for row in zip(*columns)] if columns else [""] * table.num_rows


def has_equal(query: Query, found: pa.Table) -> bool:
    scores = found["_score"].to_pylist()
    return any(near(query, a, b) for a, b in zip(scores, scores[1:]))


def ranked(query: Query, got: pa.Table, want: pa.Table) -> str | None:
    """Which of equal rows comes first is open, and which an offset and a limit leave."""
    ranks, expected = got[query.rank].to_pylist(), want[query.rank].to_pylist()
    for i, (g, w) in enumerate(zip(ranks, expected)):
        if not near(query, g, w):
            return f"column {query.rank}, row {i}: {g}, want {w}"
    left, right = unranked(got), unranked(want)
    begins = starts(want)
    ends = [*(i for i in range(1, want.num_rows) if i in begins or not near(query, expected[i - 1], expected[i])), want.num_rows]
    for first, last in zip([0, *ends], ends):
        cut = query.cut and (first in begins or last in begins or last == want.num_rows)
        if sorted(left[first:last]) != sorted(right[first:last]) and not cut:
            return f"rows {first} to {last} are {left[first:last][:3]}, want {right[first:last][:3]}"
    return None


def starts(table: pa.Table) -> set[int]:
    """Where the answers of the query vectors begin."""
    numbers = table["query_index"].to_pylist() if "query_index" in table.column_names else [0] * table.num_rows
    return {i for i, n in enumerate(numbers) if i == 0 or n != numbers[i - 1]}


def near(query: Query, a: float, b: float) -> bool:
    return a == b or a != a and b != b or abs(a - b) <= query.rounding * max(1, abs(a), abs(b))
