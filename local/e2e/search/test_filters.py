"""Random filters: the service and native Lance select the same rows.

E2E_FILTERS is the number of filters, and --seed the first seed:

    E2E_FILTERS=50000 make test-e2e ARGS='-k filters --seed 7'

Filters that native Lance refuses are not compared, but the service must not fail on them
either.
"""

from __future__ import annotations

import http.client
import os
import random
import time

import lance
import pytest

from filters import Filters, table
from wire import Answer

COMPARED = int(os.environ.get("E2E_FILTERS", "3000"))
LEAST_VALID = 0.75  # of the filters made
FRAGMENTS = 3


DAMAGED = 3000  # filters; Go's tests of shared/sql damage 100,000
SLOWEST = 20  # seconds; a server that a filter keeps busy takes minutes


@pytest.fixture(scope="module")
def both(server, outside, module_space, request):
    """The table as native Lance has it, and a function that asks the service."""
    rows = table(random.Random(request.config.getoption("--seed")))
    place = outside / f"{module_space}-filters.lance"
    per_file = rows.num_rows // FRAGMENTS
    dataset = lance.write_dataset(rows, place, max_rows_per_file=per_file, data_storage_version="2.2")
    wire = server.wire()
    path = f"/v1/table/{module_space}$filters"
    assert wire.post(f"{path}/register", {"location": str(place)}).status == 200

    def ask(text: str):
        try:
            return wire.post(f"{path}/query", {"k": 0, "vector": [], "filter": text, "columns": ["id"]})
        except http.client.RemoteDisconnected:  # an answer that had begun when a value failed
            return None

    yield dataset, ask
    wire.close()


def native_rows(dataset: lance.LanceDataset, text: str) -> list[int] | None:
    try:
        return dataset.to_table(columns=["id"], filter=text)["id"].to_pylist()
    except BaseException as refused:  # panics of the library are no Exceptions
        if isinstance(refused, (KeyboardInterrupt, TimeoutError)):
            raise
        return None


def difference(answer: Answer | None, want: list[int]) -> str | None:
    if answer is None or answer.status != 200:
        return "no answer" if answer is None else answer.json["error"]
    got = answer.table["id"].to_pylist()
    if got == want:
        return None
    return f"too many {sorted(set(got) - set(want))}, missing {sorted(set(want) - set(got))}"


@pytest.mark.slow
@pytest.mark.embedded("very many cases of the engine, which is the same behind a gateway")
def test_we_and_native_lance_select_the_same_rows(both, request):
    dataset, ask = both
    filters = Filters(random.Random(request.config.getoption("--seed") + 1))
    compared, made, faults = 0, 0, []
    while compared < COMPARED:
        text = filters.filter()
        made += 1
        want = native_rows(dataset, text)
        answer = ask(text)
        if want is None:
            assert answer is None or answer.status in (200, 400, 501), f"{text}: {answer.status} {answer.body}"
            continue
        compared += 1
        if problem := difference(answer, want):
            faults.append(f"{text}\n    {problem}")
    assert compared >= made * LEAST_VALID, f"native Lance took {compared} of {made} filters"
    assert not faults, f"{len(faults)} of {compared} filters:\n" + "\n".join(faults[:10])


def damaged(r: random.Random, text: str) -> str:
    """A filter with something removed, put in, repeated or nested too deeply."""
    at, size = r.randrange(len(text) + 1), r.randrange(8)
    piece = r.choice(["(", ")", "'", '"', "[", "AND", " NOT ", ",", ";", "--", "/*", "\0", "é", "1e999", "::", "CASE", "%s", "``"])
    depth = 1 << r.randrange(13)
    return r.choice([
        text[:at] + text[at + size :],
        text[:at] + piece + text[at:],
        text[: at + size] + text[at:],
        "(" * depth + text + ")" * (depth - r.randrange(2)),
        "NOT " * depth + text,
        f"{text} AND " * (depth >> 4) + text[:at],
        text.replace("(", "((", 1),
    ])


@pytest.mark.embedded("very many cases of the engine, which is the same behind a gateway")
def test_damaged_filters_are_refused_quickly(both, request):
    """The response to each is rows, or a 400 with a position in the filter, and none keeps the
    server busy."""
    _, ask = both
    r = random.Random(request.config.getoption("--seed") + 2)
    filters = Filters(r)
    refused = 0
    for _ in range(DAMAGED):
        text = damaged(r, filters.filter())
        began = time.perf_counter()
        answer = ask(text)
        took = time.perf_counter() - began
        assert took < SLOWEST, f"{text[:300]}: {took:.1f} s"
        if answer is None or answer.status == 200:
            continue
        assert answer.status in (400, 404, 501), f"{text[:300]}: {answer.status} {answer.body}"
        refused += 1
    assert refused > DAMAGED // 2, f"{refused} were refused"
