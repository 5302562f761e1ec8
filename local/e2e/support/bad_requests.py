"""Bad requests of every kind, each with the expected response."""

from __future__ import annotations

import dataclasses
import json
import struct
import urllib.parse

import numpy as np
import pyarrow as pa

import sample
from wire import stream

BAD = (400, 13)
NO_COLUMN = (404, 12)
SCHEMA = (400, 20)
NOT_SUPPORTED = (501, 0)
NO_TABLE = (404, 4)
NO_NAMESPACE = (404, 1)
NO_VERSION = (404, 11)
TOO_LARGE = (413, 13)
STRANGER = (401, 16)

ERROR_FIELDS = {"error": str, "code": int, "type": str, "title": str, "status": int, "detail": str, "instance": str}


@dataclasses.dataclass
class Case:
    """A request with its expected response. In the path {t} is a table of people, {s} its
    namespace, and {e} an empty namespace beside it."""

    name: str
    path: str
    body: object = None  # JSON for dict, bytes as they are, a table as an Arrow stream
    want: tuple[int, int] | set = BAD
    says: str = ""  # part of the error or its detail
    method: str = "POST"
    headers: dict = dataclasses.field(default_factory=dict)
    token: str | None = "valid"


# JSON bodies

DESCRIBE, QUERY, COUNT = "/v1/table/{t}/describe", "/v1/table/{t}/query", "/v1/table/{t}/count_rows"
INSERT, CREATE = "/v1/table/{t}/insert", "/v1/table/{s}$new/create"
MERGE = "/v1/table/{t}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true"
MAKE, DROP = "/v1/namespace/{s}$new/create", "/v1/namespace/{e}/drop"

JSON = [
    Case(f"{where.rsplit('/', 1)[1]}: {name}", where, body)
    for where in (DESCRIBE, QUERY, MAKE)
    for name, body in {
        "cut off": b'{"version": 1',
        "not JSON": b"hello",
        "empty text": b" ",
        "array": b"[]",
        "string": b'"x"',
        "number": b"1",
        "null twice": b"null null",
        "two objects": b"{}{}",
        "trailing comma": b'{"id": null,}',
        "comment": b"{} // x",
        "single quotes": b"{'id': null}",
        "NaN": b'{"version": NaN}',
        "invalid UTF-8": b'{"branch": "\xff"}',
        "lone surrogate": b'{"id": ["\\ud800"]}',
        "byte order mark": b"\xef\xbb\xbf{}",
        "too deep": b'{"x": ' + b"[" * 100 + b"]" * 100 + b"}",
        "field twice": b'{"branch": "a", "branch": "b"}',
        "Arrow": stream(sample.people(1)),
    }.items()
]

