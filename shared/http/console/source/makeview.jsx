// The form that makes a materialized view of a table, with the rows that the view would have now.

import { useState } from "preact/hooks";
import { Action } from "./action.jsx";
import * as api from "./api.js";
import { Cell } from "./cell.jsx";
import { countOf } from "./find.js";
import { count } from "./format.js";
import { go, tableLink } from "./place.js";
import { quoted } from "./schema.js";
import { shell } from "./snippets.js";
import { Field, Problem, Table, say, useAsync } from "./ui.jsx";
import { records } from "../static/console/values.js";

const previewed = 5, wait = 300;
const hidden = new Set(["__source_row_id", "__child_index"]); // which the service adds to views

/** The query of a view with these columns and this condition. */
const queryOf = (names, columns, filter) => `SELECT ${columns.map(quoted).join(", ")} FROM ${names.map(quoted).join(".")}${filter ? ` WHERE ${filter}` : ""}`;

export function MakeView({ names, schema, then }) {
  const all = schema.fields.map((f) => f.name).filter((name) => !hidden.has(name));
  const [open, setOpen] = useState(false);
  const [name, setName] = useState("");
  const [columns, setColumns] = useState(all);
  const [filter, setFilter] = useState("");
  const [follows, setFollows] = useState(true);
  const condition = filter.trim(), query = queryOf(names, columns, condition), view = [...names.slice(0, -1), name || "NAME"];
  const toggle = (one) => setColumns((now) => all.filter((other) => now.includes(other) !== (other === one)));
  return (
    <div onToggleCapture={(event) => setOpen(event.target.open)}>
      <Action names={view} title="Make a materialized view" button="Make the view" change={{
        kind: "materialized_view", operation: "create", body: { query, ...(follows ? { auto_refresh: true } : {}) }, cli: follows ? "" : `view create ${view.join("/")} ${shell(query)} --wait`,
      }} then={() => { say(`The view ${name} is made. A job computes its rows.`); then(); go(tableLink(view, { tab: "views" })); }}>
        <Field label="Name"><input name="view" required value={name} pattern="[^$\/]+" title="a name without $ and /" autocomplete="off" onInput={(event) => setName(event.currentTarget.value.trim())} /></Field>
        <Field label="Rows that meet the condition"><input name="filter" value={filter} size={36} placeholder="all rows" autocomplete="off" spellcheck={false} onInput={(event) => setFilter(event.currentTarget.value)} /></Field>
        <label class="check"><input type="checkbox" name="follows" checked={follows} onChange={() => setFollows(!follows)} /> follows its source</label>
        <fieldset class="columns-of-view"><legend>Columns</legend>
          {all.map((one) => <label key={one} class="check"><input type="checkbox" checked={columns.includes(one)} disabled={columns.length === 1 && columns[0] === one} onChange={() => toggle(one)} /> {one}</label>)}
        </fieldset>
        {open && <Preview names={names} columns={columns} filter={condition} />}
      </Action>
    </div>
  );
}

/** The first rows that the view would have, and how many those are. */
function Preview({ names, columns, filter }) {
  const state = useAsync(async (signal) => {
    await new Promise((resolve) => setTimeout(resolve, wait));
    if (signal.aborted) throw new DOMException("", "AbortError");
    const body = filter ? { filter } : {};
    const [total, answer] = await Promise.all([countOf(names, body, signal), api.rows(api.ofTable(names, "query"), { ...body, k: previewed, columns: { column_names: columns } }, signal)]);
    return { total, columns, rows: records(answer) };
  }, [names.join("$"), columns.join("$"), filter]);
  if (state.error) return <Problem error={state.error} />;
  if (!state.value) return <p class="quiet preview-of-view" aria-busy="true">Reading the rows …</p>;
  const { total, columns: shown, rows } = state.value;
  return <div class="preview-of-view" aria-live="polite"><Table caption={total === 0 ? "The view would have no rows now" : `The view would have ${count(total, "row")} now; the first are`} head={shown} rows={rows.map((row) => shown.map((name) => <Cell value={row[name]} />))} /></div>;
}
