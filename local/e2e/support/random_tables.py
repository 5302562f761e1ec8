"""Random schemas of every type that native Lance stores, and random rows for them, from a seed.

Rows are built as arrays and not as lists of values, which is fast and can put any bytes under a
null. The values of each column follow a pattern (a few repeated values, runs, a sequence,
extremes, noise), because a writer chooses its encoding by that.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from lance.arrow import BFloat16Type

WORDS = ["", "a", "o'Brien", "100% wool", "back\\slash", "naïve café", "東京", "🙂", "\x00", "Grace Hopper", " "]
ZONES = [None, "UTC", "Europe/Berlin", "+05:30"]
# Row counts around the sizes of chunks and of the SIMD blocks of bit packing.
LENGTHS = [0, 1, 2, 7, 64, 100, 129, 300, 1023, 1024, 1025, 2500, 4097]
LENGTH_WEIGHTS = [2, 4, 4, 14, 14, 18, 14, 14, 3, 3, 3, 4, 3]

_INTEGERS = [getattr(pa, f"{kind}{bits}")() for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
_UNITS = ["s", "ms", "us", "ns"]

LEAVES = {
    "integer": lambda g: g.pick(_INTEGERS),
    "float": lambda g: g.pick([pa.float16(), pa.float32(), pa.float64()]),
    "bool": lambda g: pa.bool_(),
    "text": lambda g: g.pick([pa.string(), pa.large_string(), pa.string_view()]),
    "binary": lambda g: g.pick([pa.binary(), pa.large_binary(), pa.binary_view()]),
    "date": lambda g: g.pick([pa.date32(), pa.date64()]),
    "time": lambda g: g.pick([pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]),
    "timestamp": lambda g: pa.timestamp(g.pick(_UNITS), tz=g.pick(ZONES)),
    "duration": lambda g: pa.duration(g.pick(_UNITS)),
    "decimal128": lambda g: pa.decimal128(*g.pick([(1, 0), (9, 2), (20, 3), (38, 10), (38, -2)])),
    "decimal256": lambda g: pa.decimal256(*g.pick([(39, 0), (60, 5), (76, 40)])),
    "fixed binary": lambda g: pa.binary(g.pick([1, 2, 3, 5, 8, 16, 300])),
    "dictionary": lambda g: pa.dictionary(g.pick(_INTEGERS[:7]), g.pick([pa.string(), pa.large_string()])),
    "vector": lambda g: pa.list_(g.vector_item(), g.pick([1, 2, 3, 8, 33, 200])),
    "null": lambda g: pa.null(),
    "extension": lambda g: g.pick(
        [pa.uuid(), pa.bool8(), BFloat16Type(), pa.fixed_shape_tensor(pa.float32(), [2, 3]), pa.json_()]
    ),
}


class Generator:
    """Makes schemas and rows. version is that of the data files they are for, such as 2.1."""

    def __init__(self, seed: int, version: str, left_out):
        """left_out returns whether a type must be left out."""
        self.random = np.random.default_rng(seed)
        self.version = version
        self._left_out = left_out

    def pick(self, options, weights=None):
        share = None if weights is None else np.array(weights) / sum(weights)
        return options[self.random.choice(len(options), p=share)]

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    # Schemas

    def schema(self) -> pa.Schema:
        """An id, which is never null, and a few columns of any type."""
        count = self.random.integers(1, 7)
        columns = [self.field(name) for name in self.names(count)]
        metadata = self.metadata() if self.chance(0.3) else None
        return pa.schema([pa.field("id", pa.int64(), nullable=self.chance(0.5)), *columns], metadata=metadata)

    def names(self, count: int) -> list[str]:
        return [self.pick(["c", "C", "the column ", "ö", "_", "select"]) + str(i) for i in range(count)]

    def field(self, name: str) -> pa.Field:
        type_ = self.type()
        metadata = self.metadata() if self.chance(0.15) else {}
        metadata |= self.hints(type_) if self.chance(0.2) else {}
        # pyarrow keeps extension types in the metadata too, where a field's own would hide them.
        if isinstance(type_, pa.BaseExtensionType):
            metadata = {}
        return pa.field(name, type_, nullable=type_ == pa.null() or self.chance(0.85), metadata=metadata or None)

    def metadata(self) -> dict[str, str]:
        texts = ["", "mm", "ä ö", "x" * 300, '{"a": 1}']
        return {self.pick(["unit", "note", "a:b", "ключ"]): self.pick(texts) for _ in range(self.random.integers(1, 4))}

    def hints(self, type_: pa.DataType) -> dict[str, str]:
        """The options of native Lance for the encoding of a column."""
        if pa.types.is_struct(type_):
            return {"lance-encoding:packed": "true"} if _packable(type_) else {}
        if pa.types.is_nested(type_):
            return {}
        hints = {"lance-encoding:compression": self.pick(["zstd", "lz4", "none", "fsst"])}
        if self.version != "2.0":
            hints |= self.pick(
                [
                    {},
                    {},
                    {"lance-encoding:structural-encoding": "fullzip"},
                    {"lance-encoding:structural-encoding": "miniblock"},
                    {"lance-encoding:bss": "on"},
                    {"lance-encoding:rle-threshold": "0.9"},
                ]
            )
        return hints

    def type(self, depth: int = 0, inside: str = "") -> pa.DataType:
        """Returns a type that this version can store."""
        while True:
            type_ = self._nested(depth, inside) if self.chance(0.35 - 0.1 * depth) else self._leaf()
            if not self._left_out(type_, inside):
                return type_

    def _leaf(self) -> pa.DataType:
        return LEAVES[self.pick(list(LEAVES))](self)

    def _nested(self, depth: int, inside: str) -> pa.DataType:
        kinds = ["list", "large_list", "struct", "struct"]
        if self.version == "2.2":
            kinds += ["map", "vector_of_structs"]
        kind = self.pick(kinds)
        within = f"{inside}/{kind}"
        if kind == "struct":
            return pa.struct([self._member(f"m{i}", depth, within) for i in range(self.random.integers(1, 4))])
        if kind == "map":
            keys = self.pick([pa.string(), pa.int32(), pa.int64()])
            return pa.map_(keys, self._member("value", depth, within))
        if kind == "vector_of_structs":
            members = [pa.field(f"m{i}", self._leaf()) for i in range(self.random.integers(1, 3))]
            return pa.list_(pa.struct(members), int(self.random.integers(1, 4)))
        item = self._member(self.pick(["item", "item", "element"]), depth, within)
        return (pa.list_ if kind == "list" else pa.large_list)(item)

    def _member(self, name: str, depth: int, inside: str) -> pa.Field:
        type_ = self.type(depth + 1, inside)
        metadata = self.metadata() if self.chance(0.05) and not isinstance(type_, pa.BaseExtensionType) else None
        return pa.field(name, type_, nullable=type_ == pa.null() or self.chance(0.8), metadata=metadata)

    def vector_item(self) -> pa.DataType:
        floats = [pa.float32(), pa.float32(), pa.float16(), pa.float64()]
        return self.pick([*floats, pa.int8(), pa.uint8(), pa.int32(), pa.bool_()])

    # Rows

    def length(self) -> int:
        return self.pick(LENGTHS, LENGTH_WEIGHTS)

    def table(self, schema: pa.Schema, count: int, start: int = 0) -> pa.Table:
        """Rows whose ids count from start."""
        columns = []
        for field in schema:
            if field.name == "id":
                columns.append(pa.array(range(start, start + count), field.type))
            else:
                columns.append(self.column(field, count))
        return pa.table(columns, schema=schema)

    def column(self, field: pa.Field, count: int) -> pa.Array:
        return self.values(field.type, count, self._nulls(field.nullable))

    def _nulls(self, nullable: bool) -> float:
        """Which part of the values is null."""
        return self.pick([0, 0, 0.03, 0.3, 0.95, 1], [30, 5, 20, 30, 5, 10]) if nullable else 0

    def values(self, type_: pa.DataType, count: int, nulls: float) -> pa.Array:
        if isinstance(type_, pa.BaseExtensionType):
            return self._extension(type_, count, nulls)
        if pa.types.is_null(type_):
            return pa.nulls(count)
        if pa.types.is_struct(type_) and self.version == "2.0":
            nulls = 0  # which 2.0 does not store
        mask = self.random.random(count) < nulls
        if pa.types.is_dictionary(type_):
            return self._dictionary(type_, count, mask)
        if pa.types.is_struct(type_):
            members = [self.column(f, count) for f in type_]
            return pa.StructArray.from_arrays(members, fields=list(type_), mask=pa.array(mask))
        if pa.types.is_fixed_size_list(type_):
            return self._fixed_size_list(type_, count, mask)
        if pa.types.is_map(type_) or pa.types.is_list(type_) or pa.types.is_large_list(type_):
            return self._list(type_, count, mask)
        if _has_lengths(type_):
            values = self._texts(count, type_ in (pa.string(), pa.large_string(), pa.string_view()))
            return pa.array([None if m else v for m, v in zip(mask, values)], type_)
        data = self._fixed_width(type_, count)
        return pa.Array.from_buffers(type_, count, [_bitmap(mask), pa.py_buffer(data)])

    def _extension(self, type_: pa.BaseExtensionType, count: int, nulls: float) -> pa.Array:
        if type_ == pa.json_():
            texts = ['{"a":[1,2.5,null]}', '"x"', "[]", "17", '{"b":{"c":true}}']
            values = [None if self.chance(nulls) else self.pick(texts) for _ in range(count)]
            return pa.ExtensionArray.from_storage(type_, pa.array(values, type_.storage_type))
        if pa.types.is_fixed_size_list(type_.storage_type):
            items = self.values(type_.storage_type.value_type, count * type_.storage_type.list_size, 0)
            mask = self.random.random(count) < nulls
            storage = self._fixed_size_list(type_.storage_type, count, mask, items)
        else:
            storage = self.values(type_.storage_type, count, nulls)
        return pa.ExtensionArray.from_storage(type_, storage)

    def _dictionary(self, type_: pa.DictionaryType, count: int, mask: np.ndarray) -> pa.Array:
        size = self.pick([1, 3, 20, 100])
        words = pa.array([f"word {i}" * self.pick([1, 1, 5]) for i in range(size)], type_.value_type)
        indices = pa.array(self.random.integers(0, size, count), type_.index_type, mask=mask)
        return pa.DictionaryArray.from_arrays(indices, words)

    def _fixed_size_list(self, type_, count: int, mask: np.ndarray, items: pa.Array | None = None) -> pa.Array:
        if items is None:
            nulls = self._nulls(type_.value_field.nullable) if self.chance(0.3) else 0
            items = self.values(type_.value_type, count * type_.list_size, nulls)
        return pa.FixedSizeListArray.from_arrays(items, type=type_, mask=pa.array(mask))

    def _list(self, type_: pa.DataType, count: int, mask: np.ndarray) -> pa.Array:
        longest = self.pick([1, 2, 5, 40] if count < 500 else [1, 3])
        lengths = self.random.integers(0, longest + 1, count)
        if count and self.chance(0.1):
            lengths[self.random.integers(count)] = 600
        if self.chance(0.7):
            lengths[mask] = 0  # otherwise there are items under nulls
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        total = int(offsets[-1])
        if pa.types.is_map(type_):
            # Keys of one map differ from each other.
            numbers = np.arange(total) - np.repeat(offsets[:-1], lengths)
            keys = pa.array([f"k{n}" for n in numbers] if type_.key_type == pa.string() else numbers, type_.key_type)
            items = self.column(type_.item_field, total)
            return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, items, type_, mask=pa.array(mask))
        items = self.column(type_.value_field, total)
        kind, width = (pa.LargeListArray, pa.int64()) if pa.types.is_large_list(type_) else (pa.ListArray, pa.int32())
        return kind.from_arrays(pa.array(offsets, width), items, type=type_, mask=pa.array(mask))

    def _texts(self, count: int, text: bool) -> list:
        """Strings or byte strings, of one habit."""
        habit = self.pick(["words", "numbered", "noise", "long", "huge", "same"], [30, 25, 20, 10, 5, 10])
        if habit == "words":
            pool = [self.pick(WORDS) + self.pick(["", "x", "y" * 40]) for _ in range(self.pick([2, 30]))]
        elif habit == "numbered":
            values = [f"row number {i * 7919 % 10007} of the table" for i in range(count)]
            return values if text else [v.encode() for v in values]
        elif habit == "same":
            pool = [self.pick([*WORDS, "z" * 500])]
        else:
            longest, many = {"noise": (12, 500), "long": (700, 20), "huge": (60_000, 2)}[habit]
            pool = [self._noise(int(self.random.integers(0, longest))) for _ in range(many)]
        if not text:
            pool = [p.encode() + bytes([self.random.integers(256)]) * (i % 3) for i, p in enumerate(pool)]
        if habit == "huge":  # among small ones
            pool += [pool[0][:3]] * 50
        return [pool[i] for i in self.random.integers(0, len(pool), count)]

    def _noise(self, length: int) -> str:
        alphabet = np.array(list(self.pick(["abcdefgh ", "0123456789abcdef", "aéß東"])))
        return "".join(alphabet[self.random.integers(0, len(alphabet), length)])

    def _fixed_width(self, type_: pa.DataType, count: int) -> bytes:
        """The data buffer of an array of a type of fixed width."""
        if pa.types.is_boolean(type_):
            return np.packbits(self._integers(count, 0, 1) == 1, bitorder="little").tobytes()
        if pa.types.is_decimal(type_):
            limit = 10**type_.precision - 1
            scale = self.pick([1, 1000, limit])
            draws = [min(scale, limit) * int(v) // 1000 for v in self._integers(count, -1000, 1000)]
            return b"".join(d.to_bytes(type_.bit_width // 8, "little", signed=True) for d in draws)
        if pa.types.is_fixed_size_binary(type_):
            pool = [self.random.bytes(type_.byte_width) for _ in range(self.pick([1, 10, 200]))]
            return b"".join(pool[i] for i in self.random.integers(0, len(pool), count))
        if pa.types.is_floating(type_):
            return self._floats(type_, count).tobytes()
        width = type_.bit_width
        low, high = -(2 ** (width - 1)), 2 ** (width - 1) - 1
        if pa.types.is_unsigned_integer(type_):
            low, high = 0, 2**width - 1
        elif pa.types.is_time(type_):
            low, high = 0, 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[type_.unit] - 1
        elif pa.types.is_date64(type_):
            return (self._integers(count, -100_000, 100_000) * 86_400_000).astype(np.int64).tobytes()
        dtype = np.dtype(f"{'u' if low == 0 and width > 0 and high > 2 ** (width - 1) else 'i'}{width // 8}")
        return self._integers(count, low, high).astype(dtype).tobytes()

    def _integers(self, count: int, low: int, high: int) -> np.ndarray:
        """Integers from low to high, both included, of one habit."""
        habit = self.pick(["noise", "small", "few", "sequence", "runs", "extremes", "same"])
        dtype = np.uint64 if high >= 2**63 else np.int64
        if habit == "noise":
            return self.random.integers(low, high, count, dtype, endpoint=True)
        if habit == "small":
            return self.random.integers(max(low, -50), min(high, 200), count, dtype, endpoint=True)
        if habit == "sequence":
            return (np.arange(count, dtype=dtype) * dtype(self.pick([1, 3]))) % dtype(min(high, 10**9) or 1)
        if habit == "runs":
            return np.repeat(self.random.integers(low, high, count // 40 + 1, dtype, endpoint=True), 40)[:count]
        pool = self.random.integers(low, high, self.pick([2, 60]), dtype, endpoint=True)
        if habit == "extremes":
            pool = np.array([low, high, low + 1, high - 1, max(low, 0)], dtype)
        elif habit == "same":
            pool = pool[:1]
        return pool[self.random.integers(0, len(pool), count)]

    def _floats(self, type_: pa.DataType, count: int) -> np.ndarray:
        dtype = {16: np.float16, 32: np.float32, 64: np.float64}[type_.bit_width]
        habit = self.pick(["normal", "bits", "few", "whole", "special", "same"])
        if habit == "bits":  # NaNs of all kinds, subnormals, infinities
            return np.frombuffer(self.random.bytes(count * type_.bit_width // 8), dtype)
        if habit == "special":
            pool = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0], dtype)
        elif habit in ("few", "same"):
            pool = self.random.normal(size=5 if habit == "few" else 1).astype(dtype)
        elif habit == "whole":
            return self.random.integers(-1000, 1000, count).astype(dtype)
        else:
            return self.random.normal(size=count).astype(dtype)
        return pool[self.random.integers(0, len(pool), count)]


def _has_lengths(type_: pa.DataType) -> bool:
    return type_ in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())


def _packable(type_: pa.StructType) -> bool:
    return all(pa.types.is_primitive(f.type) and not pa.types.is_boolean(f.type) and not f.nullable for f in type_)


def _bitmap(mask: np.ndarray) -> pa.Buffer | None:
    """Returns the validity bitmap with nulls where the mask is true."""
    return pa.py_buffer(np.packbits(~mask, bitorder="little").tobytes()) if mask.any() else None
