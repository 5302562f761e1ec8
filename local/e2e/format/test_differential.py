"""Random tables, read by the service and by native Lance: rows, nulls, schemas, row ids,
versions.

Each test is a table with its own seed: a random schema and a random history, in which native
Lance and the service write in turn (see histories.py). Then both read its versions, and the
results must be equal. The options --tables and --seed set the number of tables and the first
seed; 10,000 are worth a night after a change of the format's code:

    make test-e2e ARGS='-k differential --tables 10000 --seed 1000'
"""

from __future__ import annotations

import contextlib

import pyarrow as pa
import pytest

from histories import History, left_out
from native import Refused, native_calls
from random_tables import Generator
from rows import assert_same, without_dictionaries

OLDER_VERSIONS = 2  # that are compared beside the newest


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        first = metafunc.config.getoption("--seed")
        metafunc.parametrize("seed", range(first, first + metafunc.config.getoption("--tables")))


@pytest.fixture
def history(wire, outside, module_space, seed):
    return History(seed, wire, outside, module_space)


@pytest.mark.many
@pytest.mark.embedded("very many cases of the engine, which is the same behind a gateway")
def test_we_and_native_lance_see_the_same_table(history, seed):
    try:
        history.begin()
        history.go_on()
        compare(history, Generator(seed, "2.2", left_out))
        history.end()
    except BaseException as fault:
        fault.add_note("the history of the table:\n  " + "\n  ".join(history.log))
        fault.add_note(f"again: make test-e2e ARGS='-k differential --tables 1 --seed {seed}'")
        raise


def compare(history: History, random: Generator) -> None:
    """Compares the results of both for the newest version and for some older ones."""
    newest = history.native()
    numbers = [v["version"] for v in newest.versions()]
    listed = history.wire.post(f"{history.path}/version/list", {}).json["versions"]
    assert sorted(v["version"] for v in listed) == sorted(numbers)
    older = numbers[:-1] and {random.pick(numbers[:-1]) for _ in range(OLDER_VERSIONS)}
    for number in sorted({newest.version, *older}):
        dataset = history.native_version(number)
        want = dataset.to_table(with_row_id=True)
        got = ask(history, version=number, with_row_id=True)
        got, want = with_one_width(got, want)
        assert_same(got, want, f"version {number}", metadata=True)
        assert_same_metadata(got.schema, want.schema)
    compare_parts(history, newest, random)


def compare_parts(history: History, dataset, random: Generator) -> None:
    """Compares some columns and some rows, which take other ways through a reader."""
    name = random.pick(dataset.schema.names)
    count = dataset.count_rows()
    window = {"offset": int(random.random.integers(0, count + 1)), "limit": 1 + int(random.random.integers(0, 50))}
    got = ask(history, columns=[name], offset=window["offset"], k=window["limit"])
    assert_same(got, dataset.to_table(columns=[name], **window), f"column {name} from row {window['offset']}")
    condition = f"id % 7 = {random.random.integers(7)}"
    got = ask(history, filter=condition, columns=[name])
    with contextlib.suppress(Refused), native_calls():  # some nested columns it cannot filter
        assert_same(got, dataset.to_table(columns=[name], filter=condition), f"column {name} where {condition}")
    answer = history.wire.post(f"{history.path}/count_rows", {})
    assert (answer.status, answer.json) == (200, count)


def with_one_width(got: pa.Table, want: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The tables, without their dictionaries if an index has had to become wider: native Lance
    answers a table in chunks that each have a dictionary, and the service one for all."""
    types = [(g.type, w.type) for g, w in zip(got.schema, want.schema)]
    if any(pa.types.is_dictionary(w) and _index_width(g) > _index_width(w) for g, w in types):
        return without_dictionaries(got), without_dictionaries(want)
    return got, want


def _index_width(type_: pa.DataType) -> int:
    return type_.index_type.bit_width if pa.types.is_dictionary(type_) else 0


def assert_same_metadata(got: pa.Schema, want: pa.Schema) -> None:
    """Also below the top level, which schemas do not compare."""
    for g, w in zip(got, want):
        assert _inner_metadata(g) == _inner_metadata(w), f"metadata within column {w.name}"


def _inner_metadata(field: pa.Field) -> list:
    children = [field.type.field(i) for i in range(field.type.num_fields)]
    return [(c.name, dict(c.metadata or {}), _inner_metadata(c)) for c in children]


def ask(history: History, **fields) -> pa.Table:
    answer = history.wire.post(f"{history.path}/query", {"k": 0, "vector": [], **fields})
    assert answer.status == 200, answer.body
    return answer.table
