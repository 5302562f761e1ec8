"""The tools for agents, used by the reference client in Python over both transports."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import subprocess

import httpx2
import lancedb
import pyarrow as pa
import pytest
from lancedb.index import FTS
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from pages import DOCS
from process import Server, binary

pytestmark = pytest.mark.embedded("runs the program beside a server of its own")

READING = {
    "count_rows", "describe_table", "explain_query", "list_namespaces", "list_tables", "list_versions", "query_rows",
    "search_text", "search_vector", "table_stats",
}
CHANGING = {"create_table", "delete_rows", "insert_rows", "restore_version", "tag_version"}
GRACE = "key-of-grace"


def database(server):
    return lancedb.connect("db://e2e", api_key=server.token, host_override=server.url)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of two tables, of which Grace may read one."""
    folder = tmp_path_factory.mktemp("mcp")
    keys, policies = folder / "keys.txt", folder / "policies.cedar"
    keys.write_text(f"grace {hashlib.sha256(GRACE.encode()).hexdigest()}\n")
    policies.write_text(
        'permit (principal == User::"token", action, resource);\n'
        'permit (principal == User::"key:grace", action in Action::"read", resource in Namespace::"open");\n'
    )
    with Server(folder / "root", settings={"TILTYARD_API_KEYS": str(keys), "TILTYARD_POLICIES": str(policies)}) as server:
        db = database(server)
        for name in ("open", "secret"):
            db.create_namespace([name])
            rows = pa.table({
                "id": pa.array(range(300), pa.int64()),
                "text": [f"word{i % 3} of {name}" for i in range(300)],
                "vector": pa.array([[i, 1.0] for i in range(300)], pa.list_(pa.float32(), 2)),
            })
            table = db.create_table("notes", rows, namespace_path=[name])
            table.create_index("text", config=FTS())
            table.wait_for_index(["text_idx"])
        yield server


@contextlib.contextmanager
def over_stdio(server, token, *flags):
    """What a client needs to start the command."""
    environment = {"TILTYARD_URL": server.url, "TILTYARD_TOKEN": token, "HOME": str(server.root.parent)}
    yield lambda: Client(StdioServerParameters(command=str(binary()), args=["mcp", *flags], env=environment))


