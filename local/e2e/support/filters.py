"""Random filters over a table of many types, nearly all of which native Lance accepts.

A filter is composed by the type that is needed: a predicate compares two numbers, two strings
or two moments, each of which is a column, a literal, or a function of others. Columns have few
distinct values, so that comparisons find rows.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import random

import pyarrow as pa

WORDS = ["", "a", "A", "ab", "abc", "Abc", "b", "a%b", "a_b", "aXb", "ß", "É", "é", "日本", "10", "9", "-3", "a b", " k", "K"]
NAN, INF = float("nan"), float("inf")


def table(r: random.Random, rows: int = 300) -> pa.Table:
    """Rows of few different values, and of all of their types' troublesome ones."""

    def column(type_, make):
        return pa.array([None if r.random() < 0.12 else make() for _ in range(rows)], type_)

    def moment():
        return dt.datetime(2024, 1, 1) + dt.timedelta(hours=r.randint(-900, 900), milliseconds=r.choice([0, 0, 500]))

    def some(make):
        return lambda: [None if r.random() < 0.1 else make() for _ in range(r.randint(0, 4))]

    def floats():
        return r.choice([0.0, -0.0, 0.1, 0.5, 1.0, -1.0, 7.0, 2.5, -2.5, NAN, INF, -INF])

    def member():
        return {"a": r.randint(0, 5), "b": r.choice(WORDS)}

    def document():
        return json.dumps({"a": r.randint(0, 5), "b": r.choice(WORDS), "c": [1, r.randint(0, 2)]})

    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "i8": column(pa.int8(), lambda: r.choice([-128, 127, r.randint(-20, 20)])),
            "i32": column(pa.int32(), lambda: r.randint(-5, 10)),
            "i64": column(pa.int64(), lambda: r.randint(-5, 10)),
            "u8": column(pa.uint8(), lambda: r.choice([0, 255, r.randint(0, 10)])),
            "f32": column(pa.float32(), floats),
            "f64": column(pa.float64(), floats),
            "dec": column(pa.decimal128(7, 2), lambda: decimal.Decimal(r.randint(-500, 500)).scaleb(-2)),
            "s": column(pa.utf8(), lambda: r.choice(WORDS)),
            "s2": column(pa.utf8(), lambda: r.choice(WORDS)),
            "ls": column(pa.large_utf8(), lambda: r.choice(WORDS)),
            "dict": column(pa.utf8(), lambda: r.choice(["x", "y", "ab"])).dictionary_encode(),
            "bin": column(pa.binary(), lambda: r.choice(WORDS).encode()),
            "b": column(pa.bool_(), lambda: r.random() < 0.5),
            "d": column(pa.date32(), lambda: moment().date()),
            "ts": column(pa.timestamp("us"), moment),
            "tss": column(pa.timestamp("s"), lambda: moment().replace(microsecond=0)),
            "tp": column(pa.timestamp("ms", "Europe/Paris"), moment),
            "li": column(pa.list_(pa.int64()), some(lambda: r.randint(0, 3))),
            "lw": column(pa.list_(pa.utf8()), some(lambda: r.choice(WORDS))),
            "j": column(pa.json_(), document),
            "st": column(pa.struct([("a", pa.int32()), ("b", pa.utf8())]), member),
        }
    )


