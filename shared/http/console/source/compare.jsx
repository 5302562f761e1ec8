// Two versions of a table side by side: their columns, sizes and indices, and the rows that differ. The service tells
// which those are; only they are read.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { Cell } from "./cell.jsx";
import { number } from "./format.js";
import { address, go } from "./place.js";
import { plainColumns, typeText } from "./schema.js";
import { Choice, Field, Loaded, Table, useAsync } from "./ui.jsx";
import { jsonOf, records, textOf } from "../static/console/values.js";

const pageRows = 1000; // that are read at a time
const mostLines = 1000; // rows that are shown
const mostMoved = 20_000; // rows of either version whose values are compared, to tell those that only moved
const mostColumns = 6; // that are shown of a row which the other version lacks

export function Compare({ names, found, parameters }) {
  const columns = plainColumns(found.schema);
  const [key, setKey] = useState(columns.includes("id") ? "id" : "");
  const a = Number(parameters.a) || Math.max(1, found.version - 1), b = Number(parameters.b) || found.version;
  const state = useAsync(() => differences(names, a, b, key), [names.join("$"), a, b, key]);
  function compare(event) {
    event.preventDefault();
    const form = event.currentTarget.elements;
    setKey(form.key.value);
    go(address("table", names, { ...parameters, a: form.a.value, b: form.b.value }));
  }
  const input = (name, value) => <input key={value} name={name} type="number" min={1} defaultValue={value} required />;
  return <>
    <form class="row" onSubmit={compare}>
      <Field label="Version">{input("a", a)}</Field><Field label="and version">{input("b", b)}</Field>
      <Field label="Match rows by"><Choice name="key" options={[["", "row ids"], ...columns]} value={key} onChange={(event) => setKey(event.currentTarget.value)} /></Field><button class="main">Compare</button>
    </form>
    <div aria-live="polite"><Loaded state={state} label="Comparing">{(drawn) => drawn}</Loaded></div>
  </>;
}

async function differences(names, a, b, key) {
  const at = (version) => Promise.all([
    api.describe(names, { version }), api.call(api.path("table", names, "count_rows"), { version }), api.call(api.path("table", names, "index/list"), { version }),
  ]);
  const [[was, wasRows, wasIndices], [is, isRows, isIndices]] = await Promise.all([at(a), at(b)]);
  const indexText = (list) => list.indexes.map((index) => `${index.index_name} (${index.index_type}, ${number(index.num_indexed_rows)} rows)`).join("; ") || "none";
  const change = (from, to) => to - from > 0 ? `+${number(to - from)}` : number(to - from);
  const rowsThatDiffer = await rows(names, key, [a, b]);
  return <>
    <Table caption={`Version ${a} and version ${b}`} head={["What", `Version ${a}`, `Version ${b}`, "Change"]} right={[1, 2, 3]} rows={[
      ["Rows", number(wasRows), number(isRows), change(wasRows, isRows)],
      ["Fragments", number(was.stats.num_fragments), number(is.stats.num_fragments), change(was.stats.num_fragments, is.stats.num_fragments)],
      ["Deleted rows", number(was.stats.num_deleted_rows), number(is.stats.num_deleted_rows), change(was.stats.num_deleted_rows, is.stats.num_deleted_rows)],
      ["Indices", indexText(wasIndices), indexText(isIndices), ""],
    ]} />
    <Columns was={was.schema} is={is.schema} />
    {rowsThatDiffer}
  </>;
}

function Columns({ was, is }) {
  const of = (schema) => new Map(schema.fields.map((f) => [f.name, `${typeText(f.type)}${f.nullable ? "" : ", never null"}`]));
  const before = of(was), after = of(is);
  const lines = [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name))
    .map((name) => [sign(before.has(name), after.has(name)), name, before.get(name) || "", after.get(name) || ""]);
  return lines.length === 0 ? <p>The columns are the same.</p> : <Table caption="Columns that differ" head={["", "Column", "Before", "After"]} rows={lines} />;
}

