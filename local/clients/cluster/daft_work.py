"""Work of Daft on a table of the service, on a cluster of four nodes of Ray, of which each step loses a worker.

    python daft_work.py URL TOKEN NAMESPACE ROWS

The last steps run beside other writers, between lines with "beside": true and "beside": false.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("LANCE_LOG", "error")
os.environ.setdefault("RAY_AUTH_MODE", "disabled")

import daft
import daft_lance
import lance
import lance_namespace
import numpy as np
import ray
from ray.cluster_utils import Cluster

from points import WORKERS, rows_of
from work import say, step

url, token, space, rows = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
catalog = {"uri": url, "header.x-api-key": token}
table = {"namespace_impl": "rest", "namespace_properties": catalog, "table_id": [space, "daft"]}
namespace = lance_namespace.connect("rest", catalog)
WORKER = "ray::RaySwordfishActor"


def dataset() -> lance.LanceDataset:
    return lance.dataset(namespace_client=namespace, table_id=table["table_id"])


def same(got, want) -> None:
    assert got == want, f"got {got}, want {want}"


def write(start: int, mode: str, more: bool = False) -> None:
    found = daft.from_arrow([rows_of(part) for part in np.array_split(np.arange(start, start + rows), 2 * WORKERS)])
    found = found.into_partitions(2 * WORKERS)
    daft_lance.write_lance(found.with_column("twice", daft.col("id") * 2) if more else found, mode=mode, **table)


def train() -> int:
    """Reads the vectors of half of the rows, as a training does."""
    read = daft_lance.read_lance(**table).where("label < 50").select(daft.col("vector").get(0).alias("first"))
    return read.count(daft.col("first")).to_pydict()["first"][0]


def merge() -> None:
    found = daft_lance.read_lance(default_scan_options={"with_row_address": True}, include_fragment_id=True, **table)
    daft_lance.merge_columns_df(found.with_column("twice", daft.col("id") * 2).select("_rowaddr", "fragment_id", "twice"), **table)


def index(kind: str) -> None:
    daft_lance.create_scalar_index(column="id" if kind == "BTREE" else "text", index_type=kind, num_partitions=WORKERS, fragment_group_size=2, **table)


def compact() -> None:
    daft_lance.compact_files(compaction_options={"target_rows_per_fragment": rows // 4}, partition_num=WORKERS, **table)


cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False})
for _ in range(WORKERS - 1):
    cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
daft.set_runner_ray(noop_if_initialized=True)

step("write", WORKER, lambda: write(0, "create"), committed=lambda: dataset().count_rows() == rows)
same(dataset().count_rows(), rows)
same(step("training read", WORKER, train), rows // 2)
step("merge column", WORKER, merge, committed=lambda: "twice" in dataset().schema.names)
same(dataset().count_rows("twice = id * 2"), rows)
step("compaction", WORKER, compact)
step("BTREE", WORKER, lambda: index("BTREE"))
step("INVERTED", WORKER, lambda: index("INVERTED"))
same(dataset().count_rows(), rows)

say(beside=True)
step("append beside others", WORKER, lambda: write(rows, "append", more=True))
step("compaction beside others", WORKER, compact)
step("BTREE beside others", WORKER, lambda: index("BTREE"))
say(beside=False)
