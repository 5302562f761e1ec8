"""Ray, Spark and Daft on clusters of four workers of this machine, with tables of the service, whose credentials they
use and which decides about their commits. In each step one worker is killed. Later steps run while others append
and update rows through the service. What the clusters have built, the service uses: its answers are those of
native Lance.

The clusters take minutes to start and work, and so run only if CLUSTER_ROWS has a number of rows, such as 20000.
The seconds of each step are printed, beside those of the service for the same rows.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import recipes

FOLDER = pathlib.Path(__file__).parent / "cluster"
ROOT = FOLDER.parents[2]
sys.path.insert(0, str(FOLDER))

from points import DIMENSION, WORKERS, rows_of

ROWS = int(os.environ.get("CLUSTER_ROWS", "0"))
SECONDS = 3600
MAINTENANCE = 8  # runs after which nothing is left to merge
OTHERS = 1_000_000_000  # ids of rows of other writers begin here
ENVIRONMENT = {"RAY_worker_niceness": "0", "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_SUBMIT_ARGS": "--conf spark.ui.enabled=false pyspark-shell"}

pytestmark = [
    pytest.mark.skipif(not ROWS, reason="clusters of four workers take minutes: CLUSTER_ROWS=20000 tests them"),
    pytest.mark.seconds(SECONDS),
]


class Others(threading.Thread):
    """Appends rows to a table through the service, and changes two rows of the cluster, until it is stopped."""

    def __init__(self, table):
        super().__init__()
        self.table = table
        self.appended = 0
        self.updated: list[int] = []
        self.failure: Exception | None = None
        self.stopped = threading.Event()

    def run(self) -> None:
        try:
            while not self.stopped.wait(0.2):
                rows = rows_of(np.arange(OTHERS + self.appended, OTHERS + self.appended + 10))
                self.table.add(completed(rows, self.table.schema))
                self.appended += 10
                if self.appended % 50 == 0 and len(self.updated) < 2:
                    row = len(self.updated)
                    self.table.update(where=f"id = {row}", values={"label": 1_000 + row})
                    self.updated.append(row)
        except Exception as failure:
            self.failure = failure


def completed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with the columns that the cluster has added."""
    computed = {"twice": lambda: pc.multiply(rows["id"], 2), "length": lambda: pc.utf8_length(rows["text"])}
    for name in schema.names[len(rows.schema.names) :]:
        rows = rows.append_column(name, computed[name]())
    return rows.cast(schema)


