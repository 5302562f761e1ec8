"""Requests of every operation, with parts that are exchanged, removed or replaced at random."""

from __future__ import annotations

import copy
import random

VECTOR = [0.1] * 16
MATCH = {"terms": "a", "column": "name", "boost": 1.5, "fuzziness": 1, "max_expansions": 10, "operator": "And", "prefix_length": 1}

QUERIES = [
    {
        "vector": {"single_vector": VECTOR}, "k": 5, "offset": 1, "columns": {"column_names": ["id", "name"]}, "filter": "id > 3",
        "prefilter": True, "with_row_id": True, "distance_type": "l2", "nprobes": 3, "refine_factor": 2,
        "bypass_vector_index": True, "lower_bound": 0.1, "upper_bound": 9.5, "fast_search": True, "version": 1,
    },
    {"vector": {"multi_vector": [VECTOR, VECTOR]}, "k": 3, "ef": 10, "vector_column": "vector"},
    {"vector": [], "k": 4, "full_text_query": {"string_query": {"query": "a b", "columns": ["name"]}}},
    {
        "vector": VECTOR, "k": 4, "full_text_query": {"string_query": {"query": "a b", "columns": ["name"]}},
        "rerank": {"method": "rrf", "k": 60, "weights": {"vector": 2.0, "text": 0.5}},
    },
    *(
        {"vector": [], "k": 4, "full_text_query": {"structured_query": {"query": query}}}
        for query in (
            {"match": MATCH},
            {"boolean": {"must": [{"match": MATCH}], "should": [{"phrase": {"terms": "a b", "slop": 1, "column": "name"}}], "must_not": []}},
            {"boost": {"positive": {"match": MATCH}, "negative": {"match": MATCH}, "negative_boost": 0.5}},
            {"multi_match": {"match_queries": [MATCH]}},
        )
    ),
    {
        "vector": {}, "k": 0, "columns": {"column_aliases": {"x": "id + 1"}},
        "order_by": [{"column_name": "id", "ascending": False, "nulls_first": True}],
    },
]

# Operations on a table, which has the tag t1 and the branch b1.
OF_TABLES = [
    *(("query", query) for query in QUERIES),
    *(("explain_plan", {"query": query, "verbose": True}) for query in QUERIES),
    *(("analyze_plan", query) for query in QUERIES),
    ("count_rows", {"predicate": "id > 3", "version": 1}),
    ("describe", {"version": 1, "with_table_uri": True, "load_detailed_metadata": True, "check_declared": True}),
    ("exists", {"version": 1}),
    ("stats", {}),
    ("register", {"location": "/x", "mode": "Create", "properties": {"a": "b"}}),
    ("declare", {"location": "x", "properties": {"a": "b"}, "vend_credentials": False}),
    ("rename", {"new_table_name": "other", "new_namespace_id": ["nowhere"]}),
    ("clone", {"source_location": "x", "is_shallow": True, "source_version": 1, "source_tag": "t1"}),
    ("add_columns", {"new_columns": [{"name": "more", "expression": "id + 1"}]}),
    ("alter_columns", {"alterations": [{"path": "name", "rename": "called", "nullable": True, "data_type": {"type": "large_utf8"}}]}),
    ("drop_columns", {"columns": ["day"]}),
    ("update_field_metadata", {"updates": [{"path": "id", "metadata": {"a": "b"}, "replace": True}]}),
    ("schema_metadata/update", {"a": "b"}),
    ("update", {"predicate": "id = 1", "updates": [["name", "'x'"]], "properties": {"a": "b"}}),
    ("delete", {"predicate": "id = 2"}),
    ("page_cache/prewarm", {"columns": ["id"]}),
    ("fetch_blobs", {"column": "raw", "row_ids": [1, 2]}),
    ("index/list", {}),
    ("index/none/stats", {}),
    ("index/none/drop", {}),
    ("version/list", {"limit": 3, "descending": True, "page_token": "1"}),
    ("version/create", {"version": 3, "manifest_path": "x", "manifest_size": 3, "e_tag": "x", "naming_scheme": "V2"}),
    ("version/describe", {"version": 1}),
    ("version/delete", {"ranges": [{"start_version": 7, "end_version": 9}]}),
    ("restore", {"version": 1}),
    ("tags/list", {"limit": 1}),
    ("tags/version", {"tag": "t1"}),
    ("tags/create", {"tag": "t2", "version": 1, "branch": "b1"}),
    ("tags/update", {"tag": "t1", "version": 2}),
    ("tags/delete", {"tag": "t1"}),
    ("branches/list", {}),
    ("branches/create", {"name": "b2", "from_branch": "b1", "from_version": 1, "from_tag": "t1"}),
    ("branches/delete", {"name": "b1"}),
    ("maintain", {"compact": True, "cleanup": True, "dry_run": True, "older_than": "240h", "keep_versions": 3}),
]

