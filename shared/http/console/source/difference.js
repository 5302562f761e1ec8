// Finds the rows that differ between two versions, page by page. Where the service lists the ids of all of them, only
// they are read; if there are more than it lists, all rows of both versions are read in the order of a key.

import * as api from "./api.js";
import { number } from "./format.js";
import { literal } from "./search.js";
import { quoted } from "./schema.js";
import { isNull, jsonOf, records, textOf } from "../static/console/values.js";

const mostIds = 20_000; // that the service lists of each kind
const batch = 100, whole = 1000, windowRows = 2000, mostInWindow = 100_000;

/**
 * The differences between versions [a, b] as { next, told }: next(n) returns up to n lines and whether they are the last
 * ones, told() returns what was compared so far. A line is { sign, name, cells: [{ column, was, is }] }.
 */
export async function differences(names, at, [a, b], field) {
  const told = await api.call(api.ofTable(names, "version/compare"), { ...at, from_version: a, to_version: b, limit: mostIds });
  const kinds = [told.removed, told.added, told.changed];
  const count = kinds.reduce((sum, kind) => sum + kind.count, 0), cut = kinds.some((kind) => kind.count > kind.row_ids.length);
  const context = { read: (version, body, signal) => read(names, { ...at, version, ...body }, signal), a, b, told, field, progress: { text: "" }, count, cut };
  const source = cut && field ? byKey(context) : told.stable_row_ids ? byIds(context) : field ? byListedKeys(context) : byValues(context);
  return { next: (n) => take(source, n), told: () => context.progress.text, count };
}

/** Up to a number of lines of a generator. */
async function take(source, n) {
  const lines = [];
  while (lines.length < n) {
    const { value, done } = await source.next();
    if (done) return { lines, last: true };
    lines.push(value);
  }
  return { lines, last: false };
}

async function read(names, body) {
  return records(await api.rows(api.ofTable(names, "query"), { ...body, with_row_id: true }));
}

const idOf = (record) => textOf(record._rowid);
const filterOf = (ids) => ({ filter: `_rowid IN (${ids})`, k: ids.length });
const chunks = (list, size) => Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size));

/** The remark for lists of ids that are not complete, where no key leads to the other rows. */
const limited = ({ cut, count }) => cut ? ` The service lists the first ${number(mostIds)} rows of each kind; ${number(count)} rows were written in all. Match the rows by a key to compare all of them.` : "";

/** Ids stay, so they match the rows of both versions. */
async function* byIds(context) {
  const { read: rows, a, b, told, progress } = context, name = nameBy(context.field);
  let seen = 0;
  const pass = (n, what) => { seen += n; progress.text = `${number(seen)} of ${number(context.count)} rows that were written between the versions were compared, by their ids.${limited(context)}`; return what; };
  pass(0);
  for (const ids of chunks(told.changed.row_ids, batch)) {
    const [was, is] = await Promise.all([rows(a, filterOf(ids)), rows(b, filterOf(ids))]), after = new Map(is.map((one) => [idOf(one), one]));
    pass(ids.length);
    for (const old of was) yield* changed(old, after.get(idOf(old)), name);
  }
  for (const [kind, version, make] of [[told.removed, a, removed], [told.added, b, added]]) {
    for (const ids of chunks(kind.row_ids, batch)) {
      const found = await rows(version, filterOf(ids));
      pass(ids.length);
      for (const one of found) yield make(one, name);
    }
  }
}

/** Ids change when a row moves, so a key matches removed and added rows. */
async function* byListedKeys(context) {
  const { read: rows, a, b, told, field, progress } = context;
  const keysOf = async (version, ids) => (await Promise.all(chunks(ids, 5000).map((some) => rows(version, { ...filterOf(some), columns: { column_names: [field.name] } })))).flat();
  const [was, is] = await Promise.all([keysOf(a, told.removed.row_ids), keysOf(b, told.added.row_ids)]);
  const before = Map.groupBy(was, nameBy(field)), after = Map.groupBy(is, nameBy(field));
  const keys = [...new Set([...before.keys(), ...after.keys()])].sort((x, y) => (before.has(y) && after.has(y)) - (before.has(x) && after.has(x)));
  let seen = 0;
  for (const some of chunks(keys, batch)) {
    const full = async (version, groups) => {
      const ids = some.flatMap((key) => (groups.get(key) || []).map(idOf));
      return (await Promise.all(chunks(ids, whole).map((part) => rows(version, filterOf(part))))).flat();
    };
    const [old, now] = await Promise.all([full(a, before), full(b, after)]);
    seen += some.length;
    progress.text = `${number(seen)} of ${number(keys.length)} keys of rows that were written between the versions were compared, by ${field.name}.${limited(context)}`;
    yield* compared(old, now, nameBy(field));
  }
}