@contextlib.contextmanager
def listening(url, home, *flags):
    """The address of a command that serves HTTP for the server at url. It has no token of its own."""
    environment = {"PATH": os.environ["PATH"], "TILTYARD_URL": url, "HOME": str(home)}
    command = [str(binary()), "mcp", "--listen", "127.0.0.1:0", *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield re.search(r" at (http://127\.0\.0\.1:\d+/), ", process.stderr.readline())[1]
        finally:
            process.terminate()
    assert process.returncode == 0


def http_client(url, **settings):
    """A client of a command that serves HTTP."""
    return Client(streamable_http_client(url, http_client=httpx2.AsyncClient(**settings)))


@contextlib.contextmanager
def over_http(server, token, *flags):
    """What a client needs to reach a command that serves HTTP."""
    with listening(server.url, server.root.parent, *flags) as url:
        yield lambda: http_client(url, headers={"Authorization": f"Bearer {token}"})


class Renewed(httpx2.Auth):
    """Sends the tokens in turn, the next one after each 401, as a client that renews its token."""

    def __init__(self, *tokens):
        self.tokens, self.refusals = list(tokens), []

    def auth_flow(self, request):
        while True:
            if self.tokens[0]:
                request.headers["Authorization"] = f"Bearer {self.tokens[0]}"
            answer = yield request
            if answer.status_code != 401:
                return
            self.refusals.append(answer.headers["WWW-Authenticate"])
            if len(self.tokens) == 1:
                return
            del self.tokens[0]


def use(client, do):
    """Runs a conversation."""

    async def talk():
        async with client() as agent:
            return await do(agent)

    return asyncio.run(talk())


async def ask(agent, tool, **arguments):
    answer = await agent.call_tool(tool, arguments)
    assert not answer.is_error, answer.content[0].text
    assert json.loads(answer.content[0].text) == answer.structured_content
    return answer.structured_content


async def refused(agent, tool, **arguments) -> str:
    answer = await agent.call_tool(tool, arguments)
    assert answer.is_error, answer.structured_content
    return answer.content[0].text


@pytest.fixture(params=[over_stdio, over_http], ids=["stdio", "http"])
def connect(request):
    return request.param


def test_an_agent_reads(server, connect):
    async def talk(agent):
        tools = (await agent.list_tools()).tools
        assert {t.name for t in tools} == READING and all(t.annotations.read_only_hint for t in tools)
        assert (await ask(agent, "list_namespaces"))["namespaces"] == ["open", "secret"]
        assert (await ask(agent, "list_tables"))["tables"] == ["open/notes", "secret/notes"]
        found = await ask(agent, "describe_table", table="open/notes")
        assert found["rows"] == 300 and found["text_columns"] == ["text"]
        assert [(c["name"], c["length"]) for c in found["vector_columns"]] == [("vector", 2)]
        page = await ask(agent, "query_rows", table="open/notes", filter="id >= 5", order_by=["-id"], limit=2)
        assert page["rows"] == [{"id": i, "text": f"word{i % 3} of open"} for i in (299, 298)]
        assert page["next_offset"] == 2 and page["omitted_columns"] == ["vector: fixed_size_list<float32>[2]"]
        near = await ask(agent, "search_vector", table="open/notes", like="id = 7", columns=["id", "vector"], limit=1)
        assert near["rows"] == [{"id": 7, "vector": [7, 1], "_distance": 0}]
        words = await ask(agent, "search_text", table="open/notes", words="word2", filter="id < 10")
        assert {row["id"] for row in words["rows"]} == {2, 5, 8} and all(row["_score"] > 0 for row in words["rows"])
        assert (await ask(agent, "count_rows", table="open/notes", filter="id % 2 = 0"))["rows"] == 150
        assert "text_idx" in (await ask(agent, "explain_query", table="open/notes", words="word2"))["plan"]
        shown = await agent.read_resource("tiltyard://table/open/notes")
        assert len(json.loads(shown.contents[0].text)["sample"]["rows"]) == 5
        assert "does not exist" in await refused(agent, "query_rows", table="open/none")
        with pytest.raises(MCPError, match="insert_rows"):
            await agent.call_tool("insert_rows", {"table": "open/notes", "rows": [{"id": 1}]})

    with connect(server, server.token) as client:
        use(client, talk)


def test_an_agent_writes(server, connect):
    async def talk(agent):
        assert {t.name for t in (await agent.list_tools()).tools} == READING | CHANGING
        columns = [{"name": "id", "type": "int64"}, {"name": "v", "type": "vector[2]"}]
        made = await ask(agent, "create_table", table="open/made", columns=columns, rows=[{"id": 2**53 + 1, "v": [1, 2]}])
        assert (await ask(agent, "insert_rows", table="open/made", rows=[{"id": 2}, {"id": 3}]))["rows"] == 2
        assert (await ask(agent, "delete_rows", table="open/made", filter="id < 3"))["rows"] == 1
        await ask(agent, "tag_version", table="open/made", tag="first", version=made["version"])
        await ask(agent, "restore_version", table="open/made", version=made["version"])
        assert (await ask(agent, "list_versions", table="open/made"))["tags"] == {"first": made["version"]}

    with connect(server, server.token, "--write") as client:
        use(client, talk)
    db = database(server)
    assert db.open_table("made", namespace_path=["open"]).search().to_list() == [{"id": 2**53 + 1, "v": [1, 2]}]
    db.drop_table("made", namespace_path=["open"])


def test_policies_hold(server, connect):
    async def talk(agent):
        assert (await ask(agent, "list_tables"))["tables"] == ["open/notes"]
        assert (await ask(agent, "count_rows", table="open/notes"))["rows"] == 300
        for tool in ("describe_table", "query_rows", "count_rows", "table_stats", "list_versions"):
            assert "does not exist" in await refused(agent, tool, table="secret/notes")
        assert "permi" in await refused(agent, "delete_rows", table="open/notes", filter="true")

    with connect(server, GRACE, "--write") as client:
        use(client, talk)


def test_a_wrong_token_is_refused(server):
    async def talk(agent):
        assert "token" in await refused(agent, "list_tables")

    with over_stdio(server, "wrong") as client:
        use(client, talk)


def test_over_http_a_wrong_token_gets_401_and_may_be_replaced(server):
    tokens = Renewed("", "wrong", GRACE)
    with listening(server.url, server.root.parent) as url:
        found = use(lambda: http_client(url, auth=tokens), lambda agent: ask(agent, "list_tables"))
    assert found["tables"] == ["open/notes"]
    assert tokens.refusals == ["Bearer", 'Bearer error="invalid_token"']


def test_over_http_a_wrong_token_ends_the_conversation(server):
    tokens = Renewed("wrong")
    with listening(server.url, server.root.parent) as url, pytest.raises(ExceptionGroup) as failed:
        use(lambda: http_client(url, auth=tokens), lambda agent: ask(agent, "list_tables"))
    assert failed.value.subgroup(MCPError) and tokens.refusals


def test_over_http_an_unreachable_server_is_no_wrong_token(server, tmp_path):
    answers = []

    async def note(answer):
        answers.append((answer.status_code, "Retry-After" in answer.headers))

    with listening("http://127.0.0.1:1", tmp_path) as url, pytest.raises(ExceptionGroup):
        headers = {"Authorization": f"Bearer {server.token}"}
        settings = {"headers": headers, "event_hooks": {"response": [note]}, "timeout": 60}
        use(lambda: http_client(url, **settings), lambda agent: ask(agent, "list_tables"))
    assert set(answers) == {(503, True)}


def test_configurations_start_the_command(server):
    """Those of docs/mcp.md do, with this program and this server."""
    page = (DOCS / "mcp.md").read_text()
    found = [json.loads(text) for text in re.findall(r"^```json.*?\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)]
    servers = [entry for one in found for entry in (one.get("mcpServers") or one["servers"]).values()]
    assert len(servers) == 2
    for entry in servers:
        assert entry["command"] == "tiltyard" and set(entry["env"]) == {"TILTYARD_URL", "TILTYARD_TOKEN"}
        with over_stdio(server, server.token, *entry["args"][1:]) as client:
            use(client, lambda agent: ask(agent, "list_tables"))