# And others. In a path {s} is a namespace.
OTHERS = [
    ("/v1/namespace/{s}$x/create", {"mode": "Create", "properties": {"a": "b"}}),
    ("/v1/namespace/{s}$x/drop", {"mode": "Skip", "behavior": "Cascade"}),
    ("/v1/namespace/{s}/list", {"limit": 3, "page_token": "a"}),
    ("/v1/namespace/{s}/describe", {}),
    ("/v1/namespace/{s}/table/list", {"limit": 3, "include_declared": True}),
    ("/v1/table/version/batch-create", {"entries": [{"id": ["nowhere", "t"], "version": 5, "manifest_path": "x", "naming_scheme": "V2"}]}),
    (
        "/v1/table/batch-commit",
        {
            "operations": [
                {"declare_table": {"id": ["nowhere", "t"]}},
                {"create_table_version": {"id": ["nowhere", "t"], "version": 9, "manifest_path": "m"}},
                {"deregister_table": {"id": ["nowhere", "t"]}},
            ]
        },
    ),
    ("/v1/transaction/x/describe", {}),
    (
        "/v1/transaction/x/alter",
        {
            "actions": [
                {"setStatusAction": {"status": "Succeeded"}},
                {"setPropertyAction": {"key": "a", "value": "b", "mode": "Overwrite"}},
                {"unsetPropertyAction": {"key": "a", "mode": "Skip"}},
            ]
        },
    ),
    ("/v1/jobs/list", {"limit": 2, "page_token": "x"}),
    ("/v1/jobs/describe", {"job_id": "x"}),
    ("/v1/jobs/cancel", {"job_id": "x"}),
]

JUNK = [
    None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63), 2**64, 1e308, -0.5, 0.5, 1e-320,
    "", "a", "\0", "é" * 300, "x" * 5000, "$", "a$b", "..", "../..", "/", "id", "_rowid", "_distance", "_score", "id > 3", "[", "(", "'",
    "t1", "b1", "main", "9" * 30, "l2", "hamming", "2099-01-01T00:00:00Z", "1h", "NaN",
    [], {}, [[]], [{}], [None], ["id"], ["id", "id"], [1] * 17, VECTOR, [VECTOR] * 3, list(range(2000)),
    {"": 1}, {"type": "int64"}, {"single_vector": []}, {"multi_vector": [[]]},
]  # fmt: skip
SCRAPS = ["(", "'", "$", "/", "\0", "9", "-", "", ",", ".", "`", "\\"]


def mutant(r: random.Random, body: dict) -> dict:
    """A copy with one to three changes."""
    body = copy.deepcopy(body)
    for _ in range(r.choice([1, 1, 1, 2, 3])):
        *above, last = r.choice([path for path in _paths(body) if path] or [["branch"]])
        inside = body
        for step in above:
            inside = inside[step]
        _change(r, inside, last)
    return body


def _paths(x, path=()):
    yield path
    items = x.items() if isinstance(x, dict) else enumerate(x[:3]) if isinstance(x, list) else ()
    for name, value in items:
        yield from _paths(value, (*path, name))


def _change(r: random.Random, inside: dict | list, at: str | int) -> None:
    old = inside.get(at) if isinstance(inside, dict) else inside[at]
    chance = r.random()
    if chance < 0.15 and old is not None:
        del inside[at]
    elif chance < 0.35 and isinstance(old, str):
        i = r.randrange(len(old) + 1)
        inside[at] = old[:i] + r.choice(SCRAPS) + old[i + r.randrange(2) :]
    elif chance < 0.45 and isinstance(old, list):
        inside[at] = old * r.choice([2, 50])
    else:
        inside[at] = copy.deepcopy(r.choice(JUNK))
