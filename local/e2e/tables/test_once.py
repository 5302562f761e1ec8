"""The unmodified LanceDB client behind a proxy that loses requests and responses, responds by
itself and sends twice: each write takes place once.

The client repeats some requests by itself (after 409, 429 and 5xx). The JSON requests among
them keep their id, the uploads do not. If a connection breaks without a response, it repeats
nothing and reports that to its user.
"""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import select
import signal
import socket
import struct
import threading

import lancedb
import pyarrow as pa
import pytest

import proxy
from process import Server
from wire import Wire, stream

STATUSES = (409, 429, 500, 502, 503, 504)
UNKEYED = "behind a gateway only a key makes an upload happen once: nobody learns that a client has gone, or what others were sent"


@pytest.fixture
def way(server):
    """The proxy in front of the shared server."""
    if not server.url.startswith("http:"):
        pytest.skip("the proxy speaks plain HTTP")
    with proxy.Proxy(server.url) as way:
        yield way


@pytest.fixture
def remote(server, way):
    """The client as users have it, with its own retries, which it makes without delay."""
    retries = {"retry_config": {"backoff_factor": 0.01, "backoff_jitter": 0.01}}
    return lancedb.connect("db://e2e", api_key=server.token, host_override=way.url, client_config=retries)


@pytest.fixture
def table(remote, space):
    return remote.create_table("t", rows(range(5), "old"), namespace_path=[space])


def rows(ids, word: str) -> pa.Table:
    return pa.table({"id": list(ids), "word": [word] * len(ids)})


def words(table) -> list[tuple[int, str]]:
    got = table.search().to_arrow().to_pydict()
    return sorted(zip(got["id"], got["word"]))


OLD = [(i, "old") for i in range(5)]


class Write:
    """A write, its effect on OLD when it takes place once, and how often it may be sent."""

    def __init__(self, operation: str, do, want, idempotent: bool = False):
        self.operation, self.do, self.want, self.idempotent = operation, do, want, idempotent

    def __repr__(self) -> str:
        return self.operation


WRITES = [
    Write("insert", lambda t: t.add(rows([7, 8], "new")), [*OLD, (7, "new"), (8, "new")]),
    Write(
        "merge_insert",
        # Without an update, what is merged twice is not seen to be; this one adds on the way.
        lambda t: t.merge_insert("word").when_not_matched_insert_all().execute(rows([7, 8], "new")),
        [*OLD, (7, "new"), (8, "new")],
    ),
    Write(
        "update",
        lambda t: t.update(where="id < 2", values_sql={"word": "word || '!'"}),
        [(0, "old!"), (1, "old!"), *OLD[2:]],
    ),
    Write("delete", lambda t: t.delete("id = 3"), [row for row in OLD if row[0] != 3]),
]

# What befalls the first sending of a write, such that the client sends it again.
SENT_AGAIN = {f"answered {s} by the proxy": [proxy.instead(s)] for s in STATUSES}
SENT_AGAIN |= {f"given up with {s}": [proxy.give_up(s)] for s in (500, 503, 504)}
SENT_AGAIN |= {
    "given up twice": [proxy.give_up(504), proxy.give_up(504)],
    "refused, then given up": [proxy.instead(503), proxy.give_up(502)],
    "sent twice": [proxy.twice],
    "sent twice at once": [proxy.twice_at_once],
    "given up, then sent twice": [proxy.give_up(504), proxy.twice_at_once],
}


@pytest.mark.parametrize("what", SENT_AGAIN)
@pytest.mark.parametrize("write", WRITES, ids=repr)
def test_a_write_that_is_sent_again_takes_place_once(server, way, table, write, what):
    if write.operation == "insert":
        server.not_behind_gateway(UNKEYED)
    way.plan(write.operation, *SENT_AGAIN[what])
    write.do(table)
    assert words(table) == write.want
    assert not way.planned, "a fault that was planned did not happen"


@pytest.mark.parametrize("write", WRITES, ids=repr)
def test_what_broke_without_an_answer_took_place_once_or_not(way, table, write):
    way.plan(write.operation, proxy.lose_request)
    with pytest.raises(Exception, match="error sending request"):
        write.do(table)
    assert words(table) == OLD
    way.plan(write.operation, proxy.lose_answer)
    with pytest.raises(Exception, match="error sending request"):
        write.do(table)
    assert words(table) == write.want
    assert len(way.sent(write.operation)) == 2, "the client sends nothing again whose connection broke"


