"""The size of our data files, compared with those that native Lance writes for the same rows.

Each shape is a column of one type, one pattern of its values, and the options of its field. It
is written in every storage version that can hold it. The sizes do not depend on chance or on
the machine, so a file that grows fails.
"""

from __future__ import annotations

import pathlib
import shutil

import lance
import numpy as np
import pyarrow as pa
import pytest

from wire import Wire

pytestmark = pytest.mark.engine

MOST = 1.1  # of native Lance's size,
SLACK = 256  # and so many bytes: what a page costs
ROWS = 10_000

STORAGE_VERSIONS = ("2.0", "2.1", "2.2")
SINCE_2_2 = {"map", "packed texts"}
NOT_IN_2_0 = {"struct with nulls"}


def _random() -> np.random.Generator:
    return np.random.default_rng(4)


def _nulls(array: pa.Array, part: float) -> pa.Array:
    mask = _random().random(len(array)) < part
    return pa.array([None if m else v for m, v in zip(mask, array.to_pylist())], array.type)


def _numbers(type_: str, habit: str, count: int = ROWS) -> pa.Array:
    random = _random()
    info = np.iinfo(type_)
    values = {
        "noise": lambda: random.integers(info.min, info.max, count, type_),
        "small": lambda: random.integers(0, 100, count),
        "signed": lambda: random.integers(-50, 50, count),
        "few": lambda: random.choice(random.integers(0, info.max, 20, type_), count),
        "runs": lambda: np.repeat(random.integers(0, info.max, count // 40 + 1, type_), 40)[:count],
        "sequence": lambda: np.arange(count) % info.max,
        "same": lambda: np.full(count, 42),
    }[habit]()
    return pa.array(values.astype(type_))


def _texts(habit: str, count: int = ROWS, type_: pa.DataType | None = None) -> pa.Array:
    random = _random()
    words = [f"{w}{i}" for i in range(40) for w in ("time", "year", "people", "way", "day")]
    values = {
        "few": lambda: [words[i] for i in random.integers(0, 5, count)],
        "some": lambda: [f"customer {i}" for i in random.integers(0, count // 10, count)],
        "distinct": lambda: [f"https://example.com/{words[i % 200]}/{i * 7919 % 100_003}" for i in range(count)],
        "sentences": lambda: [" ".join(words[i] for i in random.integers(0, 200, n)) for n in random.integers(0, 12, count)],
        "long": lambda: [" ".join(words[i] for i in random.integers(0, 200, 90)) for _ in range(count // 10)],
        "huge": lambda: [" ".join(words[i] for i in random.integers(0, 200, 9000)) for _ in range(10)],
        "tiny": lambda: [chr(97 + i) for i in random.integers(0, 26, count)],
        "noise": lambda: [random.bytes(n).hex() for n in random.integers(0, 20, count)],
    }[habit]()
    return pa.array(values, type_ or pa.string())


def _repeated(items: list, count: int, type_: pa.DataType) -> pa.Array:
    return pa.array(items, type_).take(pa.array(_random().integers(0, len(items), count)))


def _phrases(count: int, length: int) -> list[str]:
    """Texts of some length, which come from few words."""
    words = _texts("few").to_pylist() + _texts("distinct", 500).to_pylist()
    random = _random()
    return [" ".join(words[i] for i in random.integers(0, len(words), length // 10))[:length] for _ in range(count)]


def _bytes(longest: int, count: int) -> pa.Array:
    random = _random()
    return pa.array([random.bytes(n) for n in random.integers(0, longest, count)], pa.binary())


def _vectors(dimension: int, count: int = ROWS // 10) -> pa.Array:
    items = _random().normal(size=dimension * count).astype(np.float32)
    return pa.FixedSizeListArray.from_arrays(pa.array(items), dimension)


def _lists(items, longest: int, count: int = ROWS, empty: float = 0.0) -> pa.Array:
    lengths = _random().integers(0, longest + 1, count)
    lengths[_random().random(count) < empty] = 0
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items(int(offsets[-1])))


def _structs(count: int = ROWS, part: float = 0.0) -> pa.Array:
    members = [_numbers("int64", "small", count), _texts("sentences", count), _texts("few", count)]
    mask = pa.array(_random().random(count) < part) if part else None
    return pa.StructArray.from_arrays(members, ["n", "text", "kind"], mask=mask)


def _maps() -> pa.Array:
    lengths = _random().integers(0, 4, ROWS)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    keys = pa.array([f"k{i}" for n in lengths for i in range(n)])
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, _numbers("int32", "small", len(keys)))


def _packed(*members: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays(members, fields=[pa.field(f"m{i}", m.type, False) for i, m in enumerate(members)])


def _decimals(count: int = ROWS) -> pa.Array:
    return pa.array(range(count), pa.int64()).cast(pa.decimal128(20, 0))


def _shapes() -> dict:
    shapes: dict = {}
    for type_ in ("uint16", "int32", "int64"):
        for habit in ("noise", "small", "signed", "few", "runs", "sequence", "same"):
            shapes[f"{type_} {habit}"] = lambda t=type_, h=habit: _numbers(t, h)
    for habit in ("noise", "small", "runs", "sequence", "few"):
        for part in (0.05, 0.9):
            shapes[f"int32 {habit}, {part:.0%} null"] = lambda h=habit, p=part: _nulls(_numbers("int32", h), p)
            shapes[f"int64 {habit}, {part:.0%} null"] = lambda h=habit, p=part: _nulls(_numbers("int64", h), p)
    for habit in ("few", "some", "distinct", "sentences", "long", "huge", "tiny", "noise"):
        shapes[f"texts {habit}"] = lambda h=habit: _texts(h)
        shapes[f"large texts {habit}, 10% null"] = lambda h=habit: _nulls(_texts(h, type_=pa.large_string()), 0.1)
    for count in (10, 100, 1000):
        shapes[f"{count} numbers"] = lambda n=count: _numbers("int64", "small", n)
        shapes[f"{count} texts"] = lambda n=count: _texts("sentences", n)
        shapes[f"{count} lists"] = lambda n=count: _lists(lambda k: _numbers("int32", "small", k), 4, n)
    shapes |= {
        "million numbers": lambda: _numbers("int64", "small", 1_000_000),
        "hundred thousand texts": lambda: _texts("sentences", 100_000),
        "floats": lambda: pa.array(_random().normal(size=ROWS)),
        "prices": lambda: pa.array(np.round(_random().random(ROWS) * 1000, 2)),
        "half floats": lambda: pa.array(_random().normal(size=ROWS).astype(np.float16)),
        "booleans": lambda: pa.array(_random().random(ROWS) < 0.3),
        "booleans, 10% null": lambda: _nulls(pa.array(_random().random(ROWS) < 0.3), 0.1),
        "timestamps": lambda: pa.array(10**15 + np.cumsum(_random().integers(0, 10**6, ROWS)), pa.timestamp("us")),
        "decimals": _decimals,
        "fixed binary": lambda: pa.array([_random().bytes(16)] * 5 * (ROWS // 5), pa.binary(16)),
        "dictionary": lambda: _texts("few").dictionary_encode(),
        "nulls": lambda: pa.nulls(ROWS, pa.int32()),
        "null texts": lambda: pa.nulls(ROWS, pa.string()),
        "short binaries": lambda: _bytes(40, ROWS),
        "long binaries": lambda: _bytes(3000, 300),
        "vectors": lambda: _vectors(128),
        "short vectors": lambda: _vectors(8),
        "vectors, 10% null": lambda: _nulls(_vectors(16), 0.1),
        "lists of numbers": lambda: _lists(lambda n: _numbers("int32", "small", n), 10),
        "lists of runs": lambda: _lists(lambda n: _numbers("int32", "runs", n), 4),
        "lists of texts": lambda: _lists(lambda n: _texts("sentences", n), 5),
        "lists of few texts": lambda: _lists(lambda n: _texts("few", n), 5),
        "lists, 30% null": lambda: _nulls(_lists(lambda n: _numbers("int64", "small", n), 6), 0.3),
        "sparse lists": lambda: _lists(lambda n: _numbers("int32", "sequence", n), 1, 10 * ROWS, empty=0.96),
        "sparser lists": lambda: _lists(lambda n: _texts("sentences", n), 1, 10 * ROWS, empty=0.995),
        "lists of lists": lambda: _lists(lambda n: _lists(lambda k: _numbers("int32", "small", k), 3, n), 3),
        "lists of structs": lambda: _lists(_structs, 3),
        "struct": _structs,
        "struct with nulls": lambda: _structs(part=0.2),
        "map": _maps,
    }
    # More than a page in each of which most of the distinct ones are.
    shapes |= {
        "repeated long texts": lambda: _repeated(_phrases(1000, 1000), 24_000, pa.string()),
        "repeated huge texts": lambda: _repeated(_phrases(40, 80_000), 300, pa.large_string()),
        "repeated long texts, 10% null": lambda: _nulls(_repeated(_phrases(300, 5000), 4000, pa.string()), 0.1),
        "repeated long binaries": lambda: _repeated([_random().bytes(5000 + i) for i in range(300)], 5000, pa.binary()),
        "lists of repeated long texts": lambda: _lists(lambda n: _repeated(_phrases(300, 1000), n, pa.string()), 3, 15_000),
        "one huge text": lambda: pa.array(_phrases(1, 250_000) * 100),
    }
    asked = {
        "numbers": lambda: _numbers("int64", "small"),
        "sequence": lambda: _numbers("int64", "sequence"),
        "prices": lambda: pa.array(np.round(_random().random(ROWS) * 1000, 2)),
        "floats, 20% null": lambda: _nulls(pa.array(np.round(_random().random(ROWS), 2).astype(np.float32)), 0.2),
        "decimals": _decimals,
        "decimals, 20% null": lambda: _nulls(_decimals(), 0.2),
        "sentences": lambda: _texts("sentences"),
        "few texts": lambda: _texts("few"),
        "long texts": lambda: _texts("long"),
        "binaries": lambda: _bytes(40, ROWS),
        "lists": lambda: _lists(lambda n: _numbers("int32", "small", n), 10),
        "vectors": lambda: _vectors(16),
    }
    for name, column in asked.items():
        for scheme in ("zstd", "lz4", "none"):
            shapes[f"{scheme} {name}"] = (column, {"compression": scheme})
    shapes |= {
        "split floats, 20% null": (asked["floats, 20% null"], {"compression": "zstd", "bss": "on"}),
        "unsplit prices": (asked["prices"], {"compression": "zstd", "bss": "off"}),
        "texts by symbols": (asked["sentences"], {"compression": "fsst"}),
        "zipped texts": (asked["sentences"], {"structural-encoding": "fullzip"}),
        "zipped numbers": (asked["numbers"], {"structural-encoding": "fullzip"}),
        "dictionary unpacked": (lambda: _texts("some"), {"dict-values-compression": "none"}),
        "dictionary refused": (lambda: _texts("some"), {"dict-divisor": "100000"}),
        "packed numbers": (lambda: _packed(_numbers("int32", "noise"), _numbers("int64", "small")), {"packed": "true"}),
        "packed texts": (lambda: _packed(_numbers("int32", "noise"), _texts("sentences")), {"packed": "true"}),
    }
    return shapes


SHAPES = _shapes()


def _table(name: str) -> pa.Table:
    column, asks = SHAPES[name] if isinstance(SHAPES[name], tuple) else (SHAPES[name], {})
    values = column()
    metadata = {f"lance-encoding:{key}": value for key, value in asks.items()}
    return pa.table([values], schema=pa.schema([pa.field("c", values.type, metadata=metadata or None)]))


def _size(place: pathlib.Path) -> int:
    return sum(file.stat().st_size for file in place.glob("data/*.lance"))


@pytest.mark.many
@pytest.mark.parametrize("name", SHAPES)
def test_files_are_no_larger_than_those_of_native_lance(wire: Wire, outside: pathlib.Path, directory: pathlib.Path, space: str, name: str):
    table = _table(name)
    sizes = []
    for version in STORAGE_VERSIONS:
        if name in SINCE_2_2 and version != "2.2" or name in NOT_IN_2_0 and version == "2.0":
            continue
        ours, native = outside / f"{space}-{version}.lance", outside / f"{space}-{version}-native.lance"
        lance.write_dataset(table, native, data_storage_version=version)
        lance.write_dataset(table.slice(0, 0), ours, data_storage_version=version)
        path = f"/v1/table/{space}$v{version[-1]}"
        answer = wire.post(f"{path}/register", {"location": str(ours)})
        assert answer.status == 200, answer.body
        answer = wire.upload(f"{path}/insert?mode=append", table)
        assert answer.status == 200, answer.body
        sizes.append((version, _size(ours), _size(native)))
        shutil.rmtree(ours)
        shutil.rmtree(native)
    plain = table.nbytes
    for version, got, want in sizes:
        assert got <= MOST * want + SLACK, f"version {version}: {got} bytes, native Lance {want}: {sizes}"
        # What cannot be compressed has the size of the rows and what native Lance adds to them.
        assert got <= 1.01 * max(plain, want) + SLACK, f"version {version}: {got} bytes, the rows {plain}, native Lance {want}"
