"""Random queries of the LanceDB client over random tables of many types.

A query is a chain of calls of the client's query builder, so that it can run on any table and
be printed as source code. Columns have few distinct values, so that filters find rows and
orders have ties. Vectors are chosen so that few distances are equal, except those of bits.
"""

from __future__ import annotations

import dataclasses
import datetime
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lancedb.expr import Expr, col, lit
from lancedb.query import BooleanQuery, BoostQuery, ColumnOrdering, MatchQuery, MultiMatchQuery, Occur, PhraseQuery

import filters
import sample

# Vectors by the name of their column: their width, their type.
VECTORS = {
    "vec": (8, np.float32),
    "half": (4, np.float16),
    "wide": (4, np.float64),
    "bits": (4, np.uint8),
    "many": (4, np.float32),
    "doc.emb": (4, np.float32),
    "odd": (2, np.float32),
}
# Vectors that are indexed, in tables that have indices: the kind, the metric, and its settings.
INDICES = {
    "close": ("IVF_FLAT", "l2", {}),
    "pq": ("IVF_PQ", "cosine", {"num_sub_vectors": 4}),
    "sq": ("IVF_SQ", "dot", {}),
    "rq": ("IVF_RQ", "l2", {"num_bits": 1}),
    "hnsw": ("IVF_HNSW_SQ", "l2", {}),
    "graph": ("IVF_HNSW_FLAT", "cosine", {}),
    "bytes": ("IVF_FLAT", "hamming", {}),
}
VECTORS |= {name: (8, np.uint8 if metric == "hamming" else np.float32) for name, (_, metric, _) in INDICES.items()}
EQUALS = ("bits", "bytes", "odd")  # of which many distances are equal
# None of bools: native Lance forgets the nulls in NOT of a test for TRUE that an index answers.
SCALARS = {
    "id": "BTREE",
    "i32": "BITMAP",
    "i64": "BTREE",
    "f64": "BTREE",
    "s": "BTREE",
    "s2": "NGRAM",
    "ls": "ZONEMAP",
    "u8": "BLOOMFILTER",
    "ts": "ZONEMAP",
    "d": "BTREE",
    "lw": "LABEL_LIST",
    "st.a": "BTREE",
}
FLOATS = ["l2", "cosine", "dot"]
WORDS = "run jump walk talk happy nation relate general common organ quick brown lazy fox dog cat house river".split()
PLAIN = ["id", "i8", "i32", "i64", "u8", "f32", "f64", "dec", "s", "ls", "dict", "bin", "b", "d", "ts", "tss", "tp"]
NESTED = ["st", "li", "lw", "j", "deep", "pairs", "doc"]
PATHS = ["st.a", "st.b", "deep.in.x", "deep.in", "deep.`a.b`", "doc.n", "doc.emb"]
# Columns of tables of all types. Of maps the client cannot be told, as its schemas have none, and
# native LanceDB does not read vectors of structs beside others.
MORE = {n: kind for n, kind in (sample.REQUIRED_TYPES | sample.FURTHER_TYPES).items() if n not in ("map", "vector_of_structs")}
UNSORTED = ["list_of_vectors", "list_of_structs", "list_of_lists", "struct_of_list", "null"]  # by native Lance
ROW_COLUMNS = ["_rowid", "_rowaddr"]


