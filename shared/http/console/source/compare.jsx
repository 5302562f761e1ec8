// Two versions of a table side by side: their columns, sizes and indices, and the rows that differ. The earlier one can be
// restored from here.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { Differences } from "./differences.jsx";
import { number } from "./format.js";
import { address, go } from "./place.js";
import { plainColumns, typeText } from "./schema.js";
import { Restore } from "./restore.jsx";
import { Choice, Field, Loaded, Table, say, useAsync } from "./ui.jsx";

export function Compare({ names, found, at, parameters, changed }) {
  const columns = plainColumns(found.schema), branch = at.branch ? { branch: at.branch } : {};
  const [key, setKey] = useState(columns.includes("id") ? "id" : "");
  const a = Number(parameters.a) || Math.max(1, found.version - 1), b = Number(parameters.b) || found.version;
  const may = useAsync(() => api.allowed(names), [names.join("$")]).value;
  const state = useAsync(() => sizes(names, branch, a, b), [names.join("$"), at.branch, a, b]);
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
    <Differences key={[names.join("$"), at.branch, a, b, key].join(" ")} names={names} at={branch} versions={[a, b]} field={found.schema.fields.find((f) => f.name === key)} />
    {may?.("RestoreTable") && !at.branch && Math.min(a, b) < found.version && <Restore names={names} latest={found.version} version={Math.min(a, b)} then={(said) => { say(said); changed(); }} />}
  </>;
}

/** What two versions hold, apart from their rows. */
async function sizes(names, branch, a, b) {
  const at = (version) => Promise.all([
    api.describe(names, { ...branch, version }), api.call(api.ofTable(names, "count_rows"), { ...branch, version }), api.call(api.ofTable(names, "index/list"), { ...branch, version }),
  ]);
  const [[was, wasRows, wasIndices], [is, isRows, isIndices]] = await Promise.all([at(a), at(b)]);
  const indicesOf = (list) => list.indexes.length === 0 ? "none" : list.indexes.map((index) => <div key={index.index_name}>{index.index_name} ({index.index_type}, {number(index.num_indexed_rows)} rows)</div>);
  const change = (from, to) => to - from > 0 ? `+${number(to - from)}` : number(to - from);
  return <>
    <Table caption={`Version ${a} and version ${b}`} head={["What", `Version ${a}`, `Version ${b}`, "Change"]} right={[1, 2, 3]} rows={[
      ["Rows", number(wasRows), number(isRows), change(wasRows, isRows)],
      ["Fragments", number(was.stats.num_fragments), number(is.stats.num_fragments), change(was.stats.num_fragments, is.stats.num_fragments)],
      ["Deleted rows", number(was.stats.num_deleted_rows), number(is.stats.num_deleted_rows), change(was.stats.num_deleted_rows, is.stats.num_deleted_rows)],
      ["Indices", indicesOf(wasIndices), indicesOf(isIndices), ""],
    ]} />
    <Columns was={was.schema} is={is.schema} />
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