TYPES = [
    Case("version a string", QUERY, {"version": "1"}),
    Case("version a fraction", QUERY, {"version": 1.5}),
    Case("version true", QUERY, {"version": True}),
    Case("version past 64 bits", QUERY, b'{"version": 9223372036854775808}'),
    Case("version huge", QUERY, b'{"version": 1e400}'),
    Case("k a string", QUERY, {"k": "10"}, says="k"),
    Case("k a list", QUERY, {"k": [10]}, says="k"),
    Case("k past 64 bits", QUERY, b'{"k": 9223372036854775808}', says="k"),
    Case("offset a string", QUERY, {"offset": "x"}, says="offset"),
    Case("filter a number", QUERY, {"filter": 1}, says="filter"),
    Case("filter a list", QUERY, {"filter": ["id = 1"]}, says="filter"),
    Case("prefilter a string", QUERY, {"prefilter": "yes"}, says="prefilter"),
    Case("with_row_id a number", QUERY, {"with_row_id": 1}, says="with_row_id"),
    Case("columns a string", QUERY, {"columns": "id"}, says="columns"),
    Case("columns of numbers", QUERY, {"columns": [1]}, says="columns"),
    Case("columns with an empty name", QUERY, {"columns": [""]}, says="columns"),
    Case("aliases of numbers", QUERY, {"columns": {"a": 1}}, says="columns"),
    Case("column_names a string", QUERY, {"columns": {"column_names": "id"}}, says="columns"),
    Case("vector a string", QUERY, {"vector": "1,2"}, says="vector"),
    Case("vector a number", QUERY, {"vector": 1}, says="vector"),
    Case("vector of strings", QUERY, {"vector": ["a"]}, says="vector"),
    Case("vector with a null", QUERY, {"vector": [1.0, None]}, says="vector"),
    Case("vector three deep", QUERY, {"vector": [[[1.0]]]}, says="vector"),
    Case("vector mixed", QUERY, {"vector": [1.0, [2.0]]}, says="vector"),
    Case("single_vector nested", QUERY, {"vector": {"single_vector": [[1.0]]}}, says="vector"),
    Case("multi_vector flat", QUERY, {"vector": {"multi_vector": [1.0]}}, says="vector"),
    Case("lower_bound a string", QUERY, {"lower_bound": "0"}, says="lower_bound"),
    Case("distance_type a number", QUERY, {"distance_type": 2}, says="distance_type"),
    Case("predicate a number", COUNT, {"predicate": 5}, says="predicate"),
    Case("count version a string", COUNT, {"version": "x"}, says="version"),
    Case("properties a list", MAKE, {"properties": []}, says="properties"),
    Case("property a number", MAKE, {"properties": {"a": 1}}, says="properties"),
    Case("property null", MAKE, {"properties": {"a": {}}}, says="properties"),
    Case("mode a number", MAKE, {"mode": 1}, says="mode"),
    Case("context a string", MAKE, {"context": "x"}, says="context"),
    Case("identity a list", MAKE, {"identity": []}, says="identity"),
    Case("id a string", DESCRIBE, {"id": "t"}, says="id"),
    Case("id of numbers", DESCRIBE, {"id": [1]}, says="id"),
    Case("location a number", "/v1/table/{s}$new/register", {"location": 1}, says="location"),
    Case("check_declared a string", DESCRIBE, {"check_declared": "true"}, says="check_declared"),
]

ENUMS = [
    Case("namespace mode", MAKE, {"mode": "Replace"}, says="ExistOk"),
    Case("namespace mode a space", MAKE, {"mode": " "}, says="ExistOk"),
    Case("drop mode", DROP, {"mode": "Force"}, says="Skip"),
    Case("drop mode of create", DROP, {"mode": "ExistOk"}, says="Skip"),
    Case("drop behavior", DROP, {"behavior": "Recursive"}, says="Cascade"),
    Case("register mode", "/v1/table/{s}$new/register", {"location": "x", "mode": "ExistOk"}, says="Overwrite"),
    Case("create mode", CREATE + "?mode=replace", sample.people(1), says="ExistOk"),
    Case("create mode a space", CREATE + "?mode=%20", sample.people(1), says="ExistOk"),
    Case("insert mode", INSERT + "?mode=upsert", sample.people(1), says="Append"),
    Case("distance_type", QUERY, {"vector": [1.0] * 16, "distance_type": "manhattan"}, says="cosine"),
    Case("distance_type empty", QUERY, {"vector": [1.0] * 16, "distance_type": "l3"}, says="cosine"),
    Case("flag in the query string", MERGE.replace("=true", "=yes"), sample.people(1), says="true"),
    Case("include_declared", "/v1/namespace/{s}/table/list?include_declared=1", says="include_declared", method="GET"),
    Case("descending", "/v1/table/{t}/version/list?descending=yes", says="descending"),
]

