"""Pylance as the second writer of a table of the service, and the answers that both must then
give. Tables lie in a directory or in S3, wherever the server under test may register them."""

from __future__ import annotations

import lance
import pyarrow as pa

from files import Folder
from rows import assert_same, by

ASK = {"k": 0, "vector": []}


class Served:
    """A place that is registered with the service under a name, and pylance beside it."""

    def __init__(self, wire, space: str, outside, name: str):
        self.wire, self.space, self.outside = wire, space, outside
        self.path = f"/v1/table/{space}${name}"
        self.place = str(outside / f"{space}-{name}.lance")

    def register(self) -> Served:
        self.post("register", location=self.place)
        return self

    def cloned(self, name: str) -> Served:
        """A shallow clone by pylance: a table of its own, whose rows are in the files of this one."""
        clone = Served(self.wire, self.space, self.outside, name)
        self.native().shallow_clone(clone.place, self.native().version)
        return clone.register()

    def native(self, version: int | None = None) -> lance.LanceDataset:
        return lance.dataset(self.place, version=version)

    def post(self, what: str, **body):
        answer = self.wire.post(f"{self.path}/{what}", body)
        assert answer.status == 200, answer.body
        return answer

    def rows(self, **ask) -> pa.Table:
        return self.post("query", **ASK, **ask).table

    def insert(self, rows: pa.Table) -> None:
        answer = self.wire.upload(f"{self.path}/insert", rows)
        assert answer.status == 200, answer.body

    def remove(self) -> None:
        """Deletes all files of the table, as shutil.rmtree does."""
        folder = Folder(self.place)
        folder.system.delete_dir(folder.path)

    def same(self, what: str, version: int | None = None) -> None:
        """The service reads the rows of a version that pylance reads, and counts them."""
        want = self.native(version).to_table()
        at = {} if version is None else {"version": version}
        assert_same(by(self.rows(**at), "id"), by(want, "id"), f"{what}, version {version}", metadata=True)
        assert self.post("count_rows", **at).json == want.num_rows, what

    def same_everywhere(self, what: str, newest_first: bool = False) -> None:
        """That of the newest version and all others, and there are no others."""
        numbers = [v["version"] for v in self.native().versions()]
        for version in sorted(numbers, reverse=newest_first):
            self.same(what, version)
        self.same(what)
        listed = self.post("version/list").json["versions"]
        assert sorted(v["version"] for v in listed) == sorted(numbers), what
        for version in range(1, max(numbers) + 6):
            if version not in numbers:
                answer = self.wire.post(f"{self.path}/query", {**ASK, "version": version})
                assert answer.status == 404, f"{what}: version {version} answers {answer.status}"


def replace_columns(dataset: lance.LanceDataset, values: pa.Table) -> None:
    """Writes columns anew beside the files that have the others, by pylance's update_columns."""
    fragments, fields = [], set()
    for fragment in dataset.get_fragments():
        updated, modified = fragment.update_columns(values, left_on="id", right_on="id")
        fragments.append(updated)
        fields |= set(modified)
    update = lance.LanceOperation.Update(updated_fragments=fragments, fields_modified=sorted(fields))
    lance.LanceDataset.commit(dataset.uri, update, read_version=dataset.version)