class Work:
    """A table that a cluster works on, as the service and native Lance see it."""

    def __init__(self, server, space: str, name: str, report):
        self.server, self.path, self.report = server, [space, name], report
        self.steps: list[dict] = []
        self.others: Others | None = None

    def remote(self):
        return self.server.lancedb(client_config={}).open_table(self.path[-1], namespace_path=self.path[:-1])

    def native(self) -> lance.LanceDataset:
        return lance.dataset(namespace_client=self.server.namespace(), table_id=self.path)

    def run(self, command: list[str], folder: pathlib.Path, **environment: str) -> None:
        """Runs a program of the folder cluster, and other writers when it says so."""
        log = folder / "log"
        command = [*command[:-1], str(FOLDER / command[-1]), self.server.url, self.server.token, self.path[0], str(ROWS)]
        with log.open("w") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder, env=os.environ | ENVIRONMENT | environment) as process:
            try:
                for line in process.stdout:
                    if line.startswith("{"):
                        self.hear(json.loads(line))
            finally:
                if self.others:
                    self.others.stopped.set()
                    self.others.join()
        self.report(self.path[-1], self.steps)
        assert process.returncode == 0, f"{command} ended with {process.returncode}:\n{log.read_text()[-5000:]}"

    def hear(self, said: dict) -> None:
        if "step" in said:
            self.steps.append(said)
        elif said["beside"]:
            self.check()
            self.others = Others(self.remote())
            self.others.start()
        else:
            self.others.stopped.set()

    def check(self) -> None:
        """At one version, the service finds what native Lance finds, and by the indices of the cluster."""
        native, remote = self.native(), self.remote()
        remote.checkout(native.version)
        indices = {index.name: index.index_type for index in remote.list_indices()}
        assert set(indices) >= {"id_idx", "text_idx"}, indices
        assert remote.count_rows() == native.count_rows()

        for where in ("id = 7", f"id > {ROWS - 30}", "id IN (3, 4, -1) OR id = 5"):
            found = remote.search().where(where).select(["id", "label"])
            assert "id_idx" in found.explain_plan(), found.explain_plan()
            assert ordered(found.to_arrow()) == ordered(native.to_table(columns=["id", "label"], filter=where))
            assert "ScalarIndexQuery" in native.scanner(filter=where).explain_plan()

        words = " ".join(native.take([5], columns=["text"])["text"][0].as_py().split()[:2])
        found = remote.search(words, query_type="fts", fts_columns="text").select(["id"]).limit(ROWS)
        assert "text_idx" in found.explain_plan(), found.explain_plan()
        want = scores(native.to_table(columns=["id", "_score"], full_text_query=words, limit=ROWS))
        assert want and scores(found.to_arrow()) == pytest.approx(want, rel=1e-4)

        if "vector_idx" in indices:
            vector = rows_of(np.arange(1)).column("vector")[0].as_py()
            found = remote.search(vector).select(["id", "_distance"]).nprobes(1_000).limit(20)
            assert "SearchIndex: index=vector_idx" in found.explain_plan(), found.explain_plan()
            want = native.to_table(columns=["id", "_distance"], nearest={"column": "vector", "q": vector, "k": 20, "nprobes": 1_000})
            got = found.to_arrow()
            assert got["_distance"].to_pylist() == pytest.approx(want["_distance"].to_pylist(), rel=1e-3)
            assert len(set(got["id"].to_pylist()) & set(want["id"].to_pylist())) >= 19  # two may be equally far

    def check_nothing_lost(self, rows: int) -> None:
        """All rows of the cluster are there, as are those that others have appended and changed meanwhile."""
        assert self.others and not self.others.failure, self.others.failure
        native, remote = self.native(), self.remote()
        assert self.others.appended > 0 and self.others.updated
        for table in (native, remote):
            assert table.count_rows(f"id >= {OTHERS}") == self.others.appended
            assert table.count_rows() == rows + self.others.appended
        changed = remote.search().where("label >= 1000").select(["id", "label"]).to_arrow()
        assert ordered(changed) == [{"id": row, "label": 1_000 + row} for row in self.others.updated]
        assert len(set(remote.search().select(["id"]).to_arrow()["id"].to_pylist())) == remote.count_rows(), "no row is there twice"
        self.check()

    def check_maintenance(self, wire) -> None:
        """Maintenance merges the segments that the cluster has built, and then compacts the files, in several runs:
        only files with the same segments are compacted. A segment that is four times larger than the next stays."""
        rows = self.remote().count_rows()
        for _ in range(MAINTENANCE):
            report = maintain(wire, "$".join(self.path), compact=True, indices=True)
            if not report["fragments_removed"] and not report["indices_folded"]:
                break
        remote = self.remote()
        assert remote.count_rows() == rows
        assert max(remote.index_stats(index.name).num_indices for index in remote.list_indices()) < WORKERS
        assert len(self.native().get_fragments()) < WORKERS
        self.check()


def ordered(table: pa.Table) -> list[dict]:
    return table.sort_by("id").to_pylist()


def scores(table: pa.Table) -> dict[int, float]:
    return dict(zip(table["id"].to_pylist(), table["_score"].to_pylist()))


@pytest.fixture
def report(record_property):
    """Notes the steps of a cluster for the summary (conftest.py)."""

    def note(engine: str, steps: list[dict]) -> None:
        record_property("figures", f"{engine}, {ROWS} rows")
        for step in steps:
            tries = f"; {step['tries']} tries: {step['error']}" if step["error"] else ""
            killed = "; a worker killed" if step["killed"] else ""
            record_property("figures", f"  {step['step']:26}{step['seconds']:8} s, {step['cpu']} s of processor{killed}{tries}")

    return note