class Filters:
    """A source of filters. Some expressions stand in coalesce, as native Lance takes them in calls only."""

    def __init__(self, r: random.Random):
        self.r = r

    def pick(self, *choices: str) -> str:
        return self.r.choice(choices)

    def filter(self, depth: int = 2) -> str:
        x = self.r.random()
        if depth == 0 or x < 0.35:
            return self.predicate()
        if x < 0.5:
            return f"NOT ({self.filter(depth - 1)})"
        return f"({self.filter(depth - 1)}) {self.pick('AND', 'OR')} {self.filter(depth - 1)}"

    def predicate(self) -> str:
        often = [self.of_numbers, self.of_text] * 2
        return self.r.choice([*often, self.of_moments, self.of_lists, self.of_choice])()

    # Literals

    def compare(self) -> str:
        return self.pick("=", "!=", "<", "<=", ">", ">=")

    def integer(self) -> str:
        return str(self.r.randint(-4, 9))

    def count(self) -> str:
        return str(self.r.randint(0, 6))

    def word(self) -> str:
        return "'" + self.r.choice(WORDS) + "'"

    def day(self) -> str:
        return f"date '2024-0{self.r.randint(1, 2)}-{self.r.randint(10, 28)}'"

    def maybe_not(self) -> str:
        return self.pick("", "NOT ")

    # Values, inside of a call or alone

    def number(self, depth: int = 1) -> str:
        column = self.pick("i8", "i32", "i64", "u8", "f32", "f64", "dec", "st.a")
        if depth == 0 or self.r.random() < 0.3:
            return column
        return self.pick(
            f"abs({self.pick('i32', 'i64', 'f64', 'dec')})",
            f"round({self.pick('f64', 'f32', 'i32')})",
            f"round(dec, {self.r.randint(0, 2)})",
            f"round(f64, {self.r.randint(-1, 2)})",
            f"trunc({self.pick('f64', 'f32')})",
            f"coalesce(floor({self.pick('f64', 'f32', 'dec')}))",
            f"coalesce(ceil({self.pick('f64', 'f32', 'i32')}))",
            f"sqrt({self.pick('i64', 'f64')})",
            f"power({self.pick('i32', 'f64')}, 2)",
            f"signum({self.pick('f64', 'f32', 'i64')})",
            f"greatest({self.number(0)}, {self.number(0)})",
            f"least(i64, {self.integer()}, i32)",
            f"nullif(i64, {self.integer()})",
            f"nvl({self.pick('i32', 'i64')}, {self.integer()})",
            f"coalesce(i32 & {self.count()})",
            f"coalesce(i64 | {self.pick('i32', self.count())})",
            f"gcd(i64, {self.count()})",
            f"length({self.text(0)})",
            f"octet_length({self.text(0)})",
            f"strpos({self.text(0)}, {self.word()})",
            f"ascii({self.pick('s', 'ls')})",
            "levenshtein(s, s2)",
            f"regexp_count(s, '{self.pick('a', '[ab]', '.')}')",
            f"array_length({self.pick('li', 'lw')})",
            f"array_position(li, {self.count()})",
            f"li[{self.pick('1', '2', '-1', 'i32')}]",
            "array_max(li)",
            "json_get_int(j, 'a')",
            "json_array_length(j, '$.c')",
            f"date_part('{self.unit()}', {self.pick('d', 'ts', 'tss', 'tp')})",
            f"abs(CASE WHEN b THEN i32 WHEN i64 > 3 THEN {self.integer()} END)",
            f"coalesce(CASE i32 WHEN 1 THEN i64 ELSE i32 END)",
            f"({column} {self.pick('+', '-', '*')} {self.pick(self.integer(), 'i32', 'f64')})",
        )

    def unit(self) -> str:
        return self.pick(*"year quarter month week day hour minute second millisecond dow isodow doy epoch".split())

    def text(self, depth: int = 1) -> str:
        column = self.pick("s", "s2", "ls", "dict", "st.b")
        if depth == 0 or self.r.random() < 0.25:
            return column
        inner, flag = self.text(depth - 1), ", 'g'"
        return self.pick(
            f"upper({inner})",
            f"lower({inner})",
            f"concat({inner}, {self.pick('s2', self.word(), 'i32', 'b')})",
            f"concat_ws('{self.pick('', '-')}', {inner}, {self.pick('s2', 'i64')})",
            f"left({inner}, {self.r.randint(-2, 3)})",
            f"right({inner}, {self.r.randint(-2, 3)})",
            f"coalesce(substr({inner}, {self.r.randint(-1, 3)}))",
            f"upper(substring({inner} from {self.r.randint(1, 3)} for {self.count()}))",
            f"lpad({inner}, {self.count()}, 'xy')",
            f"rpad({inner}, {self.count()}, {self.pick(self.word(), 's2')})",
            f"lower(trim({inner}))",
            f"ltrim({inner}, 'a ')",
            f"rtrim({inner}, 'b')",
            f"btrim({inner})",
            f"replace({inner}, 'a', {self.word()})",
            f"reverse({inner})",
            f"repeat({inner}, {self.r.randint(-1, 3)})",
            f"initcap({inner})",
            f"translate({inner}, 'ab', 'b')",
            f"split_part({inner}, '{self.pick('a', 'b', ' ')}', {self.pick('1', '2', '-1')})",
            f"regexp_replace({inner}, '{self.pick('a', 'a(.)', '[^a]', '^')}', '{self.pick('', 'Z', 'b$1')}'{self.pick('', flag)})",
            f"md5({inner})",
            f"nullif({inner}, {self.word()})",
            f"nvl({inner}, {self.word()})",
            f"coalesce({inner}, s2)",
            f"greatest(s, {self.pick('s2', self.word())})",
            f"to_hex({self.pick('i64', 'u8')})",
            f"array_to_string({self.pick('lw', 'li')}, ',')",
            f"lw[{self.pick('1', '-1')}]",
            f"json_get_string(j, '{self.pick('a', 'b')}')",
            f"json_extract(j, '$.{self.pick('b', 'c', 'c[1]', 'z')}')",
            f"coalesce(CASE WHEN b THEN s ELSE s2 END)",
            f"({column} || {self.pick('s', self.word())})",
            f"to_char({self.pick('d', 'ts', 'tss')}, '{self.pick('%Y-%m-%d', '%H:%M', '%b %-d', '%j %U', '%s')}')",
            f"arrow_typeof({self.pick('s', 'ts', 'li', 'i32')})",
            f"named_struct('a', {inner}, 'b', i64)['a']",
            f"array_to_string(array_slice(lw, {self.r.randint(-2, 2)}, {self.r.randint(-2, 3)}), ',')",
            f"array_to_string(array_repeat({inner}, {self.r.randint(-1, 2)}), ',')",
            f"encode(digest({inner}, '{self.pick('md5', 'sha256')}'), 'hex')",
        )

    def moment(self) -> str:
        column = self.pick("d", "ts", "tss")
        unit = self.pick("year", "quarter", "month", "week", "day", "hour", "minute")
        step = self.pick("1 day", "1 month", "36 hours", "2 weeks", "1 year 1 day", "90 minutes")
        return self.pick(
            column,
            f"date_trunc('{unit}', {column})",
            f"coalesce({column} {self.pick('+', '-')} interval '{step}')",
            f"to_date({self.pick('ts', 'tss', 'd')})",
            "to_timestamp(ts)",
            "to_timestamp_seconds(ts)",
            f"coalesce(d {self.pick('+', '-')} {self.count()})",
            f"greatest({column}, {self.day()})",
            f"nvl(d, {self.day()})",
            f"date_bin(interval '{self.pick('1 day', '7 days', '15 minutes', '3 hours')}', {self.pick('ts', 'tss', 'd')})",
            f"to_date(to_char({column}, '%d/%m/%Y'), '%d/%m/%Y')",
            f"to_timestamp(to_char({column}, '%Y%m%d %H%M'), '%Y%m%d %H%M')",
            "to_local_time(ts)",
        )

    # Predicates

    def of_numbers(self) -> str:
        bounds = f"{self.integer()} AND {self.integer()}"
        return self.pick(
            f"{self.number()} {self.compare()} {self.number()}",
            f"{self.number()} {self.compare()} {self.pick(self.integer(), '0.5', '2.0', '-0.0')}",
            f"{self.number()} {self.maybe_not()}BETWEEN {bounds}",
            f"{self.number()} {self.maybe_not()}IN ({self.integer()}, {self.integer()}, {self.pick('i32', 'NULL', '7')})",
            f"{self.number()} IS {self.maybe_not()}DISTINCT FROM {self.integer()}",
            f"{self.number()} IS {self.maybe_not()}NULL",
            f"{self.pick('isnan', 'iszero')}({self.pick('f32', 'f64')})",
            f"i64 {self.pick('<<', '>>')} {self.count()} {self.compare()} {self.integer()}",
        )

    def of_text(self) -> str:
        pattern = "'" + self.pick("%", "a%", "%b", "a_b", "_", "A%", "ab", "a\\%b", "%ß", "_%_") + "'"
        return self.pick(
            f"{self.text()} {self.compare()} {self.text()}",
            f"{self.text()} {self.compare()} {self.word()}",
            f"{self.text()} {self.maybe_not()}{self.pick('LIKE', 'ILIKE')} {pattern}",
            f"{self.text()} {self.maybe_not()}IN ({self.word()}, {self.word()}, {self.pick('s2', 'NULL')})",
            f"{self.text()} IS {self.maybe_not()}NULL",
            f"{self.pick('starts_with', 'ends_with', 'contains')}({self.text(0)}, {self.pick(self.word(), 's2')})",
            f"regexp_like({self.text(0)}, '{self.pick('^a', 'b$', '[0-9]+', 'a.b', '.', 'ß|é')}')",
            f"contains_tokens(s, '{self.pick('a', 'b a', 'k', 'K', '')}')",
            f"bin {self.compare()} X'61'",
            f"sha256({self.pick('s', 'bin')}) {self.compare()} sha256(s2)",
            f"encode(bin, '{self.pick('hex', 'base64')}') {self.compare()} '61'",
        )

    def of_moments(self) -> str:
        return self.pick(
            f"{self.moment()} {self.compare()} {self.moment()}",
            f"{self.moment()} {self.compare()} {self.day()}",
            f"{self.moment()} {self.maybe_not()}BETWEEN {self.day()} AND {self.day()}",
            f"{self.moment()} IS {self.maybe_not()}NULL",
            f"tp {self.compare()} timestamp '2024-01-1{self.r.randint(0, 9)} 12:00:00'",
            f"date_trunc('day', tp) {self.compare()} tp",
            f"ts - tss {self.compare()} ts - ts",
            f"{self.pick('d', 'ts', 'tss', 'tp')} {self.compare()} {self.pick('now()', 'current_timestamp', 'current_date', 'today()')}",
        )

    def of_lists(self) -> str:
        a, b = self.count(), self.count()
        return self.pick(
            f"array_has(li, {self.pick(a, 'i64')})",
            f"array_has_any(li, [{a}, {b}])",
            f"array_has_all(li, [{a}])",
            f"array_has(lw, {self.pick(self.word(), 's')})",
            f"array_has_any(lw, make_array(s, {self.word()}))",
            f"array_has(make_array(i32, {a}), i64)",
            f"li {self.pick('=', '!=')} [{a}, {b}]",
            "array_distinct(li) = array_sort(li)",
            f"array_append(li, i64) {self.pick('=', '!=')} array_concat(li, [{a}])",
            f"empty({self.pick('li', 'lw')})",
            f"lw IS {self.maybe_not()}NULL",
            f"coalesce(CASE WHEN b THEN li ELSE [1] END, li) = li",
            f"{self.made_list()} {self.pick('=', '!=')} {self.made_list()}",
            f"array_has({self.made_list()}, {self.pick(a, 'i64')})",
            f"cardinality({self.made_list()}) {self.compare()} {b}",
            f"{self.pick('array_distance', 'inner_product', 'cosine_distance')}(li, li) {self.compare()} {a}.5",
        )

    def made_list(self) -> str:
        a, b, c = self.count(), self.r.randint(-2, 3), self.r.randint(-3, 3)
        other = self.pick("li", f"[{a}, {b}]", "make_array(i64, 1)")
        return self.pick(
            "li",
            f"array_slice(li, {b}, {c})",
            f"array_slice(li, {b}, {c}, {self.pick('1', '2', '-1')})",
            f"array_{self.pick('union', 'intersect', 'except')}(li, {other})",
            f"array_replace{self.pick('', '_all')}(li, {a}, {self.pick(b, 'i64', 'NULL')})",
            f"array_remove_n(li, {a}, {c})",
            f"array_resize(li, {a}{self.pick('', f', {b}')})",
            "array_compact(li)",
            f"array_repeat(i64, {b})",
            f"range({self.pick('', '1, ', 'i32, ')}{self.count()})",
            f"generate_series({self.count()}, i32 % 50, {self.pick('1', '2', '-3')})",
            "flatten(make_array(li, li))",
        )

    def of_choice(self) -> str:
        return self.pick(
            "b",
            f"b IS {self.maybe_not()}{self.pick('TRUE', 'FALSE', 'NULL')}",
            f"coalesce(b, {self.pick('true', 'i32 > 2')})",
            f"coalesce(CASE WHEN {self.predicate()} THEN b ELSE NOT b END)",
            f"CAST({self.pick('i32', 'u8')} AS {self.pick('string', 'double', 'bigint')}) {self.compare()} {self.integer()}",
            f"TRY_CAST({self.pick('s', 'ls')} AS {self.pick('int', 'double', 'bigint')}) {self.compare()} {self.integer()}",
            f"arrow_cast({self.pick('i32', 'f64')}, 'Float32') {self.compare()} {self.integer()}",
        )
