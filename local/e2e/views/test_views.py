"""Materialized views: through LanceDB's client, and refreshed in turns with the local LanceDB."""

from __future__ import annotations

import base64
import hashlib
import json
import pathlib
import random
import time
import urllib.parse

import lance
import lance_namespace
import lancedb
import pyarrow as pa
import pytest

from process import Server
from wire import Wire, stream

pytestmark = pytest.mark.embedded("it opens the tables of the server's directory")

STABLE = {"new_table_enable_stable_row_ids": "true"}
WAIT_SECONDS = 120
NO_RESULT = {"mode": "no_op", "rows_written": 0}


def rows_of(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{i}" for i in ids]})


class House:
    """A server and the local LanceDB over one source table, which is called t."""

    def __init__(self, folder: pathlib.Path, settings: dict | None = None):
        self.folder = folder / "native"
        self.folder.mkdir()
        self.native = lancedb.connect(str(self.folder))
        self.source = self.native.create_table("t", rows_of(*range(10)), storage_options=STABLE)
        self.server = Server(folder / "root", allow=[self.folder], settings=settings).start()
        self.wire = Wire(self.server.url, self.server.token)
        self.register("t")
        self.remote = lancedb.connect("db://test", api_key=self.server.token, host_override=self.server.url)

    def register(self, name: str):
        location = (self.folder / f"{name}.lance").as_uri()
        answer = self.wire.post(f"/v1/table/{name}/register", {"location": location})
        assert answer.status == 200, answer.body

    def lend(self, name: str):
        """Lets the local LanceDB find a table of the server."""
        location = self.wire.post(f"/v1/table/{name}/describe", {}).json["location"]
        (self.folder / f"{name}.lance").symlink_to(location.removeprefix("file://"))

    def job(self, id: str) -> dict:
        end = time.monotonic() + WAIT_SECONDS
        while True:
            job = self.wire.post("/v1/jobs/describe", {"job_id": id}).json
            if job["job_state"] != "IN_PROGRESS":
                return job
            assert time.monotonic() < end, job
            time.sleep(0.02)

    def refresh(self, name: str, path: str = "materialized_view", **body) -> dict:
        """Refreshes a view through the server and returns the result."""
        answer = self.wire.post(f"/v1/{path}/{name}/refresh", body)
        assert answer.status == 202 and answer.json["job_id"] == answer.json["transaction_id"], answer.body
        job = self.job(answer.json["job_id"])
        assert job["job_state"] == "DONE", job
        return job["result"]

    def rows(self, name: str) -> list:
        location = self.wire.post(f"/v1/table/{name}/describe", {}).json["location"]
        return sorted(map(str, lance.dataset(location.removeprefix("file://")).to_table().to_pylist()))


@pytest.fixture
def house(tmp_path):
    h = House(tmp_path)
    yield h
    h.server.stop()


def test_client_creates_refreshes_and_drops(house):
    view = house.remote.create_materialized_view("v", "t", select=["id", ("u", "upper(name)")], where="id > 7")
    assert house.remote.open_table("v").search().to_arrow().select(["id", "u"]).to_pylist() == [{"id": 8, "u": "N8"}, {"id": 9, "u": "N9"}]
    house.source.add(rows_of(20))
    house.source.delete("id = 8")
    done = view.refresh()
    assert (str(done.mode), done.rows_written, done.source_version) == ("incremental", 1, 3)
    assert view.table.search().to_arrow()["id"].to_pylist() == [9, 20]
    again = view.refresh()
    assert (str(again.mode), again.rows_written, again.version) == ("no_op", 0, done.version)
    back = view.refresh(source_version=1)
    assert (str(back.mode), back.source_version) == ("incremental", 1)
    assert sorted(view.table.search().to_arrow()["id"].to_pylist()) == [8, 9]
    full = view.refresh(full=True)
    assert (str(full.mode), full.rows_written, full.source_version) == ("rebuild", 2, 3)
    empty = house.remote.create_materialized_view("e", "t", with_no_data=True)
    assert empty.table.count_rows() == 0
    assert list(house.remote.list_materialized_views()) == ["e", "v"]
    assert house.remote.open_materialized_view("v").definition.query == "SELECT id, upper(name) AS u FROM t WHERE id > 7"
    with pytest.raises(Exception, match="not a materialized view"):
        house.remote.drop_materialized_view("t")
    house.remote.drop_materialized_view("v")
    assert list(house.remote.list_materialized_views()) == ["e"]
    with pytest.raises(Exception, match="not found"):
        house.remote.open_materialized_view("v")


def test_layout_is_native(house):
    """A view of the server has the metadata, the columns and the operations of a native one."""
    select, where = ["id", ("u", "upper(name)")], "id > 1"
    house.native.create_materialized_view("n", "t", select=select, where=where)
    house.remote.create_materialized_view("v", "t", select=select, where=where)
    house.lend("v")
    ours, theirs = (lance.dataset(str(house.folder / f"{name}.lance")) for name in ("v", "n"))
    assert ours.schema.remove_metadata() == theirs.schema.remove_metadata()
    changing = {b"mv.incarnation", b"mv.refreshed_at_ms"}
    kept = [{k: v for k, v in d.schema.metadata.items() if k not in changing} for d in (ours, theirs)]
    assert kept[0] == kept[1]
    assert set(ours.schema.metadata) == set(theirs.schema.metadata)
    assert ours.to_table().to_pylist() == theirs.to_table().to_pylist()
    assert ours.version == theirs.version


def test_columns_stay_embeddings(house):
    """A view keeps which of its columns are embeddings of which, in the form of each LanceDB, as a native view does."""
    def embeds(source, dest):
        return {"kind": {"Embedding": {"source_column": source, "dest_column": dest, "embedding_name": "e"}}}

    definitions = [{"kind": "Physical"}, {"kind": "Physical"}, embeds("text", None), embeds("id", "w")]
    metadata = {"lancedb::column_definitions": json.dumps(definitions), "embedding_functions": '[{"name":"f","source_column":"text","vector_column":"v"}]'}
    vector = pa.list_(pa.float32(), 2)
    schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("v", vector), ("w", vector)], metadata=metadata)
    house.native.create_table("e", schema=schema, storage_options=STABLE)
    house.register("e")
    kept = []
    for number, select in enumerate([None, [("a", "text"), ("b", "text"), ("x", "v"), ("y", "v"), ("up", "upper(text)")], ["v", "id"]]):
        house.native.create_materialized_view(f"n{number}", "e", select=select, with_no_data=True)
        house.remote.create_materialized_view(f"v{number}", "e", select=select, with_no_data=True)
        house.lend(f"v{number}")
        ours, theirs = (lance.dataset(str(house.folder / f"{name}{number}.lance")).schema.metadata for name in "vn")
        kept.append(ours.get(b"lancedb::column_definitions"))
        assert kept[-1] == theirs.get(b"lancedb::column_definitions")
        assert json.loads(ours.get(b"embedding_functions", b"null")) == json.loads(theirs.get(b"embedding_functions", b"null"))
    assert kept[0] and kept[1] and not kept[2]