@pytest.mark.parametrize("fault", [proxy.twice, proxy.twice_at_once, proxy.give_up(504), proxy.lose_answer])
def test_a_table_is_created_once(way, remote, space, fault):
    """The client does not repeat a create. A client that does is told that the table exists."""
    way.plan("create", fault)
    try:
        remote.create_table("made", rows([1, 2], "new"), namespace_path=[space])
    except Exception as error:  # noqa: BLE001 - each fault has its own
        assert fault not in (proxy.twice_at_once,) or "already exists" in str(error)
    try:
        remote.create_table("made", rows([1, 2], "new"), namespace_path=[space])
    except ValueError as error:
        assert "already exists" in str(error)
    assert words(remote.open_table("made", namespace_path=[space])) == [(1, "new"), (2, "new")]


def test_a_status_between_client_and_server_counts_for_json(way, table):
    """The proxy gets the response and returns another one. Ids distinguish JSON requests from
    new ones."""
    for write in WRITES[2:]:
        way.plan(write.operation, proxy.afterwards(503))
        write.do(table)
    assert words(table) == [(0, "old!"), (1, "old!"), (2, "old"), (4, "old")]
    first, second = way.sent("update")
    assert first.request_id == second.request_id


def test_the_same_rows_added_on_purpose_all_count(server, table, space):
    """By one user, by several, at once and one after the other: only the received responses
    distinguish these from repeated requests."""
    same = rows([9], "same")

    def add(_) -> None:
        mine = server.lancedb().open_table("t", namespace_path=[space])
        for _ in range(5):
            mine.add(same)
            table.add(same)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(8)))
    assert words(table) == [*OLD, *[(9, "same")] * 80]


# How often the client sends a request again. Of several at once, one may get all of so many refusals.
RESENT = 3


def test_lost_answers_among_equal_uploads_are_counted(server, way, table, space):
    """Each of n uploads counts once when some of them have to be sent again."""
    server.not_behind_gateway(UNKEYED)
    way.plan("insert", *[proxy.give_up(503)] * RESENT)
    same = rows([9], "same")

    def add(_) -> None:
        for _ in range(3):
            table.add(same)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    assert words(table) == [*OLD, *[(9, "same")] * 12]


@pytest.fixture
def two(server, tmp_path):
    """Two servers of the same tables."""
    if server.directory is None:
        pytest.skip("starts servers of its own over a directory")
    root = tmp_path / "root"
    with Server(root) as one, Server(root, log="other.log") as other:
        yield one, other
    for process in (one, other):
        assert not process.faults(), "a server logged faults:\n" + "\n".join(process.faults()[:20])


@pytest.fixture
def between(two):
    """A proxy that sends requests to the two in turn, and the client, which waits a little less
    than it does for users."""
    retries = {"retry_config": {"backoff_factor": 0.1, "backoff_jitter": 0.1}}
    with proxy.Proxy(*(process.url for process in two)) as way:
        yield way, lancedb.connect("db://e2e", api_key=two[0].token, host_override=way.url, client_config=retries)


GIVEN_UP = {
    "given up": [proxy.give_up(503)],
    "given up twice": [proxy.give_up(504), proxy.give_up(500)],
    "refused, then given up": [proxy.instead(503), proxy.give_up(502)],
}


@pytest.mark.parametrize("what", GIVEN_UP)
@pytest.mark.parametrize("write", WRITES, ids=repr)
def test_a_write_that_is_sent_again_to_another_process_takes_place_once(between, write, what):
    way, client = between
    table = client.create_table("t", rows(range(5), "old"))
    words(table), words(table)  # both know the table
    way.plan(write.operation, *GIVEN_UP[what])
    write.do(table)
    assert words(table) == words(table) == write.want
    assert not way.planned, "a fault that was planned did not happen"


class Interrupted:
    """A fault: the process that a request goes to is stopped between its commit and its answer,
    the connection is reset, and the process goes on. Where it was quicker, it has answered."""

    def __init__(self, processes, versions: pathlib.Path):
        self._processes, self._versions, self.happened = processes, versions, 0

    def __call__(self, way, seen):
        before = len(os.listdir(self._versions))
        connection = way.send(seen)
        process = next(p for p in self._processes if p.url.endswith(f":{connection.port}"))
        answered = lambda: select.select([connection.sock], [], [], 0)[0]
        while len(os.listdir(self._versions)) == before and not answered():
            pass
        os.kill(process.pid, signal.SIGSTOP)
        while pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "T":
            pass
        try:
            if answered():
                os.kill(process.pid, signal.SIGCONT)
                return way.receive(seen, connection)
            self.happened += 1
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        finally:
            os.kill(process.pid, signal.SIGCONT)
        return proxy.instead(503)(way, seen)