/** No key: a row that only moved has an equal elsewhere, and the others are removed and added. */
async function* byValues(context) {
  const { read: rows, a, b, told, progress } = context;
  const full = async (version, ids) => (await Promise.all(chunks(ids, whole).map((part) => rows(version, filterOf(part))))).flat();
  const [was, is] = await Promise.all([full(a, told.removed.row_ids), full(b, told.added.row_ids)]);
  progress.text = `${number(was.length)} rows of version ${a} and ${number(is.length)} of version ${b} were compared, by all their values; ids do not stay in this table.${limited(context)}`;
  const [left, right] = unequal(was, is);
  for (const one of left) yield removed(one, idOf);
  for (const one of right) yield added(one, idOf);
}

/** All rows of both versions, window by window in the order of a key. */
async function* byKey({ read: rows, a, b, field, progress }) {
  const column = quoted(field.name), order = { order_by: [{ column_name: field.name, ascending: true }] }, only = { columns: { column_names: [field.name] } };
  const value = (record) => literal(field.type, textOf(record[field.name]));
  let after = `${column} IS NOT NULL`, seen = [0, 0];
  for (;;) {
    const ends = (await Promise.all([a, b].map((version) => rows(version, { ...order, ...only, filter: after, k: 1, offset: windowRows })))).flat();
    const end = ends.sort((x, y) => smaller(x[field.name], y[field.name]) ? -1 : 1)[0];
    const filter = end ? `${after} AND ${column} <= ${value(end)}` : after;
    const [old, now] = await Promise.all([a, b].map((version) => rows(version, { ...order, filter, k: mostInWindow })));
    seen = [seen[0] + old.length, seen[1] + now.length];
    progress.text = `${number(seen[0])} rows of version ${a} and ${number(seen[1])} of version ${b} were compared, in the order of ${field.name}${end ? `, up to ${textOf(end[field.name])}` : `. These are all rows that have one`}.`;
    yield* compared(old, now, nameBy(field));
    if (!end) return;
    after = `${column} > ${value(end)}`;
  }
}

/** Whether a key comes before another. It only chooses how large a window is, so any order of texts will do. */
function smaller(x, y) {
  const [one, other] = [textOf(x), textOf(y)];
  return Number.isFinite(Number(one)) && Number.isFinite(Number(other)) ? Number(one) < Number(other) : one < other;
}

const nameBy = (field) => (record) => !field || !record[field.name] || isNull(record[field.name]) ? idOf(record) : textOf(record[field.name]);
const columnsOf = (record) => Object.keys(record).filter((name) => name !== "_rowid");
const removed = (record, name) => ({ sign: "− removed", name: name(record), cells: columnsOf(record).map((column) => ({ column, was: record[column] })) });
const added = (record, name) => ({ sign: "+ added", name: name(record), cells: columnsOf(record).map((column) => ({ column, is: record[column] })) });

/** The line of a row that is in both versions, unless its values are the same in the columns that both have. */
function* changed(was, is, name) {
  const cells = is ? columnsOf(was).filter((column) => column in is && jsonOf(was[column]) !== jsonOf(is[column])).map((column) => ({ column, was: was[column], is: is[column] })) : [];
  if (cells.length > 0) yield { sign: "± changed", name: name(was), cells };
}

/** The lines of rows of two versions that a name brings together. Several rows may have one. */
function* compared(before, after, name) {
  const [was, is] = unequal(before, after), left = Map.groupBy(is, name);
  for (const old of was) {
    const now = left.get(name(old))?.shift();
    if (now) yield* changed(old, now, name);
    else yield removed(old, name);
  }
  for (const now of [...left.values()].flat()) yield added(now, name);
}

/** The rows of two lists without those that have an equal in the other one, one by one. */
function unequal(before, after) {
  if (before.length === 0 || after.length === 0) return [before, after];
  const shared = columnsOf(before[0]).filter((column) => column in after[0]);
  const values = (record) => JSON.stringify(shared.map((column) => jsonOf(record[column])));
  const left = Map.groupBy(after, values);
  const was = before.filter((record) => !left.get(values(record))?.pop());
  return [was, [...left.values()].flat()];
}