COUNTS = [
    Case(f"negative {field}", QUERY, {"vector": [1.0] * 16, field: -1}, says=field)
    for field in ("k", "offset", "version", "nprobes", "minimum_nprobes", "maximum_nprobes", "ef", "refine_factor")
] + [
    Case("describe the version before the first", DESCRIBE, {"version": -1}, says="version"),
    Case("exists of a negative version", "/v1/table/{t}/exists", {"version": -1}, says="version"),
    Case("count at a negative version", COUNT, {"version": -1}, says="version"),
    Case("limit not a number", "/v1/namespace/{s}/list?limit=ten", says="limit", method="GET"),
    Case("limit a fraction", "/v1/namespace/{s}/table/list?limit=1.5", says="limit", method="GET"),
    Case("limit past 64 bits", "/v1/table?limit=99999999999999999999", says="limit", method="GET"),
    Case("limit twice", "/v1/table?limit=1&limit=2", says="limit", method="GET"),
    Case("nprobes too large", QUERY, {"vector": [1.0] * 16, "nprobes": 100000}, says="nprobes"),
    Case("ef too large", QUERY, {"vector": [1.0] * 16, "ef": 1 << 40}, says="ef"),
    Case("refine_factor too large", QUERY, {"vector": [1.0] * 16, "refine_factor": 1000}, says="refine_factor"),
    Case("probes crossed", QUERY, {"vector": [1.0] * 16, "minimum_nprobes": 9, "maximum_nprobes": 3}, says="nprobes"),
    Case("257 query vectors", QUERY, {"vector": [[1.0] * 16] * 257}, says="vector"),
    Case("too many dimensions", QUERY, {"vector": [1.0] * 8193}, says="dimension"),
    Case("too many columns", QUERY, {"columns": ["id"] * 4097}, says="columns"),
    Case("k of a large table", "/v1/table/{s}$large/query", {"vector": [1.0, 2.0], "k": 2**63 - 1}, says="100000"),
    Case(
        "k and offset of a large table",
        "/v1/table/{s}$large/query",
        {"vector": [1.0, 2.0], "k": 10, "offset": 2**63 - 1},
        says="offset",
    ),
    Case("version that is not there", QUERY, {"version": 77}, NO_VERSION),
    Case("version far from there", QUERY, {"version": 2**63 - 1}, NO_VERSION),
    Case("version zero", QUERY, {"version": 0}, {NO_VERSION, BAD}),
    Case("describe version not there", DESCRIBE, {"version": 77, "load_detailed_metadata": True}, NO_VERSION),
    Case("count at version not there", COUNT, {"version": 77}, NO_VERSION),
    Case("page token of no list", "/v1/table/{t}/version/list?page_token=x", says="page_token"),
    Case("timeout header not a number", QUERY, {}, says="timeout", headers={"x-request-timeout-ms": "soon"}),
    Case("merge timeout not a duration", MERGE + "&timeout=soon", sample.people(1), says="timeout"),
    Case("merge timeout negative", MERGE + "&timeout=-5s", sample.people(1), says="timeout"),
]

EXCLUSIVE = [
    Case(
        "single and multi vector",
        QUERY,
        {"vector": {"single_vector": [1.0] * 16, "multi_vector": [[1.0] * 16]}},
        says="vector",
    ),
    Case("rerank without a text", QUERY, {"vector": [1.0] * 16, "rerank": {"method": "rrf"}}, says="full_text_query"),
    Case("rerank by another method", QUERY, {"rerank": {"method": "linear"}}, says="rerank.method"),
    Case("rerank with another field", QUERY, {"rerank": {"normalize": "rank"}}, says="normalize"),
    Case("tag and version", DESCRIBE, {"tag": "x", "version": 1}, says="tag"),
    Case(
        "string and structured text",
        QUERY,
        {"full_text_query": {"string_query": {"query": "x"}, "structured_query": {"query": {"match": {"terms": "x"}}}}},
    ),
    Case("body names another table", DESCRIBE, {"id": ["other"]}, says="path"),
    Case("body names the parent", DESCRIBE, {"id": ["x"]}, says="path"),
    Case("body names the root", "/v1/namespace/{s}/describe", {"id": ["$"]}, says="path"),
    Case("body joins another id", "/v1/namespace/{s}$a/create", {"id": ["a$b"]}, says="path"),
    Case("register without location", "/v1/table/{s}$new/register", {}, says="location"),
    Case("merge without on", MERGE.replace("on=id&", ""), sample.people(1), says="on"),
    Case("merge on nothing", MERGE.replace("on=id", "on="), sample.people(1), {BAD, NO_COLUMN}),
    Case("merge that does nothing", "/v1/table/{t}/merge_insert?on=id", sample.people(1), says="when_"),
    Case("merge by a bare list", MERGE.replace("on=id", "on=id,name"), sample.people(1), {BAD, NO_COLUMN}),
]

# SQL

