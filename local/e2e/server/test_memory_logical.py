"""Tables whose rows are a thousand to a million times as large as what is stored of them, through
every operation, eight at once.

Each table has a column c of one shape: a dictionary of long values, values that compress to
almost nothing, nulls of a wide type, lists of repeated items. Whatever takes memory by what is
stored, and not by what it makes of that, takes far too much here: its server has GOMEMLIMIT and a
limit of address space, and would end. An operation may be answered or refused. What it answers
has to be true."""

from __future__ import annotations

import concurrent.futures
import itertools
import pathlib
import random
import time

import lance
import numpy as np
import pyarrow as pa
import pytest
from test_memory_named import LATE, REFUSED, begin, lives, post, serving, wire

AT_ONCE = 8
FEW = 5  # requests that are answered, at least
DEADLINE = 2.0
JOB_SECONDS = 6  # what takes longer is cancelled

pytestmark = [
    pytest.mark.embedded("looks at the memory of the server's process"),
    pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="needs /proc"),
]


def dictionary(length: int, values: int, rows: int, value_type=pa.string()):
    """Batches of a dictionary of some long values, each of its own."""
    texts = pa.array([f"{i:06}" + "xy " * (length // 3) for i in range(values)], value_type)
    for start in range(0, rows, 100_000):
        count = min(100_000, rows - start)
        yield pa.DictionaryArray.from_arrays(pa.array((np.arange(start, start + count) % values).astype(np.int32)), texts)


def repeated(value, kind: pa.DataType, rows: int, each: int):
    """Batches that have a value in each row."""
    batch = pa.concat_arrays([pa.array([value], kind)] * each)
    for start in range(0, rows, each):
        yield batch.slice(0, min(each, rows - start))


def nulls(kind: pa.DataType, rows: int, each: int):
    for start in range(0, rows, each):
        yield pa.nulls(min(each, rows - start), kind)


def members(arrays):
    return (pa.StructArray.from_arrays([a], ["m"]) for a in arrays)


# The column c of each table, in batches, and a literal for one of its values.
SHAPES = {
    "one value of a dictionary": lambda: (dictionary(100_000, 1, 1_000_000), "'x'"),
    "some values of a dictionary": lambda: (dictionary(10_000, 500, 500_000), "'x'"),
    "bytes in a dictionary": lambda: (dictionary(50_000, 3, 500_000, pa.binary()), "X'00'"),
    "a dictionary in a struct": lambda: (members(dictionary(50_000, 2, 500_000)), None),
    "texts that compress": lambda: (repeated("ab " * 10_000, pa.string(), 40_000, 2_000), "'x'"),
    "lists that compress": lambda: (repeated([7] * 5_000, pa.list_(pa.int32()), 40_000, 2_000), None),
    "texts in lists that compress": lambda: (repeated(["word"] * 2_000, pa.list_(pa.string()), 40_000, 2_000), None),
    "vectors of nulls": lambda: (nulls(pa.list_(pa.float32(), 4_096), 200_000, 5_000), None),
    "bytes of nulls": lambda: (nulls(pa.binary(100_000), 100_000, 500), "X'00'"),
}

VECTOR = [0.5] * 4_096
EXPRESSIONS = ["upper({c})", "concat({c}, {c}, {c})", "CAST({c} AS string)", "replace(CAST({c} AS string), 'x', 'zzzzzzzz')", "md5({c})", "array_length({c})", "make_array({c}, {c})", "{c}"]
PREDICATES = [
    "{c} = {v}", "{c} > {v}", "{c} IN ({v}, {v})", "upper({c}) = {v}", "length({c}) = 7", "CAST({c} AS string) LIKE '%q'", "concat({c}, {c}) = {v}", "{c} IS NULL",
    "array_has({c}, 8)", "array_has({c}, 'q')", "{c} BETWEEN {v} AND {v}", "strpos({c}, 'q') > 0", "{c} = {c}", "coalesce({c}, {c}) = {v}",
]
QUERIES = [
    "SELECT {c} AS k, count(*) AS n FROM {t} GROUP BY {c}", "SELECT n % 3 AS k, min({c}) AS lo, max({c}) AS hi FROM {t} GROUP BY n % 3", "SELECT n % 3 AS k, count(DISTINCT {c}) AS d FROM {t} GROUP BY n % 3",
    "SELECT n % 3 AS k, array_agg({c}) AS a FROM {t} GROUP BY n % 3", "SELECT n, {c} AS x FROM {t}", "SELECT n, upper({c}) AS x FROM {t} WHERE n < 400000", "SELECT upper({c}) AS k, count(*) AS n FROM {t} GROUP BY upper({c})",
]
INDICES = ["BTREE", "BITMAP", "LABEL_LIST", "FTS", "FM", "ZONEMAP", "BLOOMFILTER", "NGRAM", "IVF_FLAT", "IVF_PQ", "IVF_RQ"]


def operations(name: str, column: str, literal: str | None, some: pa.Table) -> list:
    """Requests of all operations that look at the rows of a table: paths, and their bodies. None changes a value."""
    path, words = f"/v1/table/{name}", {"c": column, "v": literal or "'x'", "t": name}
    ordered = {"vector": [], "order_by": [{"column_name": column, "ascending": False}]}
    predicates = [p.format(**words) for p in PREDICATES]
    expressions = [e.format(**words) for e in EXPRESSIONS]
    found = [(f"{path}/query", {**ordered, "k": 5}), (f"{path}/query", {**ordered, "k": 300_000, "columns": ["n"]}), (f"{path}/query", {**ordered, "k": 300_000})]
    found += [(f"{path}/query", {"vector": [], "k": 10_000_000, "columns": [column]}), (f"{path}/query", {"vector": [], "k": 5, "offset": 30_000, "columns": [column]})]
    found += [(f"{path}/query", {"vector": VECTOR, "k": 5, "vector_column": column}), (f"{path}/query", {"vector": [], "k": 5, "full_text_query": {"query": "xy", "columns": [column]}})]
    found += [(f"{path}/query", {"vector": [], "k": 10_000_000, "columns": {"x": e}}) for e in expressions]
    found += [(f"{path}/count_rows", {"predicate": p}) for p in predicates]
    found += [(f"{path}/analyze_plan", {"vector": [], "k": 7, "filter": p}) for p in predicates[:5]]
    found += [(f"{path}/delete", {"predicate": f"({p}) AND n < 0"}) for p in predicates[:8]]
    found += [(f"{path}/update", {"updates": [[column, column]], "predicate": "n < 300000"}), (f"{path}/update", {"updates": [["n", f"length({column})"]], "predicate": predicates[0]})]
    found += [(f"{path}/add_columns", {"new_columns": [{"name": f"added{i}", "expression": e}]}) for i, e in enumerate(expressions)]
    found += [(f"{path}/alter_columns", {"alterations": [{"path": column, "data_type": {"type": kind}}]}) for kind in ("utf8", "large_utf8", "binary")]
    found += [(f"{path}/merge_insert?on=n&when_matched_update_all=true&when_not_matched_insert_all=true", some)]
    found += [(f"{path}/merge_insert?on={column}&when_matched_update_all=true&when_matched_update_all_filt=source.n%20%3C%200", some)]  # of no row
    found += [(f"{path}/create_index", {"column": column, "index_type": kind, "name": f"i{kind}".lower()}) for kind in INDICES]
    found += [(f"/v1/materialized_view/{name}v{i}/create", {"query": q.format(**words)}) for i, q in enumerate(QUERIES)]
    found += [(f"{path}/stats", {}), (f"{path}/storage", {}), (f"{path}/maintain", {"compact": True, "optimize_indices": True}), (f"{path}/page_cache/prewarm", {})]
    return found


@pytest.fixture(scope="module", params=SHAPES)
def table(request, tmp_path_factory):
    """A server, the name of a table that native Lance has written, its column, a literal, and some of its rows."""
    folder = tmp_path_factory.mktemp("logical")
    arrays, literal = SHAPES[request.param]()
    first = next(arrays)
    field = pa.field("c", first.type, metadata={"lance-encoding:compression": "zstd"})
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False), field])

    def batches():
        count = 0
        for array in itertools.chain([first], arrays):
            yield pa.record_batch([pa.array(range(count, count + len(array)), pa.int64()), array], schema=schema)
            count += len(array)

    place = folder / "root" / "t.lance"
    lance.write_dataset(batches(), place, schema=schema, data_storage_version="2.1", enable_stable_row_ids=True, max_rows_per_file=100_000)
    some = pa.table([pa.array(range(10), pa.int64()), first.slice(0, 10)], schema=schema)
    with serving(folder / "root") as server:
        registered = post(server, "/v1/table/t/register", {"location": "t.lance"})
        assert registered.status == 200, registered.body
        yield server, "t", "c.m" if pa.types.is_struct(first.type) else "c", literal, some
        lives(server)
        log = server.log()
        assert b"status=500" not in log and b"msg=panic" not in log, [line for line in server.faults() if "status=503" not in line]


