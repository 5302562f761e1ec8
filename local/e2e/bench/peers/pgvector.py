"""Postgres with pgvector: a server of its own, over a Unix socket, with all of its data in memory."""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Callable

import numpy as np

warnings.filterwarnings("ignore", module="platformdirs")  # without a session, sockets lie in $TMPDIR

import pgserver
import psycopg

from peers.engine import CONSIDERED, EDGES, NEAREST, Client, Data, Engine, Kind, decimals, ladder

SEARCH = f"SELECT id FROM vectors ORDER BY vector <-> %s::vector LIMIT {NEAREST}"


class PgvectorClient(Client):
    """A connection, with a statement that is prepared at its first use. Vectors become texts before they are timed."""

    def __init__(self, uri: str):
        self.uri = uri

    def open(self) -> None:
        self.connection = psycopg.connect(self.uri, autocommit=True, prepare_threshold=0)
        self.cursor = self.connection.cursor(binary=True)

    def calls(self, effort: dict, queries: np.ndarray) -> list[Callable]:
        for name, value in effort.items():
            self.cursor.execute(f"SET hnsw.{name} = {value}")
        texts = [(text_of(q),) for q in queries]
        return [lambda text=text: self.cursor.execute(SEARCH, text).fetchall() for text in texts]

    def ids(self, answer) -> list[int]:
        return [row[0] for row in answer]

    def close(self) -> None:
        self.connection.close()


class Pgvector(Engine):
    KINDS = [Kind("HNSW", ladder(ef_search=[10, 20, 40, 60, 80, 120, 160, 240, 400, 800]))]
    CLIENTS, SERVER = "fork", True

    def __init__(self, place: pathlib.Path, data: Data):
        super().__init__(place, data)
        folder = place / "postgres"
        pgserver.get_server(folder, cleanup_mode="stop").cleanup()  # creates the files of the database
        megabytes = data.memory >> 20
        cores = os.cpu_count()
        with open(folder / "postgresql.conf", "a") as settings:
            settings.write(f"shared_buffers = {megabytes}MB\nmaintenance_work_mem = {megabytes}MB\nmax_wal_size = 16GB\n")
            settings.write(f"max_parallel_maintenance_workers = {cores}\nmin_parallel_table_scan_size = 0\nautovacuum = off\njit = off\n")
        self.server = pgserver.get_server(folder, cleanup_mode="stop")
        self.uri = self.server.get_uri()
        self.do("CREATE EXTENSION vector")
        with psycopg.connect(self.uri) as connection:
            version = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()[0]
            self.version = f"pgvector {version}, Postgres {connection.info.server_version // 10_000}"

    @property
    def processes(self) -> list[int]:
        return [self.server.get_pid()]

    def do(self, *statements: str) -> None:
        with psycopg.connect(self.uri, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def load(self) -> None:
        self.do(
            f"CREATE TABLE vectors (id bigint, vector vector({self.data.rows.shape[1]}))",
            # Otherwise Postgres stores vectors of 2,000 bytes and more in a separate table.
            "ALTER TABLE vectors ALTER COLUMN vector SET STORAGE PLAIN",
        )
        with psycopg.connect(self.uri) as connection, connection.cursor().copy("COPY vectors FROM STDIN") as copy:
            for number, vector in enumerate(self.data.rows):
                copy.write_row((number, text_of(vector)))
        self.do("VACUUM ANALYZE vectors", "CHECKPOINT")

    def build(self, kind: Kind) -> None:
        self.do(
            "DROP INDEX IF EXISTS nearest",
            f"CREATE INDEX nearest ON vectors USING hnsw (vector vector_l2_ops) WITH (m = {EDGES}, ef_construction = {CONSIDERED})",
        )

    def client(self, kind: Kind) -> Client:
        return PgvectorClient(self.uri)

    def close(self) -> None:
        self.server.cleanup()


def text_of(vector: np.ndarray) -> str:
    return "[" + ",".join(map(str, decimals(vector))) + "]"