MALFORMED = r"""
id =
= 1
id = 1 AND
AND id = 1
(id = 1
id = 1)
id == == 1
id = 'x
id IN ()
id IN (1
id IN 1
id BETWEEN 1
id BETWEEN 1 AND
id LIKE
name LIKE 5
id IS
id IS 5
NOT
SELECT 1
id = 1; DROP TABLE t
`id = 1
id = 1 OR OR id = 2
id ! 1
id = $1
id
name
id + 1
'true'
name = 1
id = 'x'
flag > 1
name + 1 = 2
id AND flag
NOT id
id LIKE 'x'
upper(id, 2) = 'X'
upper() = 'X'
date 'not a date' < day
timestamp 'x' < at
id = 99999999999999999999999
""".strip().splitlines()

# Fit for another server, or not well-formed either: both answers are right.
EXOTIC = r"""
id = (SELECT 1)
id = ?
tags = 1
spec = 1
vector = 1
nofunc(id) = 1
cast(id as nonsense) = 1
""".strip().splitlines()

ABSENT = r"""
nope = 1
`no pe` = 1
spec.nope = 1
nope IS NULL AND id = 1
id = @x
Id = 1 AND nope.x = 2
""".strip().splitlines()

# Conditions that go too far, and one with a byte that text does not have.
EXCESSIVE = [
    "(" * 500 + "id = 1" + ")" * 500,
    "NOT " * 2000 + "flag",
    " OR ".join(["id = 1"] * 5000),
    "-" * 3000 + "1 = id",
    "id IN (" + ", ".join(map(str, range(10_001))) + ")",
    "name = '" + "x" * 70_000 + "'",
    "id = 1\0",
]

CONDITIONS = [
    *[(sql, BAD) for sql in MALFORMED + EXCESSIVE],
    *[(sql, {BAD, NOT_SUPPORTED}) for sql in EXOTIC],
    *[(sql, BAD) for sql in ABSENT],
]

FILTERS = [
    case
    for sql, want in CONDITIONS
    for case in (
        Case(f"filter {sql[:40]}", QUERY, {"filter": sql}, want),
        Case(f"predicate {sql[:40]}", COUNT, {"predicate": sql}, want),
    )
] + [
    Case("filter of a search", QUERY, {"vector": [1.0] * 16, "filter": "nope = 1"}, BAD, says="nope"),
    Case("filter of LanceDB", QUERY + "/", {"filter": "nope = 1"}, BAD),
    Case("column that is not there", QUERY, {"columns": ["id", "nope"]}, NO_COLUMN, says="nope"),
    Case("nested column that is not there", QUERY, {"columns": ["spec.nope"]}, NO_COLUMN),
    Case("alias of nonsense", QUERY, {"columns": {"a": "id +"}}),
    Case("alias of a column that is not there", QUERY, {"columns": {"a": "nope + 1"}}, NO_COLUMN),
    Case("vector of other dimensions", QUERY, {"vector": [1.0, 2.0]}, says="dimension"),
    Case("vectors of two dimensions", QUERY, {"vector": [[1.0] * 16, [1.0] * 15]}, says="dimension"),
    Case(
        "vector column that is not there",
        QUERY,
        {"vector": [1.0] * 16, "vector_column": "nope"},
        {NO_COLUMN, BAD},
        says="nope",
    ),
    Case("vector column of text", QUERY, {"vector": [1.0] * 16, "vector_column": "name"}, says="name"),
    Case("vector in a table of none", "/v1/table/{s}$plain/query", {"vector": [1.0]}, says="vector"),
    Case("vector of infinity", QUERY, b'{"vector": [1e999' + b", 1.0" * 15 + b"]}", says="vector"),
]

# Uploads


def cut(data: bytes, at: float) -> bytes:
    return data[: int(len(data) * at)]


def framed(metadata_length: int, rest: bytes = b"") -> bytes:
    return b"\xff\xff\xff\xff" + struct.pack("<i", metadata_length) + rest


def spoiled(seed: int) -> bytes:
    """A stream with 40 bytes of its first kilobytes, where the messages are, changed."""
    data = bytearray(PEOPLE)
    rng = np.random.default_rng(seed)
    for at in rng.integers(0, 2000, 40):
        data[at] ^= int(rng.integers(1, 256))
    return bytes(data)


