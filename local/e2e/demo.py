"""The demonstration: airports of the United States, through real clients.

An unmodified LanceDB client creates a namespace and a table, adds rows in batches,
upserts, filters, searches by vector, and reads an older version; a Lance Namespace client
looks at the same. Then native Lance opens the directory itself, and every row is compared
with what the clients read. Any difference ends the program with an error.

The rows are the airports that the package vega_datasets carries. Their vectors are made
of their own numbers: latitude and longitude as a point on the unit sphere, so that the
nearest vector is the nearest airport, which a sailor's formula can check.

    python demo.py [--keep] [--url URL --token TOKEN]

Without a URL it starts bin/tiltyard over a directory that it removes again, with --keep not before the user ends it by
Ctrl-C or a signal: until then one can look at the tables, in the console for example.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import pathlib
import signal
import sys
import tempfile
import threading

import lance
import lance_namespace
import lancedb
import numpy as np
import pandas as pd
import pyarrow as pa
from lancedb.index import FTS
from vega_datasets import local_data

from process import Server
from rows import assert_same, by, difference

EARTH_KM = 6371.0
BATCH = 500
FIRST = 2800  # the others come later, by upsert

SCHEMA = pa.schema(
    [
        pa.field("iata", pa.string(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("city", pa.string()),
        pa.field("state", pa.string()),
        pa.field("country", pa.string()),
        pa.field("latitude", pa.float64()),
        pa.field("longitude", pa.float64()),
        pa.field("vector", pa.list_(pa.float32(), 3)),
    ]
)


def airports() -> pa.Table:
    """The rows: one per code, with missing text as null, in the order of the package."""
    frame = local_data.airports().drop_duplicates("iata").reset_index(drop=True)
    latitude, longitude = np.radians(frame["latitude"]), np.radians(frame["longitude"])
    points = np.stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], axis=1
    )
    frame["vector"] = list(points.astype(np.float32))
    text = ["iata", "name", "city", "state", "country"]
    frame[text] = frame[text].astype(object).where(frame[text].notna(), None)
    return pa.Table.from_pandas(frame[SCHEMA.names], schema=SCHEMA, preserve_index=False)


def distance_km(a: pd.Series, b: pd.DataFrame) -> np.ndarray:
    """The great-circle distance by the haversine formula, from latitude and longitude."""
    lat1, lon1 = np.radians(a["latitude"]), np.radians(a["longitude"])
    lat2, lon2 = np.radians(b["latitude"]), np.radians(b["longitude"])
    h = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return (2 * EARTH_KM * np.arcsin(np.sqrt(h))).to_numpy()


def check(truth: bool, what: str) -> None:
    if not truth:
        raise SystemExit(f"demo: wrong: {what}")


def same(got: pa.Table, want: pa.Table, what: str) -> None:
    problem = difference(got, want)
    check(problem is None, f"{what}: {problem}")
    print(f"    the same {got.num_rows:,} rows: {what}")


def load(db, rows: pa.Table):
    """Creates the namespace and the table, and adds the first rows in batches."""
    db.create_namespace(["travel"], mode="exist_ok", properties={"source": "vega_datasets"})
    table = db.create_table("airports", schema=SCHEMA, mode="overwrite", namespace_path=["travel"])
    for first in range(0, FIRST, BATCH):
        table.add(rows.slice(first, min(BATCH, FIRST - first)))
    print(f"loaded {table.count_rows():,} airports in batches of {BATCH}; the table is at version {table.version}")
    return table


def upsert(table, rows: pa.Table) -> pa.Table:
    """Brings the rows that are missing, and 100 that are there with a better name. Returns
    all rows as they should be now."""
    renamed = rows.slice(FIRST - 100, 100).to_pandas()
    renamed["name"] = [f"{name} ({code})" for name, code in zip(renamed["name"], renamed["iata"])]
    renamed = pa.Table.from_pandas(renamed, schema=SCHEMA, preserve_index=False)
    fresh = pa.concat_tables([renamed, rows.slice(FIRST)])
    done = table.merge_insert("iata").when_matched_update_all().when_not_matched_insert_all().execute(fresh)
    print(f"upserted: {done.num_updated_rows} renamed, {done.num_inserted_rows} new; version {done.version}")
    check((done.num_updated_rows, done.num_inserted_rows) == (100, rows.num_rows - FIRST), "the counts of the upsert")
    return pa.concat_tables([rows.slice(0, FIRST - 100), fresh]).combine_chunks()


def look_up(table, want: pa.Table) -> None:
    """Filters, and compares with pandas doing the same on the rows in memory."""
    frame = want.to_pandas()
    filters = {
        "state = 'AK' AND latitude > 65": (frame["state"] == "AK") & (frame["latitude"] > 65),
        "name LIKE '%International%' AND state IN ('CA', 'NY')": frame["name"].str.contains("International")
        & frame["state"].isin(["CA", "NY"]),
        "state IS NULL": frame["state"].isna(),
        "longitude BETWEEN -100 AND -99.5 AND NOT city = 'Vernon'": frame["longitude"].between(-100, -99.5)
        & (frame["city"] != "Vernon"),
    }
    for condition, mask in filters.items():
        got = by(table.search().where(condition).to_arrow(), "iata")
        same(got, by(want.filter(pa.array(mask)), "iata"), condition)


def search(table, want: pa.Table) -> None:
    """Finds the airports nearest to Seattle's, and checks them by the sailor's formula."""
    frame = want.to_pandas()
    seattle = frame[frame["iata"] == "SEA"].iloc[0]
    near = (
        table.search(seattle["vector"].tolist()).limit(6).select(["iata", "name", "latitude", "longitude"]).to_pandas()
    )
    near["km"] = distance_km(seattle, near)
    print("nearest to Seattle-Tacoma:")
    for row in near.itertuples():
        print(f"    {row.km:6.1f} km  {row.iata}  {row.name}")
    order = frame.assign(km=distance_km(seattle, frame)).sort_values("km")["iata"].head(6).tolist()
    check(near["iata"].tolist() == order, f"the nearest airports are {order}")
    chord = 4 * np.sin(near["km"] / (2 * EARTH_KM)) ** 2
    check(np.allclose(near["_distance"], chord, atol=1e-6), "distances are squares of chords")
    far = table.search(seattle["vector"].tolist()).where("state = 'HI'").limit(1).to_pandas()
    print(
        f"    {distance_km(seattle, far)[0]:6.0f} km  {far['iata'][0]}  {far['name'][0]} is the nearest one in Hawaii"
    )


def read_back(db, namespace, table, want: pa.Table, rows: pa.Table) -> None:
    """Reads the table by each client, now and then, and compares with native Lance."""
    now = table.search().to_arrow()
    same(by(now, "iata"), by(want, "iata"), "what was sent")
    versions = [v["version"] for v in table.list_versions()]
    older = db.open_table("airports", namespace_path=["travel"], version=versions[-2])
    before = older.search().to_arrow()
    same(before, rows.slice(0, FIRST), f"version {versions[-2]}, before the upsert")

    query = lance_namespace.QueryTableRequest(id=["travel", "airports"], k=0, vector={})
    with pa.ipc.open_file(io.BytesIO(namespace.query_table(query).data)) as answer:
        same(answer.read_all(), now, "the Lance Namespace client")

    location = namespace.describe_table(lance_namespace.DescribeTableRequest(id=["travel", "airports"])).location
    if not location.startswith("file://") or not pathlib.Path(location.removeprefix("file://")).exists():
        print(f"    {location} is not on this machine: native Lance was not asked")
        return
    native = lance.dataset(location)
    native.validate()
    same(native.to_table(), now, f"pylance {lance.__version__} from {location}")
    same(lance.dataset(location, version=versions[-2]).to_table(), before, f"pylance at version {versions[-2]}")
    nearest = {"column": "vector", "q": np.array(now["vector"][0].as_py(), np.float32), "k": 25}
    found = table.search(now["vector"][0].as_py()).limit(25).to_arrow()
    assert_same(
        by(native.to_table(nearest=nearest), "_distance", "iata"),
        by(found, "_distance", "iata"),
        "the search of pylance",
    )
    print("    the same 25 nearest rows: pylance's own search")


def run(url: str, token: str) -> None:
    db = lancedb.connect("db://demo", api_key=token, host_override=url)
    namespace = lance_namespace.connect("rest", {"uri": url, "header.Authorization": f"Bearer {token}"})
    rows = airports()
    print(f"{rows.num_rows:,} airports from vega_datasets, {len(rows.schema)} columns, sent to {url}")
    table = load(db, rows)
    want = upsert(table, rows)
    print("filters, compared with pandas:")
    look_up(table, want)
    search(table, want)
    print("all rows, compared:")
    read_back(db, namespace, table, want, rows)
    print("everything is the same everywhere")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", help="of a running server; without it one is started")
    parser.add_argument("--token", default="", help="for that server")
    parser.add_argument("--keep", action="store_true", help="leave the server running, to look at its tables, until Ctrl-C")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the server ends and its directory is removed
    with contextlib.ExitStack() as stack:
        if not options.url:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="tiltyard-demo-"))
            server = stack.enter_context(Server(pathlib.Path(directory) / "root"))
            options.url, options.token = server.url, server.token
        run(options.url, options.token)
        if options.keep:
            show(options.url, options.token)


def show(url: str, token: str) -> None:
    """Says where the tables are, and waits for the user."""
    lancedb.connect("db://demo", api_key=token, host_override=url).open_table(
        "airports", namespace_path=["travel"]
    ).create_index("name", config=FTS())
    print(f"""
The server goes on. Look at the table: {url}/console/#/table/travel/airports
Sign in with the token: {token}
Search its names for 'island', or for the neighbours of a row. Ctrl-C ends the server and removes its tables.""")
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()


if __name__ == "__main__":
    main()