def ask(server, path: str, body):
    """The status of an answer, and what it says."""
    if isinstance(body, pa.Table):
        answer = wire(server).upload(path, body)
        return answer.status, answer.body
    if path.endswith("/query"):
        began = time.monotonic()
        status = begin(server, path, body)
        assert time.monotonic() - began < LATE, (path, body)
        return status, b""
    answer = post(server, path, body, DEADLINE)
    if answer.status == 202 or (answer.status == 200 and b'"job_id"' in bytes(answer.body)):
        wait(server, answer.json["job_id"])
    return answer.status, answer.body


def wait(server, job: str) -> None:
    until = time.monotonic() + JOB_SECONDS
    while post(server, "/v1/jobs/describe", {"job_id": job}).json["job_state"] in ("PENDING", "RUNNING", "QUEUED", "IN_PROGRESS"):
        if time.monotonic() > until:
            cancelled = post(server, "/v1/jobs/cancel", {"job_id": job})
            assert cancelled.status in (200, 409), cancelled.body
            return
        time.sleep(0.2)


def answered(server, path: str, body):
    """An answer that is no refusal for the time being: what the requests before have begun may still take the memory and the processors."""
    until = time.monotonic() + 60
    while (answer := post(server, path, body)).status in REFUSED and time.monotonic() < until:
        time.sleep(1)
    return answer


@pytest.mark.many
def test_every_operation(table):
    """The server lives, and does not do so by refusing everything. How many are answered depends on what runs beside them."""
    server, name, column, literal, some = table
    requests = operations(name, column, literal, some)
    random.Random(7).shuffle(requests)
    rows = post(server, f"/v1/table/{name}/count_rows", {}).json
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda r: (r, *ask(server, *r)), requests))
    strange = [(r[0], str(r[1])[:200], status, bytes(body)[:300]) for r, status, body in answers if status not in {200, 201, 202, 400, 404, 409, 501} | REFUSED]
    assert not strange, strange
    lives(server)
    assert sum(status < 300 for _, status, _ in answers) >= FEW, [status for _, status, _ in answers]
    assert post(server, f"/v1/table/{name}/count_rows", {}).json == rows
    few = answered(server, f"/v1/table/{name}/query", {"vector": [], "k": 2, "columns": ["n", "c"], "filter": "n IN (3, 4)"})
    assert few.status == 200 and sorted(few.table["n"].to_pylist()) == [3, 4], few.body[:300]
    assert few.table["c"].to_pylist() == [some["c"].combine_chunks()[i].as_py() for i in (3, 4)]