def test_members_that_are_dictionaries_stay_dictionaries(house):
    words = pa.array(["x", None, "y", "x"]).dictionary_encode()
    rows = pa.table({"n": pa.array(range(4), pa.int64()), "c": pa.StructArray.from_arrays([words], ["m"], mask=pa.array([False, False, False, True]))})
    native = house.native.create_table("w", rows, storage_options=STABLE)
    house.register("w")
    (column,) = native.to_lance().to_table(columns={"x": "c.m"}).columns
    read = house.wire.post("/v1/table/w/query", {"vector": [], "k": 9, "columns": {"x": "c.m"}}).table
    assert read["x"].type == column.type and read["x"].to_pylist() == column.to_pylist() == ["x", None, "y", None]
    made = house.wire.post("/v1/materialized_view/shown/create", {"query": "SELECT n, c.m AS x FROM w"})
    assert house.job(made.json["job_id"])["job_state"] == "DONE"
    house.lend("shown")
    shown = lance.dataset(str(house.folder / "shown.lance")).to_table(columns=["n", "x"])
    assert shown["x"].type == column.type and shown.sort_by("n")["x"].to_pylist() == column.to_pylist()


def test_views_over_views(house):
    """A view can read another one, whose commits it sees, but neither itself nor a plain view."""
    def create(name, query):
        return house.wire.post(f"/v1/materialized_view/{name}/create", {"query": query, "with_no_data": True})

    for name, query in {"a": "SELECT id, name FROM t WHERE id > 2", "b": "SELECT id FROM a WHERE id < 8", "c": "SELECT id, count(*) AS n FROM b GROUP BY id"}.items():
        assert create(name, query).status == 200
    house.source.delete("id = 5")
    for name, count in (("c", 0), ("a", 6), ("b", 4), ("c", 4)):
        house.refresh(name)
        assert house.remote.open_table(name).count_rows() == count, name
    house.source.delete("id = 6")
    assert house.refresh("a")["mode"] == "incremental" and house.refresh("b")["mode"] == "incremental" and house.refresh("c")["rows_written"] == 3
    dropped = house.wire.post("/v1/materialized_view/a/drop")
    assert dropped.status == 200 and dropped.json["warning"].endswith(": b")
    again = create("a", "SELECT id FROM c")
    assert again.status == 400 and "would read itself" in again.json["error"]
    assert house.wire.post("/v1/materialized_view/b/refresh").status == 404 and house.remote.open_table("b").count_rows() == 3
    assert house.wire.post("/v1/view/p/create", {"query": "SELECT id FROM t WHERE id > 3"}).status == 200
    plain = create("q", "SELECT id FROM p")
    assert plain.status == 400 and "p is a view" in plain.json["error"] and "own source" in plain.json["detail"]


