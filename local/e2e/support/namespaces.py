"""Shorthands for the Lance Namespace client."""

from __future__ import annotations

import io

import lance_namespace as n
import pyarrow as pa
from lance_namespace_urllib3_client import models as m

from wire import stream


def read(response) -> pa.Table:
    with pa.ipc.open_file(io.BytesIO(response.data)) as reader:
        return reader.read_all()


def query(id, **fields) -> n.QueryTableRequest:
    vector = fields.pop("vector", None)
    fields["vector"] = m.QueryTableRequestVector(single_vector=vector) if vector else m.QueryTableRequestVector()
    if columns := fields.pop("columns", None):
        fields["columns"] = m.QueryTableRequestColumns(column_names=columns)
    return n.QueryTableRequest(id=id, k=fields.pop("k", 0), **fields)


def create(ns, id, rows, **fields):
    return ns.create_table(n.CreateTableRequest(id=id, **fields), stream(rows))
