"""Our server, over HTTP."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from peers.engine import CONSIDERED, EDGES, NEAREST, Client, Data, Engine, Kind, decimals, ladder
from peers.service import Service, query
from wire import Line

GRAPH = {"m": EDGES, "ef_construction": CONSIDERED}
WIDTHS = [10, 20, 40, 60, 80, 120, 160, 240, 400, 800]
NARROW = ladder(nprobes=[1, 2, 4, 8, 16], refine_factor=[None, 2, 5, 10, 20, 50])

# LanceDB requires that ef is at least the number of neighbours that are measured again: NEAREST times the factor.
WIDE = [step for step in ladder(ef=WIDTHS, refine_factor=[None, 2]) if step["ef"] >= NEAREST * step.get("refine_factor", 1)]

# LanceDB is measured with the same kinds.
KINDS = [
    Kind("IVF_PQ", NARROW),
    Kind(
        "IVF_PQ 316 partitions",
        ladder(nprobes=[1, 2, 5, 10, 20, 40, 80], refine_factor=[10]),
        {"num_partitions": 316},
        also={"nprobes": 20, "refine_factor": 10},
    ),
    Kind("IVF_RQ", NARROW),
    Kind("IVF_HNSW_SQ", WIDE, GRAPH),
    Kind("IVF_HNSW_FLAT", ladder(ef=WIDTHS), GRAPH, extra=True),
    Kind("flat", [{}]),
]


class OursClient(Client):
    """A kept-alive connection. The bodies of requests are encoded before they are timed."""

    def __init__(self, url: str, token: str, fields: dict):
        self.url, self.token, self.fields = url, token, fields

    def open(self) -> None:
        self.line = Line(self.url, self.token)

    def calls(self, effort: dict, queries: np.ndarray) -> list[Callable]:
        fields = self.fields | effort
        return [query(self.line, "vectors", ["id"], vector={"single_vector": decimals(q)}, **fields) for q in queries]

    def ids(self, answer) -> list[int]:
        return answer.table["id"].to_pylist()

    def close(self) -> None:
        self.line.close()


class Ours(Engine):
    KINDS, CLIENTS, SERVER = KINDS, "fork", True

    def __init__(self, place: pathlib.Path, data: Data):
        super().__init__(place, data)
        self.service = Service(place, data.memory)

    @property
    def processes(self) -> list[int]:
        return self.service.processes

    def load(self) -> None:
        self.service.create("vectors", table_of(self.data))

    def build(self, kind: Kind) -> None:
        self.service.drop_indices("vectors")
        if kind.name != "flat":
            self.service.index("vectors", "vector", kind.name.split()[0], distance_type="l2", **kind.parameters)

    def client(self, kind: Kind) -> Client:
        fields = {"bypass_vector_index": True} if kind.name == "flat" else {}
        return OursClient(self.service.server.url, self.service.server.token, fields)

    def close(self) -> None:
        self.service.close()


def table_of(data: Data) -> pa.Table:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(data.rows.reshape(-1)), data.rows.shape[1])
    return pa.table({"id": np.arange(len(data.rows)), "vector": vectors})