def killed(steps: list[dict]) -> list[str]:
    return [step["step"] for step in steps if step["killed"]]


def test_ray(server, managed_space, tmp_path, report, wire):
    work = Work(server, managed_space, "ray", report)
    work.run([sys.executable, "ray_work.py"], tmp_path)
    assert {"write", "BTREE", "INVERTED", "IVF_PQ", "compaction"} <= set(killed(work.steps))
    work.check_nothing_lost(2 * ROWS)
    work.check_maintenance(wire)


def test_daft(server, managed_space, tmp_path, report, wire):
    work = Work(server, managed_space, "daft", report)
    work.run([sys.executable, "daft_work.py"], tmp_path)
    assert {"write", "compaction"} <= set(killed(work.steps))
    work.check_nothing_lost(2 * ROWS)
    work.check_maintenance(wire)


def test_spark(server, managed_space, tmp_path, report, installed, wire):
    installed("spark")
    (tmp_path / "jars").symlink_to(recipes.run([str(ROOT / "scripts" / "jars.sh"), "local/clients/spark"]).strip())
    work = Work(server, managed_space, "spark", report)
    # ADD COLUMNS does not use the credentials that the service gives: docs/clients/spark.md.
    options = wire.post(f"/v1/table/{managed_space}$other/declare", {}).json.get("storage_options", {})
    work.run([str(ROOT / "scripts" / "pyspark.sh"), "spark_work.py"], tmp_path, **{name.upper(): value for name, value in options.items()})
    assert len(killed(work.steps)) > 6
    work.check_nothing_lost(ROWS * 5 // 2)
    work.check_maintenance(wire)


def test_the_service_alone(server, space, wire, report):
    """The same work by the service, for comparison."""
    remote, steps = None, []

    def step(name: str, work) -> None:
        began, processor = time.monotonic(), used(server)
        work()
        steps.append({"step": name, "seconds": round(time.monotonic() - began, 1), "cpu": round(used(server) - processor, 1), "killed": "", "tries": 1, "error": ""})

    def write() -> None:
        nonlocal remote
        remote = server.lancedb().create_table("own", schema=rows_of(np.arange(1)).schema, namespace_path=[space])
        for part in np.array_split(np.arange(ROWS), 16):
            remote.add(rows_of(part))

    def index(column: str, **parameters) -> None:
        answer = wire.post(f"/v1/table/{space}$own/create_index", {"column": column, "name": f"{column}_idx", **parameters})
        assert answer.status == 200, answer.body
        until(lambda: remote.index_stats(f"{column}_idx") is not None and remote.index_stats(f"{column}_idx").num_unindexed_rows == 0)

    step("write", write)
    step("compaction", lambda: maintain(wire, f"{space}$own", compact=True))
    step("BTREE", lambda: index("id", index_type="BTREE"))
    step("INVERTED", lambda: index("text", index_type="FTS"))
    step("IVF_PQ", lambda: index("vector", index_type="IVF_PQ", num_partitions=max(4, ROWS // 8_192), num_sub_vectors=DIMENSION // 4))
    report("service", steps)
    assert remote.count_rows() == ROWS


def used(server) -> float:
    """Seconds of processor time of the server and of this process; none are known of functions."""
    mine = os.times()
    if server.process is None:
        return 0.0
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(") ")[2].split()
    return mine.user + mine.system + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def maintain(wire, table: str, **order) -> dict:
    """Maintains a table and returns the report."""
    job = wire.post(f"/v1/table/{table}/maintain", order).json["job_id"]
    until(lambda: wire.post("/v1/jobs/describe", {"job_id": job}).json["job_state"] == "DONE")
    return wire.post("/v1/jobs/describe", {"job_id": job}).json["result"]


def until(done) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.1)