OPERATIONS = ("add", "update", "delete", "merge", "compact", "restore", "refresh")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limit", [None, 7])
def test_history_in_turns(house, seed, limit):
    """After each refresh, by either program, a view of either has the rows that the query gives."""
    chance = random.Random(seed)
    house.native.create_materialized_view("n", "t", select=["id", ("u", "upper(name)")], where="id % 3 < 2", limit=limit)
    house.remote.create_materialized_view("v", "t", select=["id", ("u", "upper(name)")], where="id % 3 < 2", limit=limit)
    house.lend("v")
    house.register("n")
    following = 100
    for step in range(14):
        match chance.choice(OPERATIONS):
            case "add":
                house.source.add(rows_of(*range(following, following + 3)))
                following += 3
            case "update":
                house.source.update(where=f"id % 5 = {chance.randrange(5)}", values={"name": f"s{step}"})
            case "delete":
                house.source.delete(f"id % 7 = {chance.randrange(7)}")
            case "merge":
                changed = rows_of(*chance.sample(range(following + 2), 3))
                changed = changed.set_column(1, "name", pa.array([f"m{step}"] * 3))
                house.source.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(changed)
            case "compact":
                house.source.optimize()
            case "restore" if (version := house.source.version) > 2:
                house.source.restore(chance.randrange(max(1, version - 4), version))
        first, second = ("v", "n") if step % 2 else ("n", "v")
        house.refresh(first)
        house.native.open_materialized_view(second).refresh()
        for name in ("v", "n"):
            d = lance.dataset(str(house.folder / f"{name}.lance"))
            got = sorted((r["id"], r["u"], r["__source_row_id"]) for r in d.to_table().to_pylist())
            source = lance.dataset(str(house.folder / "t.lance")).to_table(with_row_id=True).to_pylist()
            want = sorted((r["id"], r["name"].upper(), r["_rowid"]) for r in source if r["id"] % 3 < 2)
            if limit is None:
                assert got == want, (seed, step, name)
            else:
                assert len(got) == min(limit, len(want)) and set(got) <= set(want), (seed, step, name)


CHUNK = pa.struct([("x", pa.int32()), ("s", pa.string())])
LISTS = pa.schema([("id", pa.int64()), ("name", pa.string()), ("tags", pa.list_(pa.string())), ("parts", pa.list_(CHUNK))])


def lists_of(chance: random.Random, *ids: int) -> pa.Table:
    """Rows with lists that may be null or empty, of items that may be null."""
    def some(item):
        return chance.choice([None, []] + [[item() if chance.random() < 0.8 else None for _ in range(n)] for n in (1, 2, 5)])
    rows = [{"id": i, "name": f"n{i}", "tags": some(lambda: chance.choice("abc")),
             "parts": some(lambda: {"x": chance.randrange(9), "s": chance.choice(["p", None])})} for i in ids]
    return pa.Table.from_pylist(rows, schema=LISTS)


UNNESTED = {
    "SELECT id, upper(u) AS up, u FROM l, UNNEST(tags) AS u": lambda r: [(r["id"], u and u.upper(), u) for u in r["tags"] or []],
    "SELECT id, u.x, u.s AS t, u.x + id AS y FROM l, UNNEST(parts) AS u WHERE u.x > 2 OR u IS NULL": lambda r: [
        (r["id"], u and u["x"], u and u["s"], u and u["x"] + r["id"]) for u in r["parts"] or [] if u is None or u["x"] > 2],
    "SELECT * FROM l, UNNEST(parts) AS u": lambda r: [(r["id"], r["name"], r["tags"], u) for u in r["parts"] or []],
}