PEOPLE = stream(sample.people(50))
FILE = pa.BufferOutputStream()
with pa.ipc.new_file(FILE, sample.people(1).schema) as writer:
    writer.write(sample.people(1))

STREAMS = {
    "empty body": b"",
    "garbage": b"garbage",
    "zeros": bytes(1000),
    "JSON": b'{"id": 1}',
    "parquet magic": b"PAR1" + bytes(100),
    "Arrow file": FILE.getvalue().to_pybytes(),
    "end at once": b"\xff\xff\xff\xff\0\0\0\0",
    "absurd metadata length": framed(0x7FFFFFFF),
    "negative metadata length": framed(-5, bytes(50)),
    "metadata of zeros": framed(64, bytes(64)),
    "metadata of noise": framed(256, np.random.default_rng(1).bytes(256)),
    "old framing, absurd": struct.pack("<i", 0x7FFFFFF0),
    "cut in the schema": cut(PEOPLE, 0.05),
    "cut in a batch": cut(PEOPLE, 0.6),
    "cut at the end": PEOPLE[:-100],
    "batch without a schema": PEOPLE[struct.unpack("<i", PEOPLE[4:8])[0] + 8 :],
    "schema twice": PEOPLE[: struct.unpack("<i", PEOPLE[4:8])[0] + 8] * 2
    + PEOPLE[struct.unpack("<i", PEOPLE[4:8])[0] + 8 :],
}

UPLOADS = [
    Case(f"{path.split('?')[0].rsplit('/', 1)[1]}: {name}", path, body, {BAD, TOO_LARGE} if "absurd" in name else BAD)
    for path in (CREATE, INSERT, MERGE)
    for name, body in STREAMS.items()
] + [
    Case(
        f"{path.split('?')[0].rsplit('/', 1)[1]}: spoiled stream {seed}",
        path,
        spoiled(seed),
        {BAD, SCHEMA, NOT_SUPPORTED, TOO_LARGE, NO_COLUMN},
    )
    for path in (CREATE, MERGE)
    for seed in range(12)
]


def batch_of(**columns) -> pa.Table:
    return pa.table(columns)


def bomb() -> bytes:
    """A megabyte that claims to be many gigabytes once it is decompressed."""
    data = bytearray(stream(pa.table({"x": pa.array(np.zeros(1 << 20, np.int64))}), compression="lz4"))
    # Each compressed buffer begins with its size: make that of the values absurd.
    at = data.rfind(struct.pack("<q", 8 << 20))
    data[at : at + 8] = struct.pack("<q", 1 << 45)
    return bytes(data)


