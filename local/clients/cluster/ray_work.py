"""Work of Ray on a table of the service, on a cluster of four workers of which each step loses one.

    python ray_work.py URL TOKEN NAMESPACE ROWS

The last steps run beside other writers, between lines with "beside": true and "beside": false.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

os.environ.setdefault("LANCE_LOG", "error")
os.environ.setdefault("RAY_AUTH_MODE", "disabled")

import lance
import lance_namespace
import lance_ray
import pyarrow as pa
import pyarrow.compute as pc
import ray

from points import WORKERS, rows_of
from work import say, step

url, token, space, rows = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
catalog = {"uri": url, "header.x-api-key": token}
table = {"namespace_impl": "rest", "namespace_properties": catalog, "table_id": [space, "ray"]}
namespace = lance_namespace.connect("rest", catalog)
POOL = "ray::PoolActor.run_batch"


def dataset() -> lance.LanceDataset:
    return lance.dataset(namespace_client=namespace, table_id=table["table_id"])


def same(got, want) -> None:
    assert got == want, f"got {got}, want {want}"


def made(batch: pa.Table) -> pa.Table:
    return rows_of(batch["id"].to_numpy())


def made_with_all(batch: pa.Table) -> pa.Table:
    """Rows behind those of the table, with the columns that were added to it."""
    found = rows_of(batch["id"].to_numpy() + rows)
    return found.append_column("twice", pc.multiply(found["id"], 2)).append_column("length", pc.utf8_length(found["text"]))


def twice(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch([pc.multiply(batch["id"], 2)], ["twice"])


def length(batch: pa.Table) -> pa.Table:
    return pa.table({"length": pc.utf8_length(batch["text"]), "_rowaddr": batch["_rowaddr"]})


def write(make: Callable[[pa.Table], pa.Table], mode: str, files: int) -> None:
    ids = ray.data.range(rows, override_num_blocks=files)
    data = ids.map_batches(make, batch_format="pyarrow", batch_size=None)
    lance_ray.write_lance(data, mode=mode, min_rows_per_file=rows // files, max_rows_per_file=rows // files, **table)


def train() -> int:
    """Reads the vectors of half of the rows, as a training does."""
    read = lance_ray.read_lance(columns=["vector", "label"], filter="label < 50", **table)
    return int(read.map_batches(lambda batch: pa.table({"rows": [batch.num_rows]}), batch_format="pyarrow").sum("rows"))


def index(kind: str) -> None:
    if kind == "BTREE":
        lance_ray.create_scalar_index(column="id", index_type=kind, num_workers=WORKERS, **table)
    elif kind == "INVERTED":
        lance_ray.create_scalar_index(column="text", index_type=kind, num_workers=WORKERS, **table)
    else:
        # Four times fewer samples than usual: IVF_PQ otherwise needs 65,536 rows.
        lance_ray.create_index(column="vector", index_type=kind, num_partitions=max(4, rows // 8_192), sample_rate=64, num_sub_vectors=8, num_workers=WORKERS, **table)


def compact() -> None:
    lance_ray.compact_files(num_workers=WORKERS, compaction_options={"target_rows_per_fragment": rows // 4}, **table)


def has(column: str) -> bool:
    return column in dataset().schema.names


ray.init(address="local", num_cpus=WORKERS, object_store_memory=400_000_000, include_dashboard=False, log_to_driver=False, logging_level="error")
context = ray.data.DataContext.get_current()
context.enable_progress_bars, context.default_hash_shuffle_parallelism = False, WORKERS

step("write", "ray::MapBatches", lambda: write(made, "create", 4 * WORKERS))
same(dataset().count_rows(), rows)
same(step("training read", "ray::ReadLance", train), rows // 2)
step("add column", POOL, lambda: lance_ray.add_columns(transform=twice, read_columns=["id"], concurrency=WORKERS, **table), committed=lambda: has("twice"))
same(dataset().count_rows("twice = id * 2"), rows)
texts = lance_ray.read_lance(columns=["text"], with_metadata=True, **table).map_batches(length, batch_format="pyarrow")
step("merge column", "ray::ShuffleReduce", lambda: lance_ray.merge_columns_from(ds=texts, **table), committed=lambda: has("length"))
same(dataset().count_rows("length = length(text)"), rows)
step("compaction", POOL, compact)
same(len(dataset().get_fragments()), 4)
for kind in ("BTREE", "INVERTED", "IVF_PQ"):
    step(kind, POOL, lambda: index(kind))
same(dataset().count_rows(), rows)

say(beside=True)
step("append beside others", "ray::MapBatches", lambda: write(made_with_all, "append", 2 * WORKERS))
step("compaction beside others", POOL, compact)
step("BTREE beside others", POOL, lambda: index("BTREE"))
say(beside=False)