@pytest.mark.parametrize("query", UNNESTED)
def test_history_of_lists_in_turns(house, query):
    """A view of the items of lists has the rows that its query gives after a refresh by either program."""
    chance = random.Random(query)
    source = house.native.create_table("l", lists_of(chance, *range(12)), storage_options=STABLE)
    house.register("l")
    made = house.wire.post("/v1/materialized_view/v/create", {"query": query})
    assert made.status == 202 and house.job(made.json["job_id"])["job_state"] == "DONE", made.body
    house.lend("v")
    following = 100
    for step in range(8):
        match chance.choice(("add", "update", "delete", "merge", "compact", "restore")):
            case "add":
                source.add(lists_of(chance, *range(following, following + 3)))
                following += 3
            case "update":
                source.update(where=f"id % 5 = {chance.randrange(5)}", values={"name": f"s{step}"})
            case "delete":
                source.delete(f"id % 7 = {chance.randrange(7)}")
            case "merge":
                changed = lists_of(chance, *chance.sample(range(following + 2), 3))
                source.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(changed)
            case "compact":
                source.optimize()
            case "restore" if (version := source.version) > 2:
                source.restore(chance.randrange(max(1, version - 4), version))
        if step % 2:
            house.native.open_materialized_view("v").refresh()
        else:
            assert house.refresh("v")["mode"] in ("incremental", "rebuild", "no_op")
        view = lance.dataset(str(house.folder / "v.lance"))
        rows = lance.dataset(str(house.folder / "l.lance")).to_table(with_row_id=True).to_pylist()
        want = sorted(str((*made, r["_rowid"])) for r in rows for made in UNNESTED[query](r))
        assert sorted(str(tuple(r.values())) for r in view.to_table().to_pylist()) == want, step
    client = house.remote.open_materialized_view("v")
    assert client.definition.query.endswith(query[query.index(" FROM"):])
    assert not client.refresh().rows_written


def test_views_of_pieces_of_texts(house):
    """A view of the pieces of texts follows its source, and its rows can be searched."""
    texts = ["One. Two!\n\n# A\nThree é👩‍👩‍👧 four.", None, "", "x" * 25]
    source = house.native.create_table("docs", pa.table({"id": pa.array(range(4), pa.int64()), "body": texts}), storage_options=STABLE)
    house.register("docs")

    def create(name, call, columns="c.text, c.start, c.end, c.ordinal"):
        made = house.wire.post(f"/v1/materialized_view/{name}/create", {"query": f"SELECT id, {columns} FROM docs, {call} AS c"})
        assert made.status == 202 and house.job(made.json["job_id"])["job_state"] == "DONE", made.body
        return house.remote.open_table(name)

    pieces, sentences = create("p", "split_text(body, 10, 2)"), create("s", "split_sentences(body)", "c.text")
    sections = create("m", "split_markdown(upper(body))", "c.path, c.text")
    assert sections.search().where("id = 0").to_list()[1]["path"] == ["A"]

    def check():
        bodies = dict(zip(*(lance.dataset(str(house.folder / "docs.lance")).to_table()[c].to_pylist() for c in ("id", "body"))))
        rows = pieces.search().to_arrow().to_pylist()
        for id, body in bodies.items():
            mine = [r for r in rows if r["id"] == id]
            assert [r["ordinal"] for r in mine] == list(range(len(mine))) and bool(mine) == bool(body)
            assert all(r["text"] == body[r["start"]:r["end"]] for r in mine)
            assert all(after["start"] < before["end"] < after["end"] for before, after in zip(mine, mine[1:]))
            assert "".join(r["text"] for r in sentences.search().to_arrow().to_pylist() if r["id"] == id) == (body or "")

    check()
    source.add(pa.table({"id": pa.array([9], pa.int64()), "body": ["New. " * 9]}))
    source.update(where="id = 3", values={"body": "é" * 12})
    source.delete("id = 0")
    assert house.refresh("p")["mode"] == "incremental" and house.refresh("s")["mode"] == "incremental"
    check()
    query = house.remote.open_materialized_view("p").definition.query
    assert query.endswith(" FROM docs, split_text(body, 10, 2) AS c")
    assert {r["id"] for r in pieces.search("New", query_type="fts", fts_columns="text").to_list()} == {9}


def test_views_of_items_in_json(house):
    """A view has a row for each item of an array within a text, and follows it."""
    texts = ['{"order": {"items": [{"n": 1}, {"n": 2}]}}', '{"order": {}}', "no JSON", None]
    source = house.native.create_table("docs", pa.table({"id": pa.array(range(4), pa.int64()), "body": texts}), storage_options=STABLE)
    house.register("docs")
    query = "SELECT id, c.text, c.ordinal FROM docs, json_rows(body, 'order.items') AS c"
    made = house.wire.post("/v1/materialized_view/j/create", {"query": query})
    assert made.status == 202 and house.job(made.json["job_id"])["job_state"] == "DONE", made.body
    source.update(where="id = 1", values={"body": '{"order": {"items": ["x"]}}'})
    assert house.refresh("j")["mode"] == "incremental"
    rows = [(r["id"], r["ordinal"], r["text"]) for r in house.remote.open_table("j").search().to_list()]
    assert sorted(rows) == [(0, 0, '{"n": 1}'), (0, 1, '{"n": 2}'), (1, 0, '"x"')]
    assert house.remote.open_materialized_view("j").definition.query == query


