"""Writes the tables of this folder with native Lance (pylance 14.0.2).

    python write.py <fixtures> <out>

Only manifests, transactions and deletion files are kept: <out>/<table>/... Tables that
the shared fixtures have already are copied from <fixtures>. What native Lance reads in
each version is written to <out>/expected.json.
"""

import datetime
import json
import pathlib
import shutil
import sys
import tempfile

import lance
import numpy as np
import pyarrow as pa

KEPT = ("_versions", "_transactions", "_deletions")


def describe(path: pathlib.Path) -> list:
    """What native Lance says about each version."""
    ds = lance.dataset(str(path))
    versions = []
    for v in ds.versions():
        at = ds.checkout_version(v["version"])
        version = {
            "version": v["version"],
            "timestamp": int(v["timestamp"].timestamp()),
            "operation": type(ds.read_transaction(v["version"]).operation).__name__,
            "columns": {f.name: str(f.type) for f in at.schema},
            "fragments": [[f.fragment_id, f.physical_rows, f.num_deletions] for f in at.get_fragments()],
            "indices": sorted(i["name"] for i in at.list_indices()),
        }
        if at.has_stable_row_ids:
            rows = at.to_table([], with_row_id=True, with_row_address=True)
            lineage = at.to_table(["_row_created_at_version", "_row_last_updated_at_version"])
            for column in rows.column_names:
                version[column] = rows[column].to_pylist()
            for column in lineage.column_names:
                version[column] = lineage[column].to_pylist()
        versions.append(version)
    return versions


def keep(table: pathlib.Path, out: pathlib.Path) -> None:
    for part in KEPT:
        source = table / part
        if source.exists():
            shutil.copytree(source, out / table.stem / part, dirs_exist_ok=True)
    (out / table.stem / "_versions" / "latest_version_hint.json").unlink(missing_ok=True)


def rows(n: int, start: int = 0) -> pa.Table:
    ids = np.arange(start, start + n)
    return pa.table({"id": pa.array(ids), "s": pa.array([f"v{i}" for i in ids])})


def deletions(path: str) -> None:
    """Many deleted rows: a bitmap with runs, then without."""
    ds = lance.write_dataset(rows(20_000), path)
    ds.delete("id >= 2000 and id < 9000")
    ds.delete("id % 3 = 0")


def indices(path: str) -> None:
    """Two indices, appended rows that they do not cover."""
    ds = lance.write_dataset(rows(300), path)
    ds.create_scalar_index("id", "BTREE")
    ds.create_scalar_index("s", "BITMAP")
    ds.insert(rows(10, 300))


def rowids(path: str) -> None:
    """Stable row ids through updates, deletes and compaction."""
    ds = lance.write_dataset(rows(300), path, enable_stable_row_ids=True, max_rows_per_file=100)
    ds.update({"s": "'u'"}, where="id % 5 = 0")
    ds.delete("id % 7 = 0")
    ds.update({"s": "'w'"}, where="id in (3, 250, 9)")
    ds.optimize.compact_files(target_rows_per_fragment=1000)


def operations(path: str) -> None:
    """One commit of every kind that the Python API can make."""
    ds = lance.write_dataset(rows(100), path, max_rows_per_file=50)
    ds.merge(pa.table({"id": pa.array(range(100)), "m": pa.array(range(100))}), "id")
    ds.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(
        pa.table({"id": [1, 1000], "s": ["x", "y"], "m": [1, 2]})
    )
    ds.update_config({"a": "b", "lance.auto_cleanup.interval": "20"})
    ds.delete_config_keys(["a"])
    ds.alter_columns({"path": "m", "name": "n"})
    ds.drop_columns(["n"])
    ds.optimize.compact_files()
    lance.dataset(path, version=3).restore()
    ds = lance.dataset(path)
    ds.create_branch("dev")
    ds.cleanup_old_versions(older_than=datetime.timedelta(days=1000))


def main(fixtures: pathlib.Path, out: pathlib.Path) -> None:
    expected = {}
    for table in sorted(fixtures.glob("*.lance")):
        keep(table, out)
        expected[table.stem] = describe(table)
    with tempfile.TemporaryDirectory() as scratch:
        for write in (deletions, indices, rowids, operations):
            path = pathlib.Path(scratch) / f"{write.__name__}.lance"
            write(str(path))
            keep(path, out)
            expected[path.stem] = describe(path)
            branch = path / "tree" / "dev"
            if branch.exists():
                shutil.copytree(branch / "_versions", out / "branch" / "_versions", dirs_exist_ok=True)
                (out / "branch" / "_versions" / "latest_version_hint.json").unlink(missing_ok=True)
    (out / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
