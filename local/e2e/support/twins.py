"""Steps in the past of a table that the service takes and native Lance takes, too, on a copy
of the table's files: afterwards both must hold the same rows.

They are compared in the order of their ids, which rows of a table with stable row ids keep:
some changes rewrite rows here and columns there."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable

import lance
import pyarrow as pa

from native import Refused, native_calls
from rows import assert_same, by, holds_dictionary, without_dictionaries

REFUSED = (400, 404, 409, 501)
# Not moments of finer units: native Lance lets dates that have no place there wrap around.
TYPES = [pa.int64(), pa.int16(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), pa.date32(), pa.timestamp("s")]
SPOKEN = {pa.timestamp("s"): "timestamp:s:-", pa.date32(): "date32"}  # as clients write a type that is not its name


class Twins:
    """Is mixed into a history, whose table and source of random choices it uses."""

    def twin_steps(self) -> dict[str, Callable]:
        return {
            "we delete": self._we_delete,
            "we update": self._we_update,
            "we merge some columns": self._we_merge,
            "we add a column": self._we_add,
            "we drop a column": self._we_drop,
            "we rename a column": self._we_rename,
            "we cast a column": self._we_cast,
            "we restore": self._we_restore,
            "we compact": self._we_compact,
        }

    def _alike(self, native: Callable, ours: Callable) -> None:
        """Has both do the same. What native Lance refuses, the service may refuse or do."""
        stable = self.native().has_stable_row_ids
        before = self.native().version
        copy = self.place.with_suffix(".twin")
        shutil.copytree(self.place, copy)
        try:
            with native_calls():
                native(lance.dataset(str(copy)))
                want = _rows(lance.dataset(str(copy)), stable)
        except Refused as refused:
            self.log.append(f"  refused: {refused}")
            want = None
        finally:
            shutil.rmtree(copy)
        answer = ours()
        if want is None:
            assert answer.status == 200 or answer.status in REFUSED, answer.body
            if self.native().version != before:
                self.native_version(before).restore()
            return
        assert answer.status == 200, answer.body
        after = self.native()
        after.validate()
        assert_same(_rows(after, stable), want, f"{self.log[-1]}, read by native Lance", metadata=True)

    def _post(self, operation: str, **fields) -> Callable:
        return lambda: self.wire.post(f"{self.path}/{operation}", fields)

    def _condition(self) -> str:
        i = int(self.random.random.integers(0, max(1, self.next_id)))
        return self.random.pick([f"id % 5 = {i % 5}", f"id < {i}", f"id = {i}", f"id % 10 <> {i % 10}", "true"], [4, 4, 4, 2, 1])

    def _we_delete(self, _dataset: lance.LanceDataset) -> None:
        where = self._say(self._condition())
        self._alike(lambda d: d.delete(where), self._post("delete", predicate=where))

    def _we_update(self, dataset: lance.LanceDataset) -> None:
        column = self._some_column(dataset)
        values = ["NULL", f'"{column}"', "'7'", "0", "id + 1000"]
        type_ = dataset.schema.field(column).type
        if isinstance(type_, pa.JsonType):
            values = values[:3]  # native Lance stores the bytes of numbers there, which are no JSON
        if holds_dictionary(type_) and not pa.types.is_dictionary(type_):
            values = values[:1]  # expressions make no dictionaries within lists
        value = self.random.pick(values)
        where = self._condition()
        self._say(f"{column} = {value} where {where}")
        self._alike(
            lambda d: d.update({column: value}, where=where),
            self._post("update", updates=[[column, value]], predicate=where),
        )

    def _we_merge(self, dataset: lance.LanceDataset) -> None:
        rows = self.overlapping(dataset.to_table()).select(list(dict.fromkeys(["id", self._some_column(dataset)])))
        fields = "on=id&when_matched_update_all=true"
        self._alike(
            lambda d: d.merge_insert("id").when_matched_update_all().execute(rows),
            lambda: self.wire.upload(f"{self.path}/merge_insert?{fields}", rows),
        )

    def _we_add(self, dataset: lance.LanceDataset) -> None:
        name = f"added{dataset.version}"
        expression = self._say(self.random.pick(["id * 2", "CAST(id AS STRING)", "id % 2 = 0", f'"{self._some_column(dataset)}"']))
        self._alike(
            lambda d: d.add_columns({name: expression}),
            self._post("add_columns", new_columns=[{"name": name, "expression": expression}]),
        )

    def _we_drop(self, dataset: lance.LanceDataset) -> None:
        name = self._some_column(dataset)
        self._alike(lambda d: d.drop_columns([name]), self._post("drop_columns", columns=[name]))

    def _we_rename(self, dataset: lance.LanceDataset) -> None:
        name = self._some_column(dataset)
        change = {"path": name, "name": f"renamed{dataset.version}"}
        asked = {"path": name, "rename": change["name"]}
        self._alike(lambda d: d.alter_columns(change), self._post("alter_columns", alterations=[asked]))

    def _we_cast(self, dataset: lance.LanceDataset) -> None:
        name, to = self._some_column(dataset), self._say(self.random.pick(TYPES))
        asked = {"path": name, "data_type": {"type": SPOKEN.get(to, str(to))}}
        self._alike(
            lambda d: d.alter_columns({"path": name, "data_type": to}), self._post("alter_columns", alterations=[asked])
        )

    def _we_restore(self, dataset: lance.LanceDataset) -> None:
        version = self._say(int(self.random.random.integers(1, dataset.version + 1)))
        restored = lambda d: lance.dataset(d.uri, version=version).restore()
        self._alike(restored, self._post("restore", version=version))

    def _we_compact(self, _dataset: lance.LanceDataset) -> None:
        self._alike(lambda d: None, self._compacted)

    def _compacted(self):
        begun = self.wire.post(f"{self.path}/maintain", {"compact": True})
        assert begun.status == 200, begun.body
        while (job := self.wire.post("/v1/jobs/describe", {"job_id": begun.json["job_id"]}).json)["job_state"] == "IN_PROGRESS":
            time.sleep(0.005)
        assert job["job_state"] == "DONE", job
        return begun


def _rows(dataset: lance.LanceDataset, stable: bool) -> pa.Table:
    rows = without_dictionaries(dataset.to_table(with_row_id=True))
    return by(rows, "_rowid") if stable else by(rows.drop_columns("_rowid"), "id")
