"""Tables to which native Lance and the service write in turn, with all relations between
several tables and branches: clones that share files, branches and tags, tables that are dropped
and created again in the same place. After each step both read.

The service under test has read the earlier versions, and its response must equal that of native
Lance and of a server that has just been started."""

from __future__ import annotations

import contextlib
import copy
import pathlib
import shutil
from collections.abc import Callable

import lance
import pyarrow as pa

from histories import History
from native import Refused, native_calls
from rows import assert_same, without_dictionaries
from second_writer import replace_columns
from wire import Answer, Wire

BRANCH, TAG = "side/b", "t"
STEPS = 12
MOST_TABLES = 3


class Turns:
    """A random history of a table and its clones. log lists the steps."""

    def __init__(self, seed: int, wire: Wire, directory: pathlib.Path, space: str):
        first = History(seed, wire, directory, space)
        self.random, self.wire, self.log = first.random, wire, first.log
        self.tables = [first]
        self.clones = 0

    def begin(self) -> None:
        self.tables[0].begin()

    def end(self) -> None:
        for table in self.tables:
            shutil.rmtree(table.place)

    def go_on(self) -> None:
        """Takes a step."""
        table = self.random.pick(self.tables)
        steps: dict[str, Callable[[History], None]] = {
            "clone": self._clone,
            "drop and create": self._drop_and_create,
            "native replaces a column": self._replace_column,
            "native branches": self._native_branches,
            "we branch": self._we_branch,
            "native changes the branch": self._native_changes_branch,
            "we change the branch": self._we_change_branch,
            "native tags": self._native_tags,
            "we tag": self._we_tag,
        }
        if self.random.chance(0.5):
            table.step()
            self.log[-1] += f" ({table.place.name})"
            return
        name = self.random.pick(list(steps), [2, 3, 3, 2, 2, 2, 2, 1, 1])
        self.log.append(f"{name} ({table.place.name})")
        try:
            with native_calls():
                steps[name](table)
        except Refused as refused:
            self.log.append(f"  refused: {refused}")

    # Steps

    def _clone(self, table: History) -> None:
        if len(self.tables) == MOST_TABLES or table is not self.tables[0]:
            return
        self.clones += 1
        clone = copy.copy(table)
        clone.place = table.place.with_name(f"{table.place.stem}-clone{self.clones}.lance")
        clone.path = f"{table.path}-clone{self.clones}"
        version = self._version(table.native())
        table.native().shallow_clone(str(clone.place), version)
        self._register(clone)
        self.tables.append(clone)

    def _drop_and_create(self, table: History) -> None:
        """Deletes the folder, as anyone with access to it may; sometimes the service drops the
        table."""
        if table is self.tables[0]:
            for clone in self.tables[1:]:  # nothing is left of their files
                self._post(clone, "deregister")
                shutil.rmtree(clone.place)
            del self.tables[1:]
        ours = self.random.chance(0.3)
        if ours:
            self._post(table, "drop")
        shutil.rmtree(table.place, ignore_errors=True)
        rows, version = table.plain_rows(), table.version
        lance.write_dataset(rows, str(table.place), data_storage_version=version)
        if ours:
            self._register(table)
        for _ in range(int(self.random.random.integers(0, 3))):
            more = table.fresh(table.native().schema)
            lance.write_dataset(more, str(table.place), mode="append", data_storage_version=version)

    def _replace_column(self, table: History) -> None:
        dataset = table.native()
        names = [n for n in dataset.schema.names if n != "id"]
        ids = pa.array(sorted(set(dataset.to_table(columns=["id"])["id"].to_pylist())), pa.int64())
        if names:
            field = dataset.schema.field(self.random.pick(names))
            replace_columns(dataset, pa.table({"id": ids, field.name: table.rows.column(field, len(ids))}))

    def _native_branches(self, table: History) -> None:
        dataset = table.native()
        if BRANCH in dataset.branches.list():
            dataset.branches.delete(BRANCH)
        table.native().create_branch(BRANCH, self._version(dataset))

    def _we_branch(self, table: History) -> None:
        self.wire.post(f"{table.path}/branches/delete", {"name": BRANCH})
        self._post(table, "branches/create", name=BRANCH, from_version=self._version(table.native()))

    def _native_changes_branch(self, table: History) -> None:
        if branch := self._branch(table):
            if self.random.chance(0.5):
                branch.insert(table.fresh(branch.schema))
            else:
                branch.delete("id % 3 = 1")

    def _we_change_branch(self, table: History) -> None:
        if branch := self._branch(table):
            if self.random.chance(0.5):
                answer = self.wire.upload(f"{table.path}/insert?branch={BRANCH}", table.fresh(branch.schema))
                assert answer.status == 200, answer.body
            else:
                self._post(table, "update", branch=BRANCH, predicate="id % 3 = 2", updates=[["id", "id + 1000000"]])

    def _native_tags(self, table: History) -> None:
        tags, version = table.native().tags, self._version(table.native())
        (tags.update if TAG in tags.list() else tags.create)(TAG, version)

    def _we_tag(self, table: History) -> None:
        there = TAG in table.native().tags.list()
        self._post(table, "tags/update" if there else "tags/create", tag=TAG, version=self._version(table.native()))

    def _version(self, dataset: lance.LanceDataset) -> int:
        return self.random.pick([v["version"] for v in dataset.versions()])

    def _branch(self, table: History) -> lance.LanceDataset | None:
        dataset = table.native()
        return dataset.checkout_version((BRANCH, None)) if BRANCH in dataset.branches.list() else None

    def _register(self, table: History) -> None:
        self._post(table, "register", location=str(table.place))

    def _post(self, table: History, what: str, **body):
        answer = self.wire.post(f"{table.path}/{what}", body)
        assert answer.status == 200, answer.body
        return answer

    # Reads

    def look(self, cold: Wire | None = None) -> None:
        """Reads the newest version of each table, and something else at random."""
        for table in self.tables:
            self.compare(table, {}, cold)
            self.compare(table, self._some_read(table), cold)

    def look_at_all(self, cold: Wire) -> None:
        """Reads all versions of all tables and branches."""
        for table in self.tables:
            for version in table.native().versions():
                self.compare(table, {"version": version["version"]}, cold)
            if branch := self._branch(table):
                for version in branch.versions():
                    self.compare(table, {"branch": BRANCH, "version": version["version"]}, cold)
            tags = self._post(table, "tags/list").json["tags"]
            assert {n: t["version"] for n, t in tags.items()} == {n: t["version"] for n, t in table.native().tags.list().items()}

    def _some_read(self, table: History) -> dict:
        dataset = table.native()
        reads = [{"version": self._version(dataset)}]
        if branch := self._branch(table):
            reads += [{"branch": BRANCH}, {"branch": BRANCH, "version": self._version(branch)}]
        if tag := dataset.tags.list().get(TAG):
            reads.append({"version": tag["version"]})
        return self.random.pick(reads)

    def compare(self, table: History, which: dict, cold: Wire | None) -> None:
        """The service's response equals native Lance's reading, and the response of a cold
        server."""
        ask = {"k": 0, "vector": [], "with_row_id": True, **which}
        answer = self.wire.post(f"{table.path}/query", ask)
        what = f"{table.place.name} at {which or 'its newest version'}"
        if cold is not None:
            assert _told(cold.post(f"{table.path}/query", ask)) == _told(answer), f"{what}: a cold server answers otherwise"
        with contextlib.suppress(Refused):
            with native_calls():
                want = self._native_at(table, which).to_table(with_row_id=True)
            assert answer.status == 200, f"{what}: {answer.body}"
            assert_same(without_dictionaries(answer.table), without_dictionaries(want), what)
        count = self.wire.post(f"{table.path}/count_rows", which)
        assert (count.status, count.json) == (200, self._native_at(table, which).count_rows()), f"{what}: count {count.body}"

    def _native_at(self, table: History, which: dict) -> lance.LanceDataset:
        if "branch" in which:
            return table.native().checkout_version((BRANCH, which.get("version")))
        return table.native_version(which["version"]) if which else table.native()


def _told(answer: Answer) -> tuple:
    """Returns a response without the id of its request."""
    return (answer.status, answer.body if answer.status == 200 else answer.json | {"request_id": None})