def test_views_of_windows_of_lists(house):
    """A view has a row for some neighbouring items of a list, and follows it."""
    table = pa.table({"id": pa.array(range(4), pa.int64()), "frames": [["a", None, "c", "d", "e"], [], None, ["x"]]})
    source = house.native.create_table("films", table, storage_options=STABLE)
    house.register("films")
    query = "SELECT id, w.items, w.start, w.end AS `end`, w.ordinal FROM films, window(frames, 3, 2) AS w WHERE id < 9"
    made = house.wire.post("/v1/materialized_view/w/create", {"query": query})
    assert made.status == 202 and house.job(made.json["job_id"])["job_state"] == "DONE", made.body

    def rows():
        got = house.remote.open_table("w").search().to_list()
        return sorted((r["id"], r["ordinal"], r["start"], r["end"], r["items"]) for r in got)

    assert rows() == [(0, 0, 0, 3, ["a", None, "c"]), (0, 1, 2, 5, ["c", "d", "e"]), (3, 0, 0, 1, ["x"])]
    source.delete("id = 0")
    source.add(pa.table({"id": pa.array([7, 9], pa.int64()), "frames": [["p"] * 4, ["q"]]}))
    assert house.refresh("w")["mode"] == "incremental"
    assert rows() == [(3, 0, 0, 1, ["x"]), (7, 0, 0, 3, ["p"] * 3), (7, 1, 2, 4, ["p"] * 2)]
    assert house.remote.open_materialized_view("w").definition.query == query.replace("window(", "`window`(").replace("w.end AS `end`", "w.end")


def function_of(envelope: dict, **more) -> dict:
    text = base64.b64encode(json.dumps(envelope).encode()).decode()
    return {"udtf": text, "udtf_sha": hashlib.sha256(text.encode()).hexdigest(), "udtf_name": "f", "udtf_version": "1"} | more