def table(r: random.Random, rows: int, start: int = 0, more: tuple = ()) -> pa.Table:
    """Rows whose ids count from start, with more columns of vectors."""
    made = filters.table(r, rows).set_column(0, "id", pa.array(range(start, start + rows), pa.int64()))
    for name in ("f32", "f64"):  # without minus zero, which the older Lance that is in LanceDB compares otherwise
        at = made.schema.get_field_index(name)
        made = made.set_column(at, name, pc.add(made[name], pa.scalar(0.0, made.schema.types[at])))
    noise = np.random.default_rng(r.randrange(1 << 30))

    def vectors(name: str, nulls: float = 0.0) -> pa.Array:
        width, dtype = VECTORS[name]
        values = noise.integers(0, 256, (rows, width)) if dtype is np.uint8 else noise.normal(size=(rows, width))
        items = pa.array(values.astype(dtype).ravel())
        return pa.FixedSizeListArray.from_arrays(items, width, mask=pa.array(noise.random(rows) < nulls))

    def missing(share: float) -> pa.Array:
        return pa.array(noise.random(rows) < share)

    inner = pa.StructArray.from_arrays([pa.array(noise.integers(0, 9, rows)), pa.array([r.choice(filters.WORDS) for _ in range(rows)])], ["x", "y"], mask=missing(0.1))
    lengths = noise.integers(0, 4, rows)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    total = int(lengths.sum())
    many = pa.FixedSizeListArray.from_arrays(pa.array(noise.normal(size=total * 4).astype(np.float32)), 4)
    pairs = pa.StructArray.from_arrays([pa.array(range(total)), pa.array([r.choice(filters.WORDS) for _ in range(total)])], ["k", "v"])
    odd = [r.choice([None, [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], *[[r.gauss(0, 1), r.gauss(0, 1)]] * 8]) for _ in range(rows)]
    columns = {
        "deep": pa.StructArray.from_arrays([inner, pa.array(noise.integers(0, 5, rows))], ["in", "a.b"], mask=missing(0.1)),
        "pairs": pa.ListArray.from_arrays(offsets, pairs),
        "doc": pa.StructArray.from_arrays([vectors("doc.emb"), pa.array(noise.integers(0, 9, rows))], ["emb", "n"], mask=missing(0.05)),
        "vec": vectors("vec", 0.05),
        "half": vectors("half"),
        "wide": vectors("wide", 0.02),
        "bits": vectors("bits"),
        "many": pa.ListArray.from_arrays(offsets, many, mask=pa.array((lengths == 0) & (noise.random(rows) < 0.5))),
        "odd": pa.array(odd, pa.list_(pa.float32(), 2)),
        # Texts differ in length, so that few scores are equal.
        "text": pa.array([None if i % 17 == 3 else " ".join(r.choices(WORDS, k=i % 40 + 1)) for i in range(rows)]),
        "title": pa.array([" ".join(r.choices(WORDS, k=r.randint(0, 3))) for _ in range(rows)]),
    }
    for name, column in (columns | {name: vectors(name) for name in more}).items():
        made = made.append_column(name, column)
    # Not of columns that expressions may come down to, to which native Lance then gives the metadata.
    noted = [f.with_metadata({"of": f.name}) if f.name in ("st", "vec", "text") else f for f in made.schema]
    return made.cast(pa.schema(noted, metadata={"made by": "the suite", "empty": ""}))


@dataclasses.dataclass
class Query:
    """A chain of calls, and the known properties of its result."""

    calls: list[tuple[str, tuple, dict[str, Any]]]
    rank: str | None = None  # the column that says how good a row is
    rounding: float = 5e-5  # of that column, of its larger values
    total: bool = True  # no two rows are equal in the order asked for
    cut: bool = False  # not all rows are answered
    exact: list = dataclasses.field(default_factory=list)  # calls that make native LanceDB do without its index
    words: Query | None = None  # the part of a hybrid search, where ranks count, that searches for words
    planned: bool = False  # asked for its plans, too

    def of(self, table, exact: bool = False):
        """Returns the builder of the query, or the result of its last call."""
        made = table
        calls = self.calls
        if exact and self.exact:  # a fast search is one of an index, whatever else is said
            calls = [call for call in calls if call[0] != "fast_search"] + self.exact
        for name, args, options in calls:
            made = getattr(made, name)(*args, **options)
        return made

    def __str__(self) -> str:
        shown = [
            f"{name}({', '.join([*map(repr, args), *(f'{k}={v!r}' for k, v in options.items())])})" for name, args, options in self.calls
        ]
        return "t." + ".".join(shown)


