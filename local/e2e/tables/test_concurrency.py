"""Many writers at once, ours and native ones, in threads and in processes: nothing is lost or
doubled, and one name has one owner."""

from __future__ import annotations

import collections
import concurrent.futures
import multiprocessing
import random
import threading
import time

import lance
import lancedb
import pyarrow as pa
import pytest

from rows import assert_same, by

WRITERS = 8  # of each kind
BATCHES = 12
ROWS = 25

SCHEMA = pa.schema([("id", pa.int64()), ("writer", pa.string()), ("batch", pa.int64())])


def batch(writer: int, kind: str, number: int) -> pa.Table:
    """Rows whose ids belong to one writer and batch alone."""
    first = (writer * 1000 + number) * 1000 + (500 if kind == "native" else 0)
    return pa.table(
        {"id": range(first, first + ROWS), "writer": [f"{kind} {writer}"] * ROWS, "batch": [number] * ROWS},
        schema=SCHEMA,
    )


def connect(url: str, token: str):
    """A client as users have it, with its own retries."""
    return lancedb.connect("db://e2e", api_key=token, host_override=url)


def append_over_http(url: str, token: str, space: str, writer: int) -> int:
    table = connect(url, token).open_table("shared", namespace_path=[space])
    for number in range(BATCHES):
        table.add(batch(writer, "http", number))
    return BATCHES


def append_natively(location: str, writer: int) -> int:
    """Appends as pylance does. What it gives up on for too many others it did not write."""
    for number in range(BATCHES):
        for _ in range(100):
            try:
                lance.write_dataset(batch(writer, "native", number), location, mode="append")
                break
            except OSError as error:
                if "concurrent" not in str(error).lower() and "conflict" not in str(error).lower():
                    raise
                time.sleep(random.random() / 50)
        else:
            raise AssertionError("pylance gave up a hundred times")
    return BATCHES


