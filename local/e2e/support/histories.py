"""Random tables with a history, which native Lance and the service write in turn.

Native Lance performs random operations on a table; if it refuses one, nothing has happened. A
write of the service is checked at once: native Lance reads the table, and its rows must be
those before the write and those that were sent.
"""

from __future__ import annotations

import pathlib
import shutil
import urllib.parse

import lance
import pyarrow as pa

from native import Refused, native_calls
from random_tables import Generator
from rows import assert_same, by, without_dictionaries
from twins import Twins
from wire import Wire

STORAGE_VERSIONS = ["2.0", "2.1", "2.2"]
LEGACY = "legacy"  # is never beside others in one table
MOST_STEPS = 5


# What tables are made without, and why. All that the comparison does not cover is here.
TYPES_LEFT_OUT = {
    "native Lance does not read what it writes of these, unless alone": lambda type_, inside: (
        pa.types.is_fixed_size_list(type_) and pa.types.is_struct(type_.value_type)
    ),
}


def _plain_items(type_: pa.DataType) -> bool:
    """Whether the items of lists are as native Lance reads those of legacy data files."""
    item = type_.value_field
    extended = isinstance(item.type, pa.BaseExtensionType)
    return item.equals(pa.field("item", item.type), check_metadata=True) and not extended


LEGACY_TYPES_LEFT_OUT = {
    "native Lance does not read what it writes of these": lambda type_, inside: (
        (pa.types.is_list(type_) or pa.types.is_large_list(type_)) and not _plain_items(type_)
    ),
    "nor does it read nulls inside of others, where there are lists": lambda type_, inside: inside and type_ == pa.null(),
    "the service reads these, see test_legacy.py, and does not write": lambda type_, inside: pa.types.is_dictionary(type_),
}


def left_out(type_: pa.DataType, inside: str) -> bool:
    """Whether no table has the type, at the top or inside of other types."""
    return any(rule(type_, inside) for rule in TYPES_LEFT_OUT.values())


def legacy_left_out(type_: pa.DataType, inside: str) -> bool:
    """The same of tables of legacy data files."""
    return left_out(type_, inside) or any(rule(type_, inside) for rule in LEGACY_TYPES_LEFT_OUT.values())