@pytest.mark.parametrize("write", WRITES[:2], ids=repr)
def test_a_commit_that_was_not_answered_is_known_to_another_process(two, between, write):
    way, client = between
    for n in range(20):
        table = client.create_table(f"t{n}", rows(range(5), "old"))
        words(table), words(table)
        [versions] = two[0].root.glob(f"t{n}-*.lance/_versions")
        fault = Interrupted(two, versions)
        way.plan(write.operation, fault)
        write.do(table)
        assert words(table) == write.want
        if fault.happened:
            return
    pytest.fail("the server was always quicker")


def test_lost_answers_among_equal_uploads_to_two_processes_are_counted(between):
    """The proxy gives some up, and the client's next sending goes wherever it does: as many rows
    as were added are there, not more and not fewer."""
    way, client = between
    table = client.create_table("t", rows(range(5), "old"))
    way.plan("insert", *[proxy.give_up(503)] * RESENT)
    same = rows([9], "same")

    def add(_) -> None:
        for _ in range(4):
            table.add(same)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(add, range(3)))
    assert words(table) == [*OLD, *[(9, "same")] * 12]
    assert not way.planned


def test_an_answer_by_key_is_known_when_its_process_has_died(two, between):
    _, client = between
    table = client.create_table("t", rows(range(5), "old"))
    path, body = "/v1/table/t/insert", stream(rows([7], "new"))
    connection = Wire(two[0].url, two[0].token)
    answer = connection.call("POST", path, body, {"Idempotency-Key": "once"})
    assert answer.status == 200
    two[0].kill()
    again = Wire(two[1].url, two[1].token).call("POST", path, body, {"Idempotency-Key": "once"})
    assert (again.status, again.json) == (200, answer.json)
    two[0].start()
    assert words(lancedb.connect("db://e2e", api_key=two[1].token, host_override=two[1].url).open_table("t")) == [*OLD, (7, "new")]


def test_a_key_makes_any_upload_happen_once(server, way, table, space):
    """Also where the client has got another answer than the server gave."""
    path, body = f"/v1/table/{space}$t/insert", stream(rows([7], "new"))
    wire = Wire(way.url, server.token)  # sends again when the connection breaks
    way.plan("insert", proxy.lose_answer, proxy.forward, proxy.afterwards(502), proxy.forward)
    answers = [wire.call("POST", path, body, {"Idempotency-Key": "once"}) for _ in range(3)]
    assert [a.status for a in answers] == [200, 502, 200]
    assert answers[0].json == answers[2].json and answers[2].headers["Idempotent-Replayed"] == "true"
    assert words(table) == [*OLD, (7, "new")]


def test_a_key_stands_for_its_rows(server, table, space):
    """Other rows under a key that was used are refused, and not taken for the first ones."""
    wire = server.wire()
    send = lambda path, data: wire.call("POST", f"/v1/table/{space}${path}", stream(data), {"Idempotency-Key": "once"})
    for path in ("t/insert", "t/merge_insert?on=id&when_not_matched_insert_all=true", "new/create"):
        first = send(path, rows([7], "new"))
        other = send(path, rows([8], "other"))
        again = send(path, rows([7], "new"))
        assert (first.status, other.status, again.status) == (200, 422, 200), other.body
        assert again.json == first.json and "idempotency" in other.json["type"]
    assert words(table) == [*OLD, (7, "new")]


def test_writers_share_versions(server, table, space):
    """Sixteen writers: all rows, no conflict, and fewer versions than writes."""
    server.not_behind_gateway("an instance of a function serves one request at a time, and shares with nobody")
    start = threading.Barrier(16)

    def add(writer: int) -> list[int]:
        wire = Wire(server.url, server.token)
        start.wait()
        answers = [
            wire.upload(f"/v1/table/{space}$t/insert", stream(rows([1000 * writer + i], "w"))) for i in range(10)
        ]
        assert [a.status for a in answers] == [200] * 10
        for a in answers:
            transaction = wire.post(f"/v1/transaction/{a.json['transaction_id'].replace('$', '%24')}/describe", {})
            assert transaction.status == 200, transaction.body
        return [a.json["version"] for a in answers]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        versions = list(pool.map(add, range(16)))
    assert words(table) == sorted(OLD + [(1000 * w + i, "w") for w in range(16) for i in range(10)])
    newest = max(max(v) for v in versions)
    assert newest < 161, "writers that wait should share versions"
    assert all(sorted(set(v)) == v for v in versions), "each writer sees versions that grow"