class Queries:
    """A source of queries of one table."""

    def __init__(self, r: random.Random, rows: int, indexed: dict[str, str], texts: bool, more: list[str]):
        self.r, self.rows, self.indexed, self.texts, self.more = r, rows, indexed, texts, more
        self.covered = 0  # by the indices: rows with lower ids
        self.filters = filters.Filters(r)
        self.sorted = [name for name in more if name not in UNSORTED]

    def chance(self, share: float) -> bool:
        return self.r.random() < share

    def any(self) -> Query:
        made = self._any()
        made.planned = self.chance(0.1)
        return made

    def _any(self) -> Query:
        x = self.r.random()
        if x < 0.03:
            return Query([("count_rows", (self.condition(),) if self.chance(0.8) else (), {})])
        if x < 0.04:
            return Query([("head", (self.r.choice([0, 1, self.rows - 1, self.rows]),), {})])
        if x < 0.4:
            return self.scan()
        if x < 0.8 or not self.texts:
            return self.search() if x < 0.95 else self.take()
        if x < 0.95:
            return self.words()
        return self.hybrid()

    # Parts

    def condition(self) -> str:
        n, r = self.rows, self.r
        own = [
            f"id {self.filters.compare()} {r.randrange(-1, n + 2)}",
            f"id % {r.randint(1, 9)} = {r.randint(0, 3)}",
            f"id IN ({', '.join(str(r.randrange(n + 5)) for _ in range(r.randint(1, 6)))})",
            f"id BETWEEN {r.randrange(n)} AND {r.randrange(n + 9)}",
            f"deep.in.x {self.filters.compare()} {r.randint(0, 8)}",
            "deep.`a.b` = 2",
            "deep.in IS NULL",
            "doc.emb IS NOT NULL",
            f"vec IS {self.filters.maybe_not()}NULL",
            f"_rowid {self.filters.compare()} {r.randrange(n)}",
            r.choice(["array_length(pairs) > 1", "array_length(many) = 2", "empty(pairs)"]),
            r.choice(["true", "false", "1 = 1", "b"]),
        ]
        return r.choice(own) if self.chance(0.5) else self.filters.filter(r.choice([0, 0, 1, 2]))

    def built(self) -> Expr:
        """A condition that is built and not written."""
        r, name = self.r, self.r.choice(["i8", "i32", "i64", "f64"])
        return r.choice([
            col(name) > lit(r.randint(-3, 6)),
            (col(name) + col("i64")) * lit(2) <= lit(7.5),
            ~(col("s").lower().contains("a") | (col("id") == lit(r.randrange(self.rows)))),
            col("s").isin([lit("a"), lit("it's"), lit("ab")]) & (col("d") >= lit(datetime.date(2024, 1, 9))),
            col(name).cast("string") != lit("3"),
            col("bin") == lit(b"a"),
        ])

    def columns(self, found: str | None = None) -> list | dict:
        r = self.r
        if self.chance(0.25):
            made = {f"c{i}": self.expression() for i in range(r.randint(1, 4))}
            if found and self.chance(0.2):
                made |= {"c0": r.choice([f"{found} > 1", f"abs({found} / 100) < 1", f"coalesce({found} * 0, 1) + id"])}
            if found and self.chance(0.1):
                made |= {found: found}
            # With a column of the table, as native Lance drops the schema's metadata without one.
            made |= {"id": "id"} if found or self.chance(0.5) else {}
            return dict(sorted(made.items()))  # in which order the client sends them
        names = r.sample(PLAIN + NESTED, r.randint(1, 5))
        if self.chance(0.3):
            names += r.sample(PATHS, r.randint(1, 3))
        if self.chance(0.15):
            names += r.sample(ROW_COLUMNS, r.randint(1, 2))
        if found and self.chance(0.2):
            names.append(found)
        if self.chance(0.3):
            names.append(r.choice(["vec", "bits", "many", "odd", "half"]))
        if self.more and self.chance(0.7):
            names += r.sample(self.more, min(len(self.more), r.randint(1, 5)))
        if self.chance(0.6) and "id" not in names:
            names.append("id")
        r.shuffle(names)
        if self.chance(0.04):
            return self.r.choice([[], ["*"]])
        if self.chance(0.02):
            names.append(r.choice(["nope", "st.nope", "ID", "", names[0]]))
        return names

    def expression(self) -> str:
        make = self.filters
        sources = [make.number, make.text, make.moment, make.predicate, lambda: self.r.choice(PLAIN + PATHS)]
        while "arrow_typeof" in (text := self.r.choice(sources)()):  # a constant, which native Lance says may be null
            pass
        return text

    def orders(self) -> tuple[list[ColumnOrdering], bool]:
        sortable = [*PLAIN, "st.a", "deep.in.x", "st", "li", *self.sorted]
        keys = self.r.sample(sortable, self.r.randint(1, 3))
        if "id" not in keys and self.chance(0.8):
            keys.append("id")
        made = [ColumnOrdering(column_name=k, ascending=self.chance(0.5), nulls_first=self.chance(0.5)) for k in keys]
        return made, "id" in keys

    def limit(self) -> int:
        return self.r.choice([1, 2, 5, 10, 37, self.rows - 1, self.rows, 10 * self.rows])

    def offset(self) -> int:
        return self.r.choice([1, 3, 10, self.rows // 2, self.rows - 1, self.rows, 5 * self.rows])

    # Queries

    def scan(self) -> Query:
        q = Query([("search", (), {})])
        if self.chance(0.6):
            q.calls.append(("where", (self.condition(),), {}))
            if self.chance(0.1):
                q.calls.append(("where", (self.built(),), {}))
        if self.chance(0.6):
            q.calls.append(("select", (self.columns(),), {}))
        if self.chance(0.3):
            keys, q.total = self.orders()
            q.calls.append(("order_by", (keys,), {}))
        if self.chance(0.5):
            q.calls.append(("limit", (self.r.choice([self.limit(), self.limit(), 0, None, 1 << 31]),), {}))
            q.cut = True
        if self.chance(0.4):
            q.calls.append(("offset", (self.offset(),), {}))
            q.cut = True
        if self.chance(0.2):
            q.calls.append(("with_row_id", (True,), {}))
        return q

    def vector(self, column: str) -> list:
        width, dtype = VECTORS[column]
        if dtype is np.uint8:
            return [self.r.randrange(256) for _ in range(width)]
        if column == "odd" and self.chance(0.2):
            return [0.0, 0.0]
        return [float(np.float32(self.r.gauss(0, 1))) for _ in range(width)]

    def search(self) -> Query:
        if self.chance(0.05):
            return Query([("search", (self.vector("bits") * self.r.randint(1, 3),), {})], rank="_distance", cut=True)
        column = self.r.choice([v for v in VECTORS if v not in INDICES] + 2 * list(self.indexed))
        vector: list = self.vector(column)
        if self.chance(0.2):
            vector = [self.vector(column) for _ in range(self.r.randint(1, 3))]
        if self.chance(0.02):
            vector = vector[:-1]
        q = Query([("search", (vector,), {"vector_column_name": column})], rank="_distance")
        q.rounding = 5e-3 if column == "half" else q.rounding
        metric = None
        if self.chance(0.5):
            metric = self.r.choice(["hamming", "l2"]) if column in ("bits", "bytes") else self.r.choice(FLOATS)
            if self.chance(0.05):
                metric = self.r.choice(["hamming", *FLOATS])
            q.calls.append(("distance_type", (metric,), {}))
        limit = self.limit()
        q.cut = limit < self.rows
        q.calls.append(("limit", (limit,), {}))
        after = False
        if self.chance(0.6):
            after = self.chance(0.3) and (not q.cut or column not in EQUALS)
            text = f"{self.condition()} AND _distance > 0.5" if after and self.chance(0.2) else self.condition()
            q.calls.append(("where", (text,), {"prefilter": not after}))
        if self.chance(0.6):
            q.calls.append(("select", (self.columns("_distance"),), {}))
        if self.chance(0.2):
            q.calls.append(("with_row_id", (True,), {}))
        if self.chance(0.25):
            q.calls.append(("offset", (self.offset(),), {}))
            q.cut = True
        if self.chance(0.15):
            ends = sorted(self.r.gauss(1, 3) for _ in range(2))
            q.calls.append(("distance_range", (self.r.choice([None, ends[0]]), self.r.choice([None, ends[1]])), {}))
        if self.chance(0.1) and column not in (*EQUALS, "half"):
            keys, q.total = self.orders()
            q.calls.append(("order_by", (keys,), {}))
            q.rank = None
        for hint, value in (("nprobes", 3), ("refine_factor", 2), ("ef", 50)):
            if self.chance(0.1):
                q.calls.append((hint, (value,), {}))
        if column in self.indexed:
            if self.chance(0.2):
                q.calls.append(("bypass_vector_index", (), {}))
                return q
            q.exact = [("bypass_vector_index", (), {})] + ([] if metric else [("distance_type", (self.indexed[column],), {})])
            if self.chance(0.2) and not after:
                q.calls.append(("fast_search", (), {}))
                covered = f"id < {self.covered}" if metric in (None, self.indexed[column]) else "false"
                q.exact.append(("where", (covered,), {"prefilter": True}))
        elif self.chance(0.1):
            q.calls.append(("bypass_vector_index", (), {}))
        return q

    def terms(self) -> str:
        return " ".join(self.r.choices([*WORDS, "zebra"], k=self.r.choice([1, 1, 2, 3])))

    def clause(self, depth: int = 1):
        r, x = self.r, self.r.random()
        if depth and x < 0.2:
            return BooleanQuery([(r.choice([Occur.MUST, Occur.SHOULD, Occur.SHOULD, Occur.MUST_NOT]), self.clause(0)) for _ in range(3)])
        if depth and x < 0.3:
            return BoostQuery(self.clause(0), self.clause(0), negative_boost=0.3)
        if x < 0.4:
            return MultiMatchQuery(self.terms(), ["text", "title"], boosts=r.choice([None, [1.0, 2.0]]))
        if x < 0.55:
            return PhraseQuery(self.terms(), "text", slop=r.choice([0, 1]))
        options = r.choice([{}, {}, {"fuzziness": 1}, {"boost": 2.0}, {"operator": "AND"}])
        return MatchQuery(self.terms(), r.choice(["text", "text", "title"]), **options)

    def words(self) -> Query:
        text = self.terms() if self.chance(0.5) else self.clause()
        options = {"fts_columns": self.r.choice(["text", ["text"], "title"])} if isinstance(text, str) and self.chance(0.6) else {}
        q = Query([("search", (text,), {"query_type": "fts", **options})], rank="_score")
        limit = self.r.choice([self.limit(), self.limit(), None])
        q.calls.append(("limit", (limit,), {}))
        q.cut = limit is None or limit < self.rows  # none is ten
        if self.chance(0.5):
            q.calls.append(("where", (self.condition(),), {"prefilter": q.cut or self.chance(0.7)}))
        if self.chance(0.6):
            q.calls.append(("select", (self.columns("_score"),), {}))
        if self.chance(0.2):
            q.calls.append(("with_row_id", (True,), {}))
        if self.chance(0.2):
            q.calls.append(("offset", (self.offset(),), {}))
            q.cut = True
        if self.chance(0.1):
            q.calls.append(("fast_search", (), {}))
        return q

    def hybrid(self) -> Query:
        text, limit = self.terms(), self.r.choice([1, 5, 10, 50])
        words = Query([("search", (text,), {"query_type": "fts", "fts_columns": "text"}), ("limit", (limit + 1,), {})])
        both = {"query_type": "hybrid", "vector_column_name": "vec", "fts_columns": "text"}
        q = Query([("search", (), both), ("vector", (self.vector("vec"),), {}), ("text", (text,), {}), ("limit", (limit,), {})])
        q.rank, q.cut, q.words = "_relevance_score", True, words
        if self.chance(0.5):
            where = ("where", (f"id % {self.r.randint(1, 5)} = 0",), {})
            q.calls.append(where)
            words.calls.append(where)
        if self.chance(0.5):
            q.calls.append(("select", (self.r.sample(PLAIN, 3),), {}))
        if self.chance(0.3):
            q.calls.append(("distance_type", (self.r.choice(FLOATS),), {}))
        return q

    def take(self) -> Query:
        places = [self.r.randrange(self.rows) for _ in range(self.r.randint(0, 6))]
        q = Query([(self.r.choice(["take_offsets", "take_row_ids"]), (places,), {})])
        if self.chance(0.5):
            q.calls.append(("select", (self.r.sample(PLAIN, 3),), {}))
        q.total = False
        return q