SCHEMAS = [
    Case(
        "insert an unknown column",
        INSERT,
        sample.people(2).append_column("extra", pa.array([1, 2])),
        SCHEMA,
        says="extra",
    ),
    Case("insert only unknown columns", INSERT, batch_of(extra=[1]), SCHEMA, says="extra"),
    Case("insert text for numbers", INSERT, batch_of(id=["a"]), SCHEMA, says="id"),
    Case("insert numbers for text", INSERT, batch_of(name=[1]), SCHEMA, says="name"),
    Case("insert other vectors", INSERT, batch_of(vector=sample.vectors(2, 3)), SCHEMA, says="vector"),
    Case("insert another struct", INSERT, batch_of(spec=[{"q": 1}]), SCHEMA, says="spec"),
    Case("insert a list for a value", INSERT, batch_of(id=[[1]]), SCHEMA, says="id"),
    Case("insert without what must be", "/v1/table/{s}$strict/insert", batch_of(x=[1]), SCHEMA, says="must"),
    Case(
        "insert null where none may be",
        "/v1/table/{s}$strict/insert",
        batch_of(must=pa.array([None], pa.int64()), x=[1]),
        {SCHEMA, BAD},
        says="must",
    ),
    Case(
        "merge an unknown column",
        MERGE,
        sample.people(2).append_column("extra", pa.array([1, 2])),
        SCHEMA,
        says="extra",
    ),
    Case("merge without the key", MERGE, sample.people(2).drop_columns(["id"]), NO_COLUMN, says="id"),
    Case("merge on what is not there", MERGE.replace("on=id", "on=nope"), sample.people(2), NO_COLUMN, says="nope"),
    Case("merge two rows for one", MERGE, pa.concat_tables([sample.people(1)] * 2), says="ambiguous"),
    Case("merge with another key type", MERGE, batch_of(id=["x"]), SCHEMA, says="id"),
    Case(
        "create with a name twice",
        CREATE,
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]),
        {SCHEMA, BAD},
        says="a",
    ),
    Case("create with a reserved name", CREATE, batch_of(_rowid=[1]), SCHEMA, says="_rowid"),
    Case("create with an empty name", CREATE, pa.Table.from_arrays([pa.array([1])], [""]), {SCHEMA, BAD}),
    Case("create with a backtick in a name", CREATE, pa.Table.from_arrays([pa.array([1])], ["a`b"]), {SCHEMA, BAD}),
    Case("create with a dotted name", CREATE, pa.Table.from_arrays([pa.array([1])], ["a.b"]), {SCHEMA, BAD}),
    Case(
        "create a union",
        CREATE,
        pa.table(
            {"u": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])}
        ),
        {SCHEMA, BAD, NOT_SUPPORTED},
    ),
    Case(
        "create too many columns",
        CREATE,
        pa.table({f"c{i}": [1] for i in range(4100)}),
        {SCHEMA, BAD, TOO_LARGE},
        says="4096",
    ),
    Case("compression bomb", CREATE, bomb(), {BAD, TOO_LARGE}),
    Case("bomb into a table", INSERT, bomb(), {BAD, TOO_LARGE, SCHEMA}),
    Case("properties not JSON", CREATE + "?properties=x", sample.people(1), says="properties"),
    Case(
        "properties of numbers",
        CREATE + "?properties=" + urllib.parse.quote('{"a": 1}'),
        sample.people(1),
        says="properties",
    ),
    Case(
        "property too long",
        CREATE + "?properties=" + urllib.parse.quote(json.dumps({"a": "x" * 5000})),
        sample.people(1),
        says="property",
    ),
    Case("too many properties", MAKE, {"properties": {f"p{i}": "x" for i in range(257)}}, says="properties"),
    Case("property with a long value", MAKE, {"properties": {"p": "x" * 4097}}, says="p"),
    Case(
        "declare with too many properties",
        "/v1/table/{s}$new/declare",
        {"properties": {f"p{i}": "x" for i in range(257)}},
        says="properties",
    ),
    Case("compressed body", INSERT, PEOPLE, (415, 13), headers={"Content-Encoding": "gzip"}),
    Case("JSON too large", DESCRIBE, b'{"x": "' + b"x" * (1 << 20) + b'"}', TOO_LARGE),
    Case("query too large", QUERY, b'{"x": "' + b"x" * (8 << 20) + b'"}', TOO_LARGE),
    Case("branch that is not there", INSERT + "?branch=dev", sample.people(1), (404, 22)),
    Case("query of a branch", QUERY, {"branch": "dev"}, (404, 22)),
    Case("part of no upload", INSERT + "?upload_id=x&upload_part_id=y", sample.people(1), BAD),
    Case("part without an upload", INSERT + "?upload_part_id=" + "0" * 32, sample.people(1), BAD),
    Case("completion of no upload", "/v1/table/{t}/multipart_write/complete", None, BAD),
    Case("abort of another's upload", "/v1/table/{t}/multipart_write/abort?upload_id=" + "0" * 32, None, BAD),
]

# Names, paths, methods, credentials

