"""Names and delimiters: every string that a client can send is a name, and the same one for all
clients."""

from __future__ import annotations

import urllib.parse

import lance
import lance_namespace as n
import pytest

import sample
from namespaces import create
from rows import assert_same
from wire import stream

ODD_NAMES = [
    "with space",
    "ümläut",
    "東京",
    "dot.ted",
    "..",
    ".",
    "a/b",
    "%2F",
    "100%",
    "a+b",
    "a&b=c",
    "q?x#y",
    'quo"te',
    "o'k",
    "~tilde",
    "-",
    "_",
    "UPPER",
    "upper",
    "e\u0301",
    "é",
    "🛰",
    "nul",
    "con.txt",
    "a\\b",
    "x" * 256,
    "*",
    ":",
    "a@b",
    "semi;colon",
    " lead",
    "trail ",
]


@pytest.mark.parametrize("name", ODD_NAMES, ids=lambda s: ascii(s[:20]))
def test_odd_names(server, ns, space, name):
    server.sends(name)
    ns.create_namespace(n.CreateNamespaceRequest(id=[space, name], properties={"name": name}))
    id = [space, name, name]
    create(ns, id, sample.people(2))
    ns.insert_into_table(n.InsertIntoTableRequest(id=id), stream(sample.people(2, start=2)))
    assert ns.list_namespaces(n.ListNamespacesRequest(id=[space])).namespaces == [name]
    assert ns.list_tables(n.ListTablesRequest(id=[space, name])).tables == [name]
    assert ns.describe_namespace(n.DescribeNamespaceRequest(id=[space, name])).properties == {"name": name}
    described = ns.describe_table(n.DescribeTableRequest(id=id))
    assert (described.table, described.namespace) == (name, [space, name])
    assert ns.count_table_rows(n.CountTableRowsRequest(id=id)).count == 4
    ns.drop_table(n.DropTableRequest(id=id))
    ns.drop_namespace(n.DropNamespaceRequest(id=[space, name]))


@pytest.mark.parametrize(
    "name",
    ["with space", "ümläut", "dot.ted", "..", "a/b", "%2F", "100%", "a+b", "q?x#y", "x" * 256, "a\\b"],
    ids=lambda s: ascii(s[:20]),
)
def test_native_lance_opens_tables_of_odd_names(server, ns, space, name, opens):
    server.sends(name)
    id = [space, name]
    location = create(ns, id, sample.people(2)).location
    assert_same(lance.dataset(location).to_table(), sample.people(2))
    assert lance.dataset(location).validate() is None
    lance.write_dataset(sample.people(2, start=2), location, mode="append")
    assert ns.count_table_rows(n.CountTableRowsRequest(id=id)).count == 4


@pytest.mark.parametrize("name, other", [("p q", "p+q"), ("p+q", "p q"), ("+", " "), ("a b+c", "a+b c")])
def test_spaces_and_plus_signs(server, ns, space, name, other):
    """A request for one name never works on the other. An HTTP API does not show whether a plus
    sign was in the path: then the body has the name, or the request is refused."""
    wire, path = server.wire(), lambda name: f"/v1/table/{space}${urllib.parse.quote(name, safe='')}"
    for each in (name, other):
        ns.create_namespace(n.CreateNamespaceRequest(id=[space, each], properties={"name": each}))
        assert ns.describe_namespace(n.DescribeNamespaceRequest(id=[space, each])).properties == {"name": each}
        declared = wire.post(path(each) + "/declare", {"id": [space, each]})
        assert declared.status == 200, declared.body
    calls = [
        lambda: ns.insert_into_table(n.InsertIntoTableRequest(id=[space, name]), stream(sample.people(2))),
        lambda: ns.drop_table(n.DropTableRequest(id=[space, name])),
    ]
    for call in calls:
        try:
            call()
        except n.InvalidInputError as refused:
            assert server.behind_gateway and "plus sign" in str(refused)
    assert wire.post(path(other) + "/describe", {"id": [space, other]}).status == 200
    dropped = wire.post(path(name) + "/drop", {"id": [space, name]})
    assert dropped.status == (200 if server.behind_gateway else 404)
    assert ns.list_tables(n.ListTablesRequest(id=[space])).tables == [other]


def test_names_differ_by_every_byte(ns, space):
    names = ["a", "A", "a ", "é", "e\u0301", "a.b", "a-2eb", "a%2eb", "a_b", "a~"]
    for i, name in enumerate(names):
        ns.create_namespace(n.CreateNamespaceRequest(id=[space, name], properties={"i": str(i)}))
    for i, name in enumerate(names):
        assert ns.describe_namespace(n.DescribeNamespaceRequest(id=[space, name])).properties == {"i": str(i)}
    assert len(ns.list_namespaces(n.ListNamespacesRequest(id=[space])).namespaces) == len(names)


@pytest.mark.parametrize("delimiter", [".", "/", "::", "|", " ", "%", "+", "~~", "ß", "&"])
def test_delimiters(server, space, delimiter):
    server.sends(delimiter)
    ns = server.namespace(delimiter=delimiter)
    ns.create_namespace(n.CreateNamespaceRequest(id=[space, "inner"]))
    create(ns, [space, "inner", "t"], sample.people(3))
    assert ns.list_tables(n.ListTablesRequest(id=[space, "inner"])).tables == ["t"]
    if delimiter != ".":  # the root is then "/./", which the client's URLs cannot say
        assert space in ns.list_namespaces(n.ListNamespacesRequest(id=[])).namespaces
    plain = server.namespace()
    assert plain.count_table_rows(n.CountTableRowsRequest(id=[space, "inner", "t"])).count == 3


def test_depth(ns, space):
    id = [space]
    for i in range(14):
        id = [*id, f"level-{i}"]
        ns.create_namespace(n.CreateNamespaceRequest(id=id))
    create(ns, [*id, "t"], sample.people(1))
    assert ns.count_table_rows(n.CountTableRowsRequest(id=[*id, "t"])).count == 1
    with pytest.raises(n.InvalidInputError):
        ns.create_namespace(n.CreateNamespaceRequest(id=[*id, "x", "y"]))