const sign = (was, is) => !was ? "+ added" : !is ? "− removed" : "± changed";

/** The rows that differ between two versions. */
async function rows(names, key, versions) {
  let told;
  try {
    told = await api.call(api.path("table", names, "version/compare"), { from_version: versions[0], to_version: versions[1], limit: mostMoved });
  } catch (refusal) {
    if (refusal.status !== 501) throw refusal;
    return <p>Which rows differ is not known: {refusal.message}.</p>;
  }
  const { removed, added, changed } = told;
  const count = removed.count + added.count + changed.count;
  if (count === 0) return <p>No rows differ.</p>;
  const most = told.stable_row_ids ? mostLines : mostMoved;
  const [before, after] = await Promise.all([[removed, versions[0]], [added, versions[1]]].map(([only, version]) =>
    take(names, version, [...changed.row_ids.slice(0, most), ...only.row_ids.slice(0, most)])));
  // Where ids do not stay, a row that only moved has an equal elsewhere, and a key tells which ones are versions of one row.
  const idOf = (record) => textOf(record._rowid), nameOf = (record) => key && record[key] ? textOf(record[key]) : idOf(record);
  const shared = Object.keys(before[0] || {}).filter((name) => name !== "_rowid" && name in (after[0] || {}));
  const wholeOf = (record) => JSON.stringify([told.stable_row_ids && idOf(record), ...shared.map((name) => jsonOf(record[name]))]);
  const [was, is] = before.length > 0 && after.length > 0 ? unequal(before, after, wholeOf) : [before, after];
  const lines = differing(was, is, told.stable_row_ids ? idOf : nameOf, nameOf, shared);
  const cut = most < Math.max(removed.count, added.count, changed.count);
  const note = !cut ? "" : told.stable_row_ids ? `, of ${number(count)} that were written`
    : ` among the first ${number(most)} that were removed, added or moved; there are ${number(count)}`;
  if (lines.length === 0) return <p>No rows differ{note}.</p>;
  const shown = lines.length > mostLines ? `, of which ${number(mostLines)} are shown` : "";
  return <Table caption={`Rows that differ: ${number(lines.length)}${shown}${note}`} head={["", key || "_rowid", "What"]} rows={lines.slice(0, mostLines)} />;
}

/** The rows of a version that have some ids. */
async function take(names, version, ids) {
  const pages = [];
  for (let from = 0; from < ids.length; from += pageRows) {
    const some = ids.slice(from, from + pageRows);
    pages.push(...records(await api.rows(api.path("table", names, "query"), { version, k: some.length, filter: `_rowid IN (${some})`, with_row_id: true })));
  }
  return pages;
}

/** The rows of two lists without those that have an equal in the other one, one by one. */
function unequal(before, after, wholeOf) {
  const left = Map.groupBy(after, wholeOf);
  const was = before.filter((record) => !left.get(wholeOf(record))?.pop());
  return [was, [...left.values()].flat()];
}

/** The lines for rows without an equal: those with the same id on both sides have changed. */
function differing(before, after, idOf, nameOf, shared) {
  const lines = [], changed = Map.groupBy(after, idOf);
  const alone = (record) => Object.keys(record).filter((name) => name !== "_rowid").slice(0, mostColumns)
    .map((name) => <span key={name} class="difference"><strong>{name}</strong> <Cell value={record[name]} /> </span>);
  for (const old of before) {
    const now = changed.get(idOf(old))?.shift();
    if (!now) {
      lines.push([sign(true, false), nameOf(old), alone(old)]);
      continue;
    }
    const names = shared.filter((name) => jsonOf(old[name]) !== jsonOf(now[name]));
    lines.push([sign(true, true), nameOf(old), names.map((name) => <div key={name} class="difference"><strong>{name}</strong> <Cell value={old[name]} /> → <Cell value={now[name]} /></div>)]);
  }
  return [...lines, ...[...changed.values()].flat().map((one) => [sign(false, true), nameOf(one), alone(one)])];
}