NAMES = [
    Case(f"create {name}", f"/v1/namespace/{{s}}${urllib.parse.quote(raw, safe='')}/create", {}, BAD)
    for name, raw in {
        "NUL": "a\0b",
        "newline": "a\nb",
        "escape": "\x1b",
        "DEL": "\x7f",
        "C1 control": "\x85",
        "too long": "x" * 257,
        "too long in bytes": "é" * 129,
    }.items()
] + [
    Case("invalid UTF-8", "/v1/namespace/{s}$%FF/create", {}),
    Case("overlong UTF-8", "/v1/namespace/{s}$%C0%AF/create", {}),
    Case("surrogate", "/v1/namespace/{s}$%ED%A0%80/create", {}),
    Case("too many levels", "/v1/namespace/" + "$".join(["n"] * 17) + "/create", {}, says="level"),
    Case("very many levels", "/v1/namespace/" + "$".join(["n"] * 900) + "/create", {}),
    Case("very long", "/v1/namespace/" + "n" * 9000 + "/create", {}),
    Case("delimiter in a component", "/v1/namespace/{s}.a$b/create?delimiter=.", {}),
    Case("delimiter empty", "/v1/namespace/{s}/describe?delimiter=", {}, says="delimiter"),
    Case("delimiter twice", "/v1/namespace/{s}/describe?delimiter=.&delimiter=$", {}, says="delimiter"),
    Case("delimiter of a control character", "/v1/namespace/{s}/describe?delimiter=%01", {}, says="delimiter"),
    Case("delimiter too long", "/v1/namespace/{s}/describe?delimiter=" + "-" * 17, {}, says="delimiter"),
    Case("root as a table", "/v1/table/$/describe", {}, says="root"),
    Case("root as a table to create", "/v1/table/$/create", sample.people(1), says="root"),
    Case("root to be dropped", "/v1/namespace/$/drop", {"behavior": "Cascade"}),
    Case("root to be created", "/v1/namespace/$/create", {}, (409, 2)),
    Case("missing parent", "/v1/namespace/{s}$missing$new/create", {}, NO_NAMESPACE),
    Case("missing namespace of a table", "/v1/table/{s}$missing$t/create", sample.people(1), NO_NAMESPACE),
    Case("missing namespace", "/v1/namespace/{s}$missing/describe", {}, NO_NAMESPACE),
    Case("missing namespace to drop", "/v1/namespace/{s}$missing/drop", {}, (400, 1)),
    Case("namespace that exists", "/v1/namespace/{s}/create", {}, (409, 2)),
    Case("namespace that is not empty", "/v1/namespace/{s}/drop", {}, (409, 3)),
    Case("table that exists", "/v1/table/{t}/create", sample.people(1), (409, 5)),
    Case("table that exists, for LanceDB", "/v1/table/{t}/create/", sample.people(1), (400, 5), says="already exists"),
    Case("table that exists, declared", "/v1/table/{t}/declare", {}, (409, 5)),
    *[
        Case(f"missing table: {op}", f"/v1/table/{{s}}$missing/{op}", {}, NO_TABLE)
        for op in ("describe", "exists", "drop", "deregister", "query", "count_rows", "version/list", "stats")
    ],
    Case("missing table: insert", "/v1/table/{s}$missing/insert", sample.people(1), NO_TABLE),
    Case("missing table: merge", MERGE.replace("{t}", "{s}$missing"), sample.people(1), NO_TABLE),
    Case("declared table: query", "/v1/table/{s}$declared/query", {}, NO_TABLE),
    Case("declared table: describe by LanceDB", "/v1/table/{s}$declared/describe/", None, NO_TABLE),
    Case("register nowhere", "/v1/table/{s}$new/register", {"location": "/nowhere/t.lance"}),
    Case("register up and away", "/v1/table/{s}$new/register", {"location": "../../etc"}),
    Case("register what is not there", "/v1/table/{s}$new/register", {"location": "not-there.lance"}),
    Case("declare outside", "/v1/table/{s}$new/declare", {"location": "/tmp/elsewhere.lance"}),
    Case("declare inside of the catalog", "/v1/table/{s}$new/declare", {"location": "_catalog/x"}),
    Case("unknown operation", "/v1/table/{t}/juggle", {}, NOT_SUPPORTED),
    Case("unknown namespace operation", "/v1/namespace/{s}/juggle", {}, (404, 0)),
    Case("unknown path", "/v2/table/{t}/describe", {}, (404, 0)),
    Case("clone of nothing", "/v1/table/{t}/clone", {"new_table_name": "x"}, says="source_location"),
    Case("batch of no operations", "/v1/table/batch-commit", {"operations": []}, says="operations"),
    Case("batch of nothing", "/v1/table/version/batch-create", {"entries": []}, says="entries"),
    Case("batch of no list", "/v1/table/version/batch-create", {"entries": {}}),
    Case("batch: entry without a version", "/v1/table/version/batch-create", {"entries": [{"id": ["t"]}]}, says="entries[0]"),
    Case(
        "batch: table that is not there",
        "/v1/table/version/batch-create",
        {"entries": [{"id": ["{s}", "none"], "version": 1, "manifest_path": "x"}]},
        (404, 1),
        says="entry 0",
    ),
    Case("batch: too many", "/v1/table/version/batch-create", {"entries": [{}] * 1001}, says="entries"),
    Case("create version: no manifest", "/v1/table/{t}/version/create", {"version": 2}, says="manifest_path"),
    Case("create version 0", "/v1/table/{t}/version/create", {"version": 0, "manifest_path": "x"}, says="version"),
    Case("create version: elsewhere", "/v1/table/{t}/version/create", {"version": 2, "manifest_path": "etc/passwd"}),
    Case(
        "create version: odd scheme",
        "/v1/table/{t}/version/create",
        {"version": 2, "manifest_path": "x", "naming_scheme": "V9"},
        says="naming_scheme",
    ),
    Case("delete versions: no ranges", "/v1/table/{t}/version/delete", {"ranges": []}, says="ranges"),
    Case("delete versions: half a range", "/v1/table/{t}/version/delete", {"ranges": [{"start_version": 1}]}),
    Case(
        "delete versions: below zero",
        "/v1/table/{t}/version/delete",
        {"ranges": [{"start_version": -1, "end_version": 3}]},
    ),
    Case("full text without a column or an index", QUERY, {"full_text_query": {"string_query": {"query": "x"}}}, says="full_text_query"),
    Case("rename without a name", "/v1/table/{t}/rename", {}, (400, 13), says="new_table_name"),
    Case("rename to a name with a delimiter", "/v1/table/{t}/rename", {"new_table_name": "a$b"}, (400, 13)),
    Case("rename to two namespaces", "/v1/table/{t}/rename",
         {"new_table_name": "x", "new_namespace": ["a"], "new_namespace_id": ["b"]}, (400, 13), says="new_namespace"),
    Case("rename to a namespace of another type", "/v1/table/{t}/rename", {"new_table_name": "x", "new_namespace_id": "a"}, (400, 13)),
    Case("version/describe of a negative version", "/v1/table/{t}/version/describe", {"version": -1}, (400, 13), says="version"),
    Case("GET of a POST", DESCRIBE, None, (405, 13), method="GET"),
    Case("PUT", INSERT, PEOPLE, (405, 13), method="PUT"),
    Case("DELETE", "/v1/table/{t}/drop", None, (405, 13), method="DELETE"),
    Case("PATCH", DESCRIBE, {}, (405, 13), method="PATCH"),
    Case("made-up method", DESCRIBE, {}, (405, 13), method="BREW"),
    Case("no token", DESCRIBE, {}, STRANGER, token=None),
    Case("no token, to write", "/v1/table/{t}/drop", {}, STRANGER, token=None),
    Case("no token, to upload", INSERT, PEOPLE, STRANGER, token=None),
    Case("wrong token", DESCRIBE, {}, STRANGER, token="wrong"),
    Case("empty token", DESCRIBE, {}, {STRANGER, BAD}, token=""),
    Case("token in pieces", DESCRIBE, {}, {STRANGER, BAD}, token="e2e token"),
    Case("basic credentials", DESCRIBE, {}, STRANGER, token=None, headers={"Authorization": "Basic ZTJlOmUyZQ=="}),
    Case("wrong api key", DESCRIBE, {}, STRANGER, token=None, headers={"x-api-key": "wrong"}),
    Case("wrong identity", DESCRIBE, {"identity": {"api_key": "wrong"}}, STRANGER, token=None),
    Case("stranger to a missing table", "/v1/table/{s}$missing/drop", {}, STRANGER, token=None),
    Case("stranger with a bad body", MAKE, b"{", STRANGER, token=None),
]

CASES = JSON + TYPES + ENUMS + COUNTS + EXCLUSIVE + FILTERS + UPLOADS + SCHEMAS + NAMES
