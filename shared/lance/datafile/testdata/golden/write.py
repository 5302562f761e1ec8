"""Writes the golden data files beside this script. Needs pylance 14.0.2 and pyarrow."""

import decimal
import glob
import os
import random
import shutil
import tempfile

import lance
import pyarrow as pa
import pyarrow.ipc as ipc

HERE = os.path.dirname(os.path.abspath(__file__))
rng = random.Random(7)


def some(n, value, nulls=0.2):
    return [None if rng.random() < nulls else value() for _ in range(n)]


def items(value, most=5):
    def make():
        return [] if rng.random() < 0.2 else some(rng.randint(1, most), value, 0.1)

    return make


small = lambda: rng.randint(0, 20)
floats = lambda n: lambda: [float(rng.randint(0, 9)) for _ in range(n)]
holes = lambda: [None if rng.random() < 0.2 else float(i) for i in range(8)]
pairs = lambda: some(3, lambda: some(2, small, 0.2), 0.2)
ints = pa.list_(pa.int32())

# name: (type, rows, versions)
CASES = {
    "worked_int": (pa.int32(), [5, 1, 3], "2.2"),
    "worked_list": (ints, [[1, 2], None, [], [None, 3]], "2.2"),
    "worked_string": (pa.string(), ["ab", None, "cde"], "2.2"),
    "packed": (pa.int32(), some(1025, small), "2.1 2.2"),
    "flags": (pa.bool_(), some(1025, lambda: rng.random() < 0.5), "2.1 2.2"),
    "all_null": (pa.string(), [None] * 70, "2.1 2.2"),
    "constant": (pa.decimal128(10, 2), some(65, lambda: decimal.Decimal("7.25")), "2.2"),
    "constant_string": (pa.string(), some(65, lambda: "same"), "2.2"),
    "dictionary": (pa.string(), some(1025, lambda: rng.choice(["red", "green", "blue"])), "2.1 2.2"),
    "long_binary": (pa.large_binary(), some(30, lambda: rng.randbytes(rng.randint(0, 600))), "2.1 2.2"),
    "vector": (pa.list_(pa.float32(), 64), some(20, floats(64)), "2.1 2.2"),
    "vector_plain": (pa.list_(pa.float32(), 64), some(20, floats(64), 0), "2.1 2.2"),
    "vector_holes": (pa.list_(pa.float32(), 8), some(65, holes), "2.2"),
    "vector_nested": (pa.list_(pa.list_(pa.int16(), 2), 3), some(65, pairs), "2.2"),
    "list_vector": (pa.list_(pa.list_(pa.float32(), 80)), some(15, items(floats(80), 3)), "2.1 2.2"),
    "list_empty": (ints, some(65, lambda: []), "2.1 2.2"),
    "list_list": (pa.list_(ints), some(1025, items(items(small))), "2.1 2.2"),
}


def main():
    for name, (kind, rows, versions) in CASES.items():
        table = pa.table({"c": pa.array(rows, kind)})
        with ipc.new_file(os.path.join(HERE, name + ".arrow"), table.schema) as out:
            out.write_table(table)
        for version in versions.split():
            with tempfile.TemporaryDirectory() as tmp:
                lance.write_dataset(table, tmp + "/t.lance", data_storage_version=version)
                (data,) = glob.glob(tmp + "/t.lance/data/*.lance")
                shutil.copy(data, os.path.join(HERE, f"{name}_v{version}.lance"))


main()
