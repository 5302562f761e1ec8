"""Milvus Lite: its server, which is written in Python, in a process of its own, and clients of it."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pymilvus

from peers.engine import CONSIDERED, EDGES, NEAREST, Client, Data, Engine, Kind, ladder

# Runs the server that pymilvus would start in the process of a client. It ends with its standard input.
SERVE = """
import sys
from milvus_lite.server_manager import server_manager_instance as servers
print(servers.start_and_get_uri(sys.argv[1]), flush=True)
sys.stdin.read()
"""
STEP = 5_000  # rows of a message
WIDTHS = [10, 20, 40, 60, 80, 120, 160, 240, 400, 800]
GRAPH = {"M": EDGES, "efConstruction": CONSIDERED}


class MilvusClient(Client):
    def __init__(self, uri: str):
        self.uri = uri

    def open(self) -> None:
        self.milvus = pymilvus.MilvusClient(self.uri)

    def calls(self, effort: dict, queries: np.ndarray) -> list[Callable]:
        params = {"metric_type": "L2", "params": effort}
        search = lambda q: self.milvus.search("vectors", data=[q], anns_field="vector", limit=NEAREST, search_params=params, output_fields=["id"])
        return [lambda q=q: search(q) for q in queries]

    def ids(self, answer) -> list[int]:
        return [hit["id"] for hit in answer[0]]

    def close(self) -> None:
        self.milvus.close()


class Milvus(Engine):
    KINDS = [
        Kind("HNSW", ladder(ef=WIDTHS), GRAPH),
        Kind("HNSW_SQ", ladder(ef=WIDTHS), GRAPH | {"sq_type": "SQ8"}),
        Kind("IVF_SQ8", ladder(nprobe=[1, 2, 5, 10, 20, 40, 80]), {"nlist": 316}),
        Kind("FLAT", [{}]),
    ]
    CLIENTS, SERVER = "spawn", True

    def __init__(self, place: pathlib.Path, data: Data):
        super().__init__(place, data)
        command = [sys.executable, "-c", SERVE, str(place / "milvus.db")]
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.uri = self.server.stdout.readline().strip()
        self.milvus = pymilvus.MilvusClient(self.uri)

    @property
    def processes(self) -> list[int]:
        return [self.server.pid]

    def load(self) -> None:
        schema = self.milvus.create_schema(auto_id=False)
        schema.add_field("id", pymilvus.DataType.INT64, is_primary=True)
        schema.add_field("vector", pymilvus.DataType.FLOAT_VECTOR, dim=self.data.rows.shape[1])
        self.milvus.create_collection("vectors", schema=schema)
        for start in range(0, len(self.data.rows), STEP):
            rows = [{"id": start + i, "vector": vector} for i, vector in enumerate(self.data.rows[start : start + STEP])]
            self.milvus.insert("vectors", rows)
        self.milvus.flush("vectors")

    def build(self, kind: Kind) -> None:
        """Builds the index; the load, which opens it for searches, is a part of that."""
        if self.milvus.list_indexes("vectors"):
            self.milvus.release_collection("vectors")
            self.milvus.drop_index("vectors", "vector")
        wanted = self.milvus.prepare_index_params()
        wanted.add_index("vector", index_type=kind.name, metric_type="L2", params=kind.parameters)
        self.milvus.create_index("vectors", wanted)
        self.milvus.load_collection("vectors")

    def client(self, kind: Kind) -> Client:
        return MilvusClient(self.uri)

    def close(self) -> None:
        self.milvus.close()
        self.server.stdin.close()
        self.server.wait(60)