class History(Twins):
    """One table and its history. log lists the steps, for the search for a fault."""

    def __init__(self, seed: int, wire: Wire, directory: pathlib.Path, space: str):
        self.random = Generator(seed, "2.2", left_out)
        self.version = self.random.pick([*STORAGE_VERSIONS, LEGACY], [1, 2, 3, 1])
        self.rows = Generator(seed, self.version, legacy_left_out if self.version == LEGACY else left_out)
        self.wire, self.place = wire, directory / f"{space}-{seed}.lance"
        self.path = f"/v1/table/{space}$t{seed}"
        self.log: list[str] = []
        self.next_id = 0

    # Beginnings

    def begin(self) -> None:
        """Creates the table: by native Lance, or by the service."""
        self.schema = self.rows.schema()
        rows = self.fresh(self.schema)
        if self.random.chance(0.35) and self.version == "2.2":
            self._created_by_us(rows)
        else:
            self._created_by_native(rows)

    def _created_by_us(self, rows: pa.Table) -> None:
        if (want := self._trial(rows)) is None:
            rows = self._storable(rows)
            want = self._trial(rows)
        self.log.append(f"we create {_shape(rows)}")
        answer = self.wire.upload(f"{self.path}/create", rows)
        assert answer.status == 200, answer.body
        self.place = pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(answer.json["location"]).path))
        assert_same(self.native().to_table(), want, "what we created, read by native Lance", metadata=True)

    def _created_by_native(self, rows: pa.Table) -> None:
        options = {
            "data_storage_version": self.version,
            "max_rows_per_file": self.random.pick([40, 200, 1500, 10_000]),
            "enable_stable_row_ids": self.random.chance(0.3),
            "enable_v2_manifest_paths": self.random.chance(0.8),
        }
        self.log.append(f"native creates {_shape(rows)} with {options}")
        try:
            with native_calls():
                lance.write_dataset(rows, self.place, **options).to_table()
        except Refused:
            shutil.rmtree(self.place, ignore_errors=True)
            rows = self._storable(rows)
            options["max_rows_per_file"] = 10_000  # it stumbles over slices of structs with nulls
            self.log.append(f"  of which it can store {rows.column_names}, in one file")
            lance.write_dataset(rows, self.place, **options)
        answer = self.wire.post(f"{self.path}/register", {"location": str(self.place)})
        assert answer.status == 200, answer.body

    def _storable(self, rows: pa.Table) -> pa.Table:
        """The columns that native Lance can store and read again."""
        return rows.select([n for n in rows.column_names if self._trial(rows.select([n])) is not None])

    def _trial(self, rows: pa.Table) -> pa.Table | None:
        """The rows as native Lance stores and reads them, if it can."""
        place = self.place.with_suffix(".trial")
        try:
            with native_calls():
                return lance.write_dataset(rows, place, data_storage_version=self.version).to_table()
        except Refused:
            return None
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def end(self) -> None:
        """Removes the table's files, so that many tables need no more room than one."""
        shutil.rmtree(self.place)

    # Steps

    def go_on(self) -> None:
        """Takes some steps."""
        for _ in range(self.random.random.integers(0, MOST_STEPS + 1)):
            self.step()

    def step(self) -> None:
        """Has one of the two do something to the table."""
        steps = {
            "we insert": self._insert,
            "we merge": self._merge,
            "we overwrite": self._overwrite,
            "native appends": self._native_appends,
            "native deletes": self._native_deletes,
            "native updates": self._native_updates,
            "native merges": self._native_merges,
            "native adds a column": self._native_adds,
            "native drops a column": self._native_drops,
            "native renames a column": self._native_renames,
            "native compacts": lambda d: d.optimize.compact_files(
                target_rows_per_fragment=self.random.pick([100, 10_000])
            ),
            "native indexes": lambda d: d.create_scalar_index("id", "BTREE"),
            "native restores": self._native_restores,
            "native overwrites": self._native_overwrites,
            "native sets metadata": self._native_sets_metadata,
            **self.twin_steps(),
        }
        weights = [4, 3, 0.5, 3, 3, 2, 2, 2, 1, 1, 2, 1, 0.5, 0.5, 1, 3, 3, 2, 2, 1, 1, 2, 0.5, 2]
        name = self.random.pick(list(steps), weights)
        dataset = self.native()
        self.log.append(name)
        if name.startswith("we"):
            steps[name](dataset)
            return
        try:
            with native_calls():
                steps[name](dataset)
                self.native().to_table()
        except Refused as refused:
            self.log.append(f"  refused: {refused}")
            if self.native().version != dataset.version:
                # It wrote what it cannot read; nobody can say what would be right then.
                self.native_version(dataset.version).restore()

    def _insert(self, dataset: lance.LanceDataset) -> None:
        rows = self.fresh(dataset.schema)
        names, absent = list(rows.column_names), set()
        if self.random.chance(0.3):
            self.random.random.shuffle(names)
        if self.random.chance(0.2):
            absent = {n for n in names if self._may_be_absent(rows.schema.field(n)) and self.random.chance(0.4)}
            names = [n for n in names if n not in absent]
        self._say(rows.select(names))
        before = dataset.to_table()
        answer = self.wire.upload(f"{self.path}/insert", rows.select(names))
        assert answer.status == 200, answer.body
        for name in absent:
            i = rows.column_names.index(name)
            rows = rows.set_column(i, rows.schema.field(i), pa.nulls(rows.num_rows, rows.schema.field(i).type))
        after, want = self.native(), pa.concat_tables([before, rows])
        after.validate()
        assert_same(after.to_table(), want, "what we inserted, read by native Lance", metadata=True)

    def _may_be_absent(self, field: pa.Field) -> bool:
        if self.version == LEGACY:
            return False  # both refuse it
        unstorable = self.version == "2.0" and pa.types.is_struct(field.type)
        return field.nullable and field.name != "id" and not unstorable

    def _merge(self, dataset: lance.LanceDataset) -> None:
        before = dataset.to_table()
        rows = self.overlapping(before)
        self._say(rows)
        fields = "on=id&when_matched_update_all=true&when_not_matched_insert_all=true"
        answer = self.wire.upload(f"{self.path}/merge_insert?{fields}", rows)
        assert answer.status == 200, answer.body
        fresh = set(rows["id"].to_pylist())
        kept = before.filter(pa.array([i not in fresh for i in before["id"].to_pylist()], pa.bool_()))
        after = self.native()
        after.validate()
        got, want = after.to_table(), pa.concat_tables([kept, rows])
        assert_same(_by_id(got), _by_id(want), "what we merged, read by native Lance", metadata=True)

    def _overwrite(self, _dataset: lance.LanceDataset) -> None:
        rows = self.plain_rows()
        want = self._trial(rows)
        if want is None:
            return
        self._say(rows)
        answer = self.wire.upload(f"{self.path}/insert?mode=overwrite", rows)
        assert answer.status == 200, answer.body
        after = self.native()
        after.validate()
        assert_same(after.to_table(), want, "what we overwrote, read by native Lance", metadata=True)

    def _native_appends(self, dataset: lance.LanceDataset) -> None:
        options = {}
        if self.random.chance(0.15):  # a table may hold files of several versions
            options = self._say({"data_storage_version": self.random.pick(STORAGE_VERSIONS)})
        lance.write_dataset(self.fresh(dataset.schema), dataset, mode="append", **options)

    def _native_deletes(self, dataset: lance.LanceDataset) -> None:
        i = int(self.random.random.integers(0, max(1, self.next_id)))
        conditions = [f"id % 5 = {i % 5}", f"id < {i}", f"id = {i}", f"id % 10 <> {i % 10}", "true"]
        dataset.delete(self._say(self.random.pick(conditions, [4, 4, 4, 2, 1])))

    def _native_updates(self, dataset: lance.LanceDataset) -> None:
        if (column := self._some_column(dataset)) == "id":
            return
        value = self.random.pick(["NULL", f'"{column}"', "0", "'7'"])
        where = f"id % 3 = {self.random.random.integers(3)}"
        self._say(f"{column} = {value} where {where}")
        dataset.update({column: value}, where=where)

    def _native_merges(self, dataset: lance.LanceDataset) -> None:
        rows = self.overlapping(dataset.to_table())
        if self.random.chance(0.3):  # some columns of rows that are there
            rows = rows.select(["id", self._some_column(dataset)])
            dataset.merge_insert("id").when_matched_update_all().execute(rows)
        else:
            dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def _native_adds(self, dataset: lance.LanceDataset) -> None:
        name = f"added{dataset.version}"
        field = self.rows.field(name)
        way = self._say(self.random.pick(["an expression", "nulls", "rows", "a join"]))
        if way == "an expression":
            dataset.add_columns({name: self.random.pick(["id * 2", "CAST(id AS STRING)", "id % 2 = 0"])})
        elif way == "nulls":
            dataset.add_columns(field.with_nullable(True))
        elif way == "rows":
            columns = self.rows.table(pa.schema([field]), dataset.count_rows())
            dataset.add_columns(columns.to_reader())
        else:
            ids = dataset.to_table(columns=["id"])
            dataset.merge(ids.append_column(field, self.rows.column(field, ids.num_rows)), "id")

    def _native_drops(self, dataset: lance.LanceDataset) -> None:
        if (name := self._some_column(dataset)) != "id":
            dataset.drop_columns([name])

    def _native_renames(self, dataset: lance.LanceDataset) -> None:
        if (name := self._some_column(dataset)) != "id":
            dataset.alter_columns({"path": name, "name": f"renamed{dataset.version}"})

    def _native_restores(self, dataset: lance.LanceDataset) -> None:
        version = int(self.random.random.integers(1, dataset.version + 1))
        self.native_version(version).restore()

    def _native_overwrites(self, dataset: lance.LanceDataset) -> None:
        lance.write_dataset(self.fresh(self.rows.schema()), dataset, mode="overwrite")

    def _native_sets_metadata(self, dataset: lance.LanceDataset) -> None:
        dataset.update_schema_metadata(self.random.metadata(), replace=True)
        dataset.update_config({"tests.note": "ä"})

    # What steps are made of

    def native(self) -> lance.LanceDataset:
        return lance.dataset(str(self.place))

    def native_version(self, version: int) -> lance.LanceDataset:
        return lance.dataset(str(self.place), version=version)

    def fresh(self, schema: pa.Schema) -> pa.Table:
        """Rows with ids that no row has had."""
        count = self.rows.length()
        first, self.next_id = self.next_id, self.next_id + count
        return self._stored(self.rows.table(schema, count, first))

    def _stored(self, rows: pa.Table) -> pa.Table:
        """The rows as files hold them: legacy ones know few nulls."""
        if self.version != LEGACY or rows.num_rows == 0:
            return rows
        stored = self._trial(rows)
        return rows if stored is None else stored.cast(rows.schema)

    def plain_rows(self) -> pa.Table:
        """Rows that native Lance can store and read again in a new table."""
        return self._stored(self._storable(self.fresh(self.rows.schema())))

    def overlapping(self, before: pa.Table) -> pa.Table:
        """Rows of which some have ids of rows that are there."""
        count = min(self.rows.length(), 300)
        ids = sorted(set(before["id"].to_pylist()))[: count // 2]
        first, self.next_id = self.next_id, self.next_id + count
        ids += range(first, first + count - len(ids))
        rows = self.rows.table(before.schema, count)
        return self._stored(
            rows.set_column(rows.column_names.index("id"), rows.schema.field("id"), pa.array(ids, pa.int64()))
        )

    def _some_column(self, dataset: lance.LanceDataset) -> str:
        names = [n for n in dataset.schema.names if n != "id"]
        return self._say(self.random.pick(names)) if names else "id"

    def _say(self, more) -> str:
        self.log[-1] += f": {_shape(more) if isinstance(more, pa.Table) else more}"
        return more


def _by_id(rows: pa.Table) -> pa.Table:
    return by(without_dictionaries(rows), "id")


def _shape(rows: pa.Table) -> str:
    return f"{rows.num_rows} rows of {', '.join(map(_said, rows.schema))}"


def _said(field: pa.Field) -> str:
    hints = {k.decode(): v.decode() for k, v in (field.metadata or {}).items() if k.startswith(b"lance-encoding:")}
    return f"{field.name!r} {field.type}{'' if field.nullable else ' not null'}{f' {hints}' if hints else ''}"