def test_chunkers(house):
    """A view of kind chunker has the pieces of each text, numbered, beside columns of the source, and follows it."""
    texts = [" ".join(f"w{i}" for i in range(n)) for n in (20_000, 0, 3)]  # the first has more pieces than are made at once
    source = house.native.create_table("docs", pa.table({"id": pa.array(range(3), pa.int64()), "body": texts, "other": ["x"] * 3}), storage_options=STABLE)
    house.register("docs")
    split = {"backend": "builtin", "name": "split_text", "args": {"text": "body", "size": 3, "overlap": 1, "unit": "words"}}
    query = {"base": {"filter": "id < 9", "columns": {"id": "id", "label": "upper(other)"}}, "source_table": "docs"}
    columns = schema_text(("id", pa.int64()), ("label", pa.string()), ("text", pa.string()), ("start", pa.int64()))
    body = {"kind": "chunker", "source_query": json.dumps(query), "output_schema": columns, "udtf_spec": function_of(split), "with_no_data": False}
    made = house.wire.post("/v1/materialized_view/c/create", body)
    assert made.status == 201, made.body
    assert house.job(made.json["job_id"])["job_state"] == "DONE"

    def check():
        rows = house.remote.open_table("c").search().limit(100_000).to_arrow()
        assert rows.schema.names == ["__source_row_id", "__child_index", "id", "label", "text", "start"]
        children = {}
        for r in rows.to_pylist():
            children.setdefault(r["__source_row_id"], []).append(r)
        now = lance.dataset(str(house.folder / "docs.lance")).to_table(with_row_id=True).to_pylist()
        assert set(children) == {r["_rowid"] for r in now if r["body"] and r["id"] < 9}
        for r in now:
            mine = sorted(children.get(r["_rowid"], []), key=lambda c: c["__child_index"])
            assert [c["__child_index"] for c in mine] == list(range(len(mine)))
            assert all(c["text"] == r["body"][c["start"]:c["start"] + len(c["text"])] and c["id"] == r["id"] and c["label"] == "X" for c in mine)
            assert len(mine) == (len(r["body"].split()) // 2 if r["id"] < 9 else 0)

    check()
    source.add(pa.table({"id": pa.array([4, 10], pa.int64()), "body": ["a b c d e", "f g h"], "other": ["x", "x"]}))
    source.update(where="id = 2", values={"body": "p q r s t"})
    source.delete("id = 0")
    assert house.refresh("c")["mode"] == "incremental"
    check()
    assert house.refresh("c")["mode"] == "no_op"
    limited = house.refresh("c", output_limit=3)
    assert (limited["mode"], limited["rows_written"]) == ("rebuild", 3)
    assert sorted((r["id"], r["__child_index"]) for r in house.remote.open_table("c").search().to_list()) == [(2, 0), (2, 1), (4, 0)]
    assert house.refresh("c")["mode"] == "rebuild"
    check()
    simple = body | {"source_query": '{"source_table": "docs"}', "output_schema": schema_text(("text", pa.string()), ("ordinal", pa.int32()))}
    lines = function_of({"backend": "builtin", "name": "split_lines"}, input_columns=["body"])
    assert house.job(house.wire.post("/v1/materialized_view/s/create", simple | {"udtf_spec": lines}).json["job_id"])["job_state"] == "DONE"
    assert {r["text"] for r in house.remote.open_table("s").search().to_list()} == {"a b c d e", "f g h", "p q r s t"}
    assert house.wire.post("/v1/materialized_view/s/refresh", {"output_limit": 0}).status == 400
    large = simple | {"udtf_spec": function_of({"backend": "other", "code": "x" * (2 << 20)}), "with_no_data": True}
    assert house.wire.post("/v1/materialized_view/large/create", large).status == 201
    assert house.wire.post("/v1/materialized_view/large/refresh", {}).status == 501
    assert house.wire.post("/v1/materialized_view/larger/create", large | {"source_query": "x" * (2 << 20)}).status == 400


@pytest.mark.parametrize("envelope, why", [
    ({"backend": "wasm", "name": "f"}, "backend"),
    ({"backend": "builtin", "name": "split_atoms", "args": {"text": "name"}}, "no built-in function"),
    ({"backend": "builtin", "name": "split_text", "args": {"size": 3}}, "lacks the argument text"),
    ({"backend": "builtin", "name": "split_text", "args": {"text": "name", "size": 3, "odd": 1}}, "does not know"),
    ({"backend": "builtin", "name": "split_text", "args": {"text": "name", "size": [3]}}, "neither a whole number nor a text"),
    ({}, "backend"),
])
def test_functions_that_do_not_run_here(house, envelope, why):
    """A view of a function that this service does not run is created, described and dropped; a refresh names what is missing."""
    body = {"kind": "chunker", "source_query": '{"source_table": "t"}', "output_schema": schema_text(("text", pa.string())), "udtf_spec": function_of(envelope)}
    assert house.wire.post("/v1/materialized_view/c/create", body).status == 201
    refused = house.wire.post("/v1/materialized_view/c/refresh", {})
    assert refused.status == 501 and why in refused.body.decode(), refused.body
    assert house.wire.post("/v1/materialized_view/c/describe", {}).json["kind"] == "chunker"
    assert house.wire.post("/v1/materialized_view/c/drop", {}).status == 200


def test_foreign_rows_are_rebuilt(house):
    house.remote.create_materialized_view("v", "t", select=["id"])
    house.lend("v")
    foreign = pa.table({"id": pa.array([99], pa.int64()), "__source_row_id": pa.array([5], pa.uint64())},
                       schema=pa.schema([pa.field("id", pa.int64()), pa.field("__source_row_id", pa.uint64(), nullable=False)]))
    lance.write_dataset(foreign, str(house.folder / "v.lance"), mode="append")
    done = house.refresh("v", path="table")
    assert (done["mode"], done["rows_written"]) == ("rebuild", 10)
    assert house.refresh("v")["mode"] == "no_op"
    lance.dataset(str(house.folder / "v.lance")).optimize.compact_files()
    house.source.add(rows_of(50))
    assert house.refresh("v") | {"version": 0} == {"mode": "incremental", "rows_written": 1, "source_version": 2, "version": 0}


def schema_text(*fields) -> str:
    return base64.b64encode(pa.schema(fields).serialize().to_pybytes()).decode()


def test_namespace_views(house):
    """Views of the Lance Namespace protocol, whose queries are those of another client."""
    query = {"base": {"filter": "id > 7", "columns": {"id": "id", "u": "upper(name)"}}, "source_table": "t", "shuffle": False}
    body = {"kind": "query", "source_query": json.dumps(query), "output_schema": schema_text(("id", pa.int64()), ("u", pa.string()))}
    made = house.wire.post("/v1/materialized_view/g/create", body)
    assert made.status == 201 and made.json == {"version": 1}, made.body
    assert house.wire.post("/v1/materialized_view/g/create", body).status == 409
    assert house.refresh("g", src_version=1)["mode"] == "rebuild"
    house.source.add(rows_of(30))
    assert house.refresh("g") | {"version": 0} == {"mode": "incremental", "rows_written": 1, "source_version": 2, "version": 0}
    assert [r["u"] for r in house.remote.open_table("g").search().to_arrow().to_pylist()] == ["N8", "N9", "N30"]
    filled = house.wire.post("/v1/materialized_view/h/create", body | {"with_no_data": False})
    assert filled.status == 201 and house.job(filled.json["job_id"])["job_state"] == "DONE"
    envelope = base64.b64encode(b'{"backend": "x"}').decode()
    spec = {"udtf": envelope, "udtf_sha": hashlib.sha256(envelope.encode()).hexdigest(), "udtf_name": "f", "udtf_version": "1"}
    chunker = body | {"kind": "scalar_udtf", "udtf_spec": spec}
    assert house.wire.post("/v1/materialized_view/c/create", chunker).status == 201
    refused = house.wire.post("/v1/materialized_view/c/refresh", {})
    assert refused.status == 501 and "runs functions of the backend" in refused.body.decode(), refused.body
    opaque = body | {"source_query": json.dumps(query | {"column_udfs": [{"udf": "x"}]})}
    assert house.wire.post("/v1/materialized_view/o/create", opaque).status == 201
    refused = house.wire.post("/v1/materialized_view/o/refresh", {})
    assert refused.status == 501 and "column_udfs" in refused.body.decode(), refused.body
    unknown = body | {"source_query": "what another client understands"}
    assert house.wire.post("/v1/materialized_view/u/create", unknown).status == 201
    assert house.wire.post("/v1/materialized_view/u/refresh", {}).status == 501
    assert house.wire.post("/v1/materialized_view/u/drop", {}).status == 200
    assert house.wire.post("/v1/namespace/$/materialized_view/list", {}).json == {"views": ["c", "g", "h", "o"]}


def refused(kind_change: dict, query: dict | None = None) -> dict:
    return {"kind": "query", "source_query": "x", "output_schema": schema_text(("id", pa.int64()))} | kind_change


@pytest.mark.parametrize(
    "body, status",
    [
        ({"query": "SELECT * FROM nothing"}, 404),
        ({"query": "SELECT id, now() AS n FROM t"}, 400),
        ({"query": "SELECT missing FROM t"}, 400),
        ({"query": "SELECT id AS __source_row_id FROM t"}, 400),
        ({"query": "SELECT id FROM t ORDER BY id"}, 400),
        ({"query": "SELECT id FROM t, u"}, 400),
        ({"query": "SELECT id FROM t, UNNEST(name) AS u"}, 400),
        ({"query": "SELECT id FROM t, UNNEST(missing) AS u"}, 400),
        ({"query": "SELECT id FROM t, split_text(name, 8, 8) AS c"}, 400),
        ({"query": "SELECT id FROM t, other(name) AS c"}, 400),
        ({"query": "SELECT id FROM v"}, 404),
        ({"query": "SELECT " + "(" * 5000 + "id" + ")" * 5000 + " AS x FROM t"}, 400),
        ({"query": ""}, 400),
        ({}, 400),
        ({"query": "SELECT id FROM t", "kind": "query"}, 400),
        (refused({"output_schema": "?"}), 400),
        (refused({"output_schema": base64.b64encode(b"\xff\xff\xff\xff\x00\x00\x00\x10").decode()}), 400),
        (refused({"udtf_spec": {"udtf": "eA=="}}), 400),
        (refused({"kind": "udtf"}), 400),
        (refused({"kind": "udtf", "udtf_spec": {"udtf": "eA==", "udtf_sha": "0", "udtf_name": "f", "udtf_version": "1"}}), 400),
        (refused({"kind": "other"}), 400),
    ],
)
def test_bad_definitions(house, body, status):
    answer = house.wire.post("/v1/materialized_view/v/create", body)
    assert answer.status == status, answer.body
    assert house.wire.post("/v1/namespace/$/table/list", {}).json["tables"] == ["t"]


HOSTILE = [
    "not JSON", "{}", "[]", '{"format":1,"kind":"query"}', '{"format":2,"kind":"query","query":"SELECT id, name FROM t GROUP BY id"}',
    '{"format":2,"kind":"query","query":"SELECT count(*) AS other FROM t GROUP BY id"}', '{"format":5,"kind":"query","query":"SELECT id FROM t"}',
    '{"format":1,"kind":"query","query":"SELECT id FROM v"}', '{"format":1,"kind":"query","query":"SELECT name AS id FROM t"}',
    '{"format":1,"kind":"query","query":"SELECT id FROM none"}', '{"format":-1e400}',
    json.dumps({"format": 1, "kind": "query", "query": "SELECT " + "-" * 9000 + "id AS id FROM t"}),
]


@pytest.mark.parametrize("definition", HOSTILE)
def test_hostile_metadata(house, definition):
    """A definition that a writer of the table has put there is refused, and the rows stay."""
    house.remote.create_materialized_view("v", "t", select=["id"])
    before = house.rows("v")
    house.lend("v")
    lance.dataset(str(house.folder / "v.lance")).update_schema_metadata({"mv.definition": definition})
    answer = house.wire.post("/v1/materialized_view/v/refresh", {})
    if answer.status == 202:
        assert house.job(answer.json["job_id"])["job_state"] == "FAILED"
    else:
        assert answer.status in (400, 404, 501), answer.body
    assert house.wire.post("/v1/materialized_view/v/describe", {}).status in (200, 400)
    assert house.rows("v") == before


def test_columns_that_trade_names(house):
    """A view reads the columns that have the names of its query now, also where others had the names before."""
    house.source.add_columns({"other": "concat('o', cast(id as varchar))"})
    view = house.remote.create_materialized_view("v", "t", select=["id", "name"])
    house.source.alter_columns({"path": "name", "rename": "was"})
    house.source.alter_columns({"path": "other", "rename": "name"})
    assert house.refresh("v")["mode"] == "rebuild"
    assert sorted(view.table.search().to_arrow()["name"].to_pylist()) == [f"o{i}" for i in range(10)]
    house.source.drop_columns(["name"])
    house.source.add_columns({"name": "concat('p', cast(id as varchar))"})  # perhaps under the id of the dropped one
    house.refresh("v")
    assert sorted(view.table.search().to_arrow()["name"].to_pylist()) == [f"p{i}" for i in range(10)]
    house.source.drop_columns(["was"])
    assert house.refresh("v")["mode"] in ("incremental", "no_op")


SOON = {"TILTYARD_AUTO_REFRESH": "100ms", "TILTYARD_AUTO_REFRESH_COOLDOWN": "10ms"}


def test_views_follow_their_sources(tmp_path):
    """Views with auto_refresh in either form, and one upon another, show an appended row by themselves."""
    house = House(tmp_path, SOON)
    try:
        post = house.wire.post
        assert post("/v1/materialized_view/v/create", {"query": "SELECT id, name FROM t", "auto_refresh": True}).status == 202
        assert post("/v1/materialized_view/up/create", {"query": "SELECT id FROM v", "auto_refresh": True}).status == 202
        body = {"kind": "query", "source_query": '{"base": {"columns": ["id"]}, "source_table": "t"}', "auto_refresh": True}
        assert post("/v1/materialized_view/g/create", body | {"output_schema": schema_text(("id", pa.int64()))}).status == 201
        house.job(post("/v1/materialized_view/still/create", {"query": "SELECT id FROM t"}).json["job_id"])
        house.remote.open_table("t").add(rows_of(77))
        end = time.monotonic() + WAIT_SECONDS
        while not all(any("77" in row for row in house.rows(name)) for name in ("v", "up", "g")):
            assert time.monotonic() < end, {name: house.rows(name) for name in ("v", "up", "g")}
            time.sleep(0.05)
        assert not any("77" in row for row in house.rows("still"))
        described = post("/v1/materialized_view/v/describe", {}).json
        assert described["auto_refresh"] and described["source_version"] == 2, described
        job = house.job(described["last_job_id"])
        assert job["job_type"] == "refresh_materialized_view" and job["result"]["mode"] == "incremental", job
        assert not post("/v1/materialized_view/still/describe", {}).json["auto_refresh"]
        assert post("/v1/materialized_view/v/drop", {}).json == {"warning": "these views read it, and have no source now: up"}
        assert post("/v1/materialized_view/up/drop", {}).json == {}
        assert "g, still" in post("/v1/table/t/drop", {}).json["warning"]
    finally:
        house.server.stop()


def test_tables_of_the_service_have_stable_row_ids_on_request(tmp_path):
    """A view of a table that the service made is refreshed by what has changed, when the server or the creator asks for it."""
    first = rows_of(1, 2, 3)

    def modes(settings: dict, options: dict) -> dict:
        with Server(tmp_path / f"{len(settings)}{len(options)}", settings=settings) as server:
            db = lancedb.connect("db://test", api_key=server.token, host_override=server.url)
            names = lance_namespace.connect("rest", {"uri": server.url, "header.x-api-key": server.token})
            db.create_table("asked", first)
            names.create_table(lance_namespace.CreateTableRequest(id=["given"], storage_options=options), stream(first))
            found = {}
            for name in ("asked", "given"):
                view = db.create_materialized_view(f"of_{name}", name)
                db.open_table(name).update(where="id = 2", values={"name": "new"})
                db.open_table(name).add(rows_of(4))
                found[name] = view.refresh().mode
                assert sorted(r["name"] for r in db.open_table(f"of_{name}").search().to_list()) == ["n1", "n3", "n4", "new"]
            return found

    assert modes({}, STABLE) == {"asked": "rebuild", "given": "incremental"}
    assert modes({"TILTYARD_STABLE_ROW_IDS": "on"}, STABLE | {k: "false" for k in STABLE}) == {"asked": "incremental", "given": "rebuild"}


def test_the_option_for_stable_row_ids_is_a_bool(house):
    options = urllib.parse.quote(json.dumps({k: "maybe" for k in STABLE}))
    answer = house.wire.upload(f"/v1/table/new/create?storage_options={options}", rows_of(1))
    assert answer.status == 400 and "want true or false" in answer.body.decode()
    assert house.wire.post("/v1/table/new/exists", {}).status == 404