@pytest.fixture(scope="module")
def processes():
    """Eight processes with pylance loaded; fork is not for programs with threads."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(WRITERS, mp_context=context) as pool:
        list(pool.map(time.sleep, [0.2] * WRITERS))  # all are up before the race begins
        yield pool


@pytest.fixture
def threads():
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        yield pool


def test_sixteen_writers_lose_and_double_nothing(server, db, space, opens, processes, threads):
    table = db.create_table("shared", schema=SCHEMA, namespace_path=[space])
    jobs = [threads.submit(append_over_http, server.url, server.token, space, w) for w in range(WRITERS)]
    jobs += [processes.submit(append_natively, table.uri, w) for w in range(WRITERS)]
    for job in jobs:
        assert job.result(timeout=240) == BATCHES

    want = pa.concat_tables(
        [batch(w, kind, b) for kind in ("http", "native") for w in range(WRITERS) for b in range(BATCHES)]
    )
    dataset = lance.dataset(table.uri)
    dataset.validate()
    # Meanwhile the server may have compacted the table, which makes versions, too.
    made = [dataset.read_transaction(v["version"]).operation for v in dataset.versions()]
    appends = sum(isinstance(operation, lance.LanceOperation.Append) for operation in made)
    assert appends <= 2 * WRITERS * BATCHES, "appends may share a version, and make no more than one"
    assert_same(by(dataset.to_table(), "id"), by(want, "id"))
    assert_same(by(table.search().to_arrow(), "id"), by(want, "id"))
    assert table.count_rows() == want.num_rows
    # Rows of one batch stay together and in order.
    ids = dataset.to_table(columns=["id"])["id"].to_pylist()
    assert all(ids[i + 1] == ids[i] + 1 for i in range(len(ids) - 1) if (i + 1) % ROWS)


def test_merges_of_disjoint_keys_all_happen(server, db, space, threads):
    keys, writers, rounds = 40, 8, 6
    table = db.create_table(
        "m", pa.table({"key": range(keys * writers), "value": [0] * keys * writers}), namespace_path=[space]
    )

    def merge(writer: int) -> int:
        mine = connect(server.url, server.token).open_table("m", namespace_path=[space])
        for number in range(1, rounds + 1):
            rows = pa.table({"key": range(writer * keys, (writer + 1) * keys), "value": [number * 100 + writer] * keys})
            done = mine.merge_insert("key").when_matched_update_all().when_not_matched_insert_all().execute(rows)
            assert (done.num_updated_rows, done.num_inserted_rows) == (keys, 0)
        return writer

    assert sorted(threads.map(merge, range(writers))) == list(range(writers))
    got = by(table.search().to_arrow(), "key").to_pydict()
    assert got["key"] == list(range(keys * writers))
    assert got["value"] == [rounds * 100 + key // keys for key in range(keys * writers)]


def test_merges_of_the_same_keys_insert_each_once(server, db, space, threads):
    """All writers upsert the same new keys: each key is there once, all of one writer."""
    keys, writers, rounds = 30, 8, 4
    table = db.create_table("m", schema=pa.schema([("key", pa.int64()), ("value", pa.int64())]), namespace_path=[space])
    done = collections.Counter()

    def merge(writer: int) -> None:
        mine = connect(server.url, server.token).open_table("m", namespace_path=[space])
        for number in range(rounds):
            rows = pa.table({"key": range(keys), "value": [writer * 100 + number] * keys})
            result = mine.merge_insert("key").when_matched_update_all().when_not_matched_insert_all().execute(rows)
            done["inserted"] += result.num_inserted_rows
            done["updated"] += result.num_updated_rows

    list(threads.map(merge, range(writers)))
    got = by(table.search().to_arrow(), "key").to_pydict()
    assert got["key"] == list(range(keys)), "a key is missing, or there twice"
    assert len(set(got["value"])) == 1, "the merges mixed"
    assert done == {"inserted": keys, "updated": keys * (writers * rounds - 1)}


def test_merges_and_appends_together(server, db, space, threads):
    """Appended rows survive the merges of others, and merges see each append or not."""
    table = db.create_table("m", pa.table({"key": range(100), "value": [0] * 100}), namespace_path=[space])
    rounds = 8

    def append(writer: int) -> None:
        mine = connect(server.url, server.token).open_table("m", namespace_path=[space])
        for number in range(rounds):
            mine.add(pa.table({"key": [1000 + writer * 100 + number], "value": [writer]}))

    def merge(writer: int) -> None:
        mine = connect(server.url, server.token).open_table("m", namespace_path=[space])
        for number in range(rounds):
            rows = pa.table({"key": range(writer * 10, writer * 10 + 10), "value": [number + 1] * 10})
            mine.merge_insert("key").when_matched_update_all().execute(rows)

    jobs = [threads.submit(append, w) for w in range(4)] + [threads.submit(merge, w) for w in range(4)]
    for job in jobs:
        job.result(timeout=120)
    got = dict(zip(*by(table.search().to_arrow(), "key").to_pydict().values()))
    want = {key: rounds if key < 40 else 0 for key in range(100)}
    want |= {1000 + w * 100 + n: w for w in range(4) for n in range(rounds)}
    assert got == want and table.count_rows() == len(want)


def test_sixteen_creators_of_one_name_have_one_winner(server, space, threads):
    for attempt in range(5):

        def create(writer: int) -> str:
            answer = server.wire().upload(f"/v1/table/{space}$race{attempt}/create", pa.table({"winner": [writer] * 3}))
            assert answer.status in (200, 409), answer.body
            return f"won {writer}" if answer.status == 200 else "lost"

        results = list(threads.map(create, range(16)))
        assert results.count("lost") == 15, results
        winner = next(int(r.split()[1]) for r in results if r != "lost")
        rows = server.wire().post(f"/v1/table/{space}$race{attempt}/query", {"k": 0, "vector": []}).table
        assert rows.to_pydict() == {"winner": [winner] * 3}


def test_losers_leave_no_data_behind(server, space, directory, threads):
    create = lambda w: server.wire().upload(f"/v1/table/{space}$raced/create", pa.table({"w": [w]})).status
    statuses = sorted(threads.map(create, range(16)))
    assert statuses == [200] + [409] * 15
    # Jobs may write to other tables meanwhile.
    left = list(directory.glob("raced-*.lance/data/*.lance"))
    assert len(left) == 1, left


def test_creators_that_accept_existing_tables_agree(server, space, threads):
    create = lambda w: server.wire().upload(f"/v1/table/{space}$t/create?mode=exist_ok", pa.table({"w": [w] * 2}))
    answers = list(threads.map(create, range(16)))
    assert {a.status for a in answers} == {200}
    assert len({a.json["location"] for a in answers}) == 1
    rows = server.wire().post(f"/v1/table/{space}$t/query", {"k": 0, "vector": []}).table
    assert rows.num_rows == 2


def test_one_declared_table_is_filled_once(server, space, threads):
    wire = server.wire()
    for attempt in range(5):
        path = f"/v1/table/{space}$d{attempt}"
        assert wire.post(f"{path}/declare", {}).status == 200
        insert = lambda w: server.wire().upload(f"{path}/insert", pa.table({"w": [w] * 3}))
        answers = list(threads.map(insert, range(8)))
        won = [w for w, a in enumerate(answers) if a.status == 200]
        assert won and all(a.status in (200, 409) for a in answers), [a.body for a in answers]
        rows = wire.post(f"{path}/query", {"k": 0, "vector": []}).table
        assert collections.Counter(rows["w"].to_pylist()) == dict.fromkeys(won, 3)


def test_namespaces_made_by_many(server, space, threads):
    create = lambda w: (
        server.wire().post(f"/v1/namespace/{space}$n{w // 4}/create", {"properties": {"w": str(w)}}).status
    )
    statuses = list(threads.map(create, range(64)))
    assert statuses.count(200) == 16 and statuses.count(409) == 48
    listed = server.wire().call("GET", f"/v1/namespace/{space}/list").json["namespaces"]
    assert listed == sorted(f"n{i}" for i in range(16))


def test_drop_and_create_inside_do_not_pass_each_other(server, space, threads):
    """Either the namespace and everything that was created in it are gone, or both exist."""
    for attempt in range(40):
        path = f"{space}$r{attempt}"
        wire = server.wire()
        assert wire.post(f"/v1/namespace/{path}/create", {}).status == 200
        kinds = [
            lambda: server.wire().post(f"/v1/namespace/{path}/drop", {}).status,
            lambda: server.wire().post(f"/v1/namespace/{path}$child/create", {}).status,
            lambda: server.wire().post(f"/v1/table/{path}$t/declare", {}).status,
            lambda: server.wire().upload(f"/v1/table/{path}$u/create", pa.table({"x": [1]})).status,
        ]

        def race(kind) -> int:
            time.sleep(random.uniform(0, 0.004) if kind is not kinds[0] else 0.001)
            return kind()

        dropped, *made = threads.map(race, kinds)
        assert dropped in (200, 409) and set(made) <= {200, 404, 409}
        exists = wire.post(f"/v1/namespace/{path}/exists", {}).status
        inside = [
            wire.post(f"/v1/{what}/exists", {}).status
            for what in (f"namespace/{path}$child", f"table/{path}$t", f"table/{path}$u")
        ]
        assert exists == 200 or set(inside) == {404}, (
            f"the namespace is gone ({exists}) and its children are not: {inside}"
        )
        assert (exists == 404) == (dropped == 200), "the drop was answered with what did not happen"
        if exists == 200:
            lost = [(status, found) for status, found in zip(made, inside) if status == 200 and found != 200]
            assert not lost, "what was answered with 200 is not there"
        # Made again, the name holds nothing of its former life.
        if exists == 404:
            assert wire.post(f"/v1/namespace/{path}/create", {}).status == 200
            assert wire.call("GET", f"/v1/namespace/{path}/list").json["namespaces"] == []
            assert wire.call("GET", f"/v1/namespace/{path}/table/list").json["tables"] == []


def test_readers_see_whole_writes(server, db, space, threads):
    """While batches are added and stamps merged, no reader sees half of one."""
    table = db.create_table("t", pa.table({"key": range(20), "stamp": [0] * 20}), namespace_path=[space])
    written = threading.Event()

    def write() -> None:
        mine = connect(server.url, server.token).open_table("t", namespace_path=[space])
        for number in range(1, 21):
            rows = pa.table({"key": range(20), "stamp": [number] * 20})
            mine.merge_insert("key").when_matched_update_all().execute(rows)

    def look() -> int:
        wire, looks, last = server.wire(), 0, 0
        while not written.is_set():
            rows = wire.post(f"/v1/table/{space}$t/query", {"k": 0, "vector": []}).table
            stamps = set(rows["stamp"].to_pylist())
            assert rows.num_rows == 20 and len(stamps) == 1, stamps
            assert stamps.pop() >= last
            looks += 1
        return looks

    looks = [threads.submit(look) for _ in range(4)]
    try:
        write()
    finally:
        written.set()
    assert sum(job.result(60) for job in looks) > 4, "the test tested little"
    assert table.count_rows() == 20
