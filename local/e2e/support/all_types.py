"""A table with a column of every type that a table can have, and extreme values, for texts of values."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa

PARTS = {"s": (1, 0), "ms": (10**3, 456), "us": (10**6, 456_789), "ns": (10**9, 456_789_123)}


def all_types() -> pa.Table:
    """Three rows and one of nulls. No text has two spaces in a row, and none is empty or longer than a line."""
    columns = {"id": pa.array([0, 1, 2, 3])}
    number = decimal.Decimal
    for unit, (per, rest) in PARTS.items():
        seconds = pa.array([1_709_168_523 * per + rest, -1_709_168_523 * per - rest, 0, None], pa.int64())
        for name, zone in {"plain": None, "utc": "UTC", "berlin": "Europe/Berlin", "offset": "+05:30"}.items():
            columns[f"{name}_{unit}"] = seconds.cast(pa.timestamp(unit, zone))
        columns[f"duration_{unit}"] = pa.array([3600 * per + 1, -1, 0, None], pa.int64()).cast(pa.duration(unit))
        of_day, width = pa.array([3723 * per + rest, 0, 86_400 * per - 1, None], pa.int64()), pa.time32 if per < 10**6 else pa.time64
        columns[f"time_{unit}"] = (of_day.cast(pa.int32()) if per < 10**6 else of_day).cast(width(unit))
    days = [dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31), None]
    half = np.array([0.1, 65504, 6e-8], np.float16)
    columns |= {
        "date32": pa.array(days, pa.date32()), "date64": pa.array(days, pa.date64()),
        "decimal128": pa.array([number("12.30"), number("-0.05"), number("99999999.99"), None], pa.decimal128(10, 2)),
        "decimal_wide": pa.array([number("9" * 38), number("-" + "9" * 38), number(0), None], pa.decimal128(38, 0)),
        "decimal256": pa.array([number("9" * 40 + ".0123456789"), number("-1.5"), number(0), None], pa.decimal256(76, 10)),
        "binary": pa.array([b"abc", b"", b"\0", None], pa.binary()), "large_binary": pa.array([b"abc", b"", b"\0", None], pa.large_binary()),
        "fixed": pa.array([b"abc", b"\0\1\2", b"\xff" * 3, None], pa.binary(3)),
        "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None], pa.int8()), pa.array(["x", "y"])),
        "float16": pa.array([*half, None], pa.float16()), "float32": pa.array([0.1, 3.4028235e38, 1e-45, None], pa.float32()),
        "float64": pa.array([0.1, 1.7976931348623157e308, 5e-324, None]), "odd": pa.array([float("nan"), float("inf"), float("-inf"), None]),
        "large": pa.array([1e21, 123456789.123456789, -0.0, 1e-7]), "small": pa.array([1e20, 1e6, 100.0, 1e-5]), "single": pa.array([1e20, 1e6, 16777216.0, 1e-5], pa.float32()),
        "bool": pa.array([True, False, True, None]), "text": pa.array(["a", "null", 'q"', None]), "large_text": pa.array(["ä€", "b", "c", None], pa.large_string()),
        "list": pa.array([[1, 2**60], [], [None], None], pa.list_(pa.int64())), "floats": pa.array([[0.1, 0.2], [], [None], None], pa.list_(pa.float32())),
        "large_list": pa.array([[0.1, float("nan")], [], [None], None], pa.large_list(pa.float64())),
        "dates": pa.array([[days[0]], [], [None], None], pa.list_(pa.date32())),
        "decimals": pa.array([[number("1.50")], [], [None], None], pa.list_(pa.decimal128(10, 2))),
        "binaries": pa.array([[b"ab"], [], [None], None], pa.list_(pa.binary())),
        "struct": pa.array([{"a": 2**60, "b": 0.1}, {"a": None}, {}, None], pa.struct({"a": pa.int64(), "b": pa.float32()})),
        "times": pa.array([{"at": dt.datetime(2024, 2, 29, 1, 2, 3, 4000)}, {}, {"at": None}, None], pa.struct({"at": pa.timestamp("ms", "UTC")})),
        "vector": pa.array([[0.1, 0.2, 0.3], [1, 2, 3], [1e-7, 0, 1], None], pa.list_(pa.float32(), 3)),
        "halves": pa.array([half, half, half, None], pa.list_(pa.float16(), 3)), "bytes": pa.array([[1, 255], [0, 1], [2, 3], None], pa.list_(pa.uint8(), 2)),
    }
    for bits in (8, 16, 32, 64):
        columns[f"int{bits}"] = pa.array([2 ** (bits - 1) - 1, -(2 ** (bits - 1)), 0, None], f"int{bits}")
        columns[f"uint{bits}"] = pa.array([2**bits - 1, 0, 1, None], f"uint{bits}")
    return pa.table(columns)


# Texts of the first row, which both must show.
TEXTS = {
    "berlin_us": "2024-02-29T02:02:03.456789+01:00", "plain_ns": "2024-02-29T01:02:03.456789123", "time_us": "01:02:03.456789", "date32": "2024-02-29",
    "decimal128": "12.30", "duration_ms": "3600001ms", "float64": "0.1", "int64": "9223372036854775807", "uint64": "18446744073709551615",
    "vector": "[0.1, 0.2, 0.3]", "fixed": "616263", "binary": "3 bytes", "decimals": '["1.50"]', "dictionary": "x", "odd": "NaN",
}

# Types whose words in the protocol leave something out.
TYPES = {
    "berlin_us": "timestamp[us, tz=Europe/Berlin]", "plain_ns": "timestamp[ns]", "time_ms": "time32[ms]", "duration_s": "duration[s]",
    "decimal128": "decimal128(10,2)", "decimals": "list<decimal128(10,2)>", "dictionary": "dictionary<int8, utf8>",
}
