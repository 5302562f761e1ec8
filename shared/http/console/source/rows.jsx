// The rows of a table: the search box, the grid, and the panel beside it. All that is asked is in the address.

import { useEffect, useMemo, useState } from "preact/hooks";
import * as api from "./api.js";
import { Balance } from "./balance.jsx";
import { ColumnPanel } from "./column.jsx";
import { Download } from "./download.jsx";
import { RowPanel } from "./drawer.jsx";
import { Facets } from "./facets.jsx";
import { Pages, countOf, exampleVector, search } from "./find.js";
import { count } from "./format.js";
import { Grid } from "./grid.jsx";
import { Options } from "./options.jsx";
import { address, go } from "./place.js";
import { PlanPanel, planOf } from "./plan.jsx";
import { inWords } from "./plan.js";
import { bodyOf, compose, evenly, kindOf, parse, toggle } from "./search.js";
import { SearchBox } from "./searchbox.jsx";
import { forgetSearch, noteSearch, saveSearch, searchesOf } from "./searches.js";
import { CodePanel } from "./code.jsx";
import { isNumberType, isTextType, quoted, typeText, vectorColumns } from "./schema.js";
import { Menu, Problem, Segments, say, useAsync } from "./ui.jsx";
import { isNull, numbersOf, textOf } from "../static/console/values.js";

const kinds = { rows: "Rows", vector: "Vector", text: "Text", hybrid: "Hybrid" };
const heights = { dense: 28, comfortable: 44 };
const quick = 300; // milliseconds that a search may have taken to be measured once more for its words

export function Rows({ names, found, at, parameters }) {
  const { schema } = found;
  const vectors = useMemo(() => vectorColumns(schema), [schema]);
  const types = useMemo(() => new Map(schema.fields.map((f) => [f.name, typeText(f.type)])), [schema]);
  const indices = useAsync(() => api.call(api.ofTable(names, "index/list"), at).then((answer) => answer.indexes, () => []), [names.join("$"), at.version, at.branch]);
  const searched = (indices.value || []).filter((index) => index.index_type === "FTS").flatMap((index) => index.columns);
  const text = parameters.q || "";
  const parts = useMemo(() => parse(text, schema), [text, schema]);
  const kind = kindOf(parts, parameters.mode, searched.length > 0);
  const set = (change, replace = false) => go(address("table", names, { ...parameters, row: "", panel: "", about: "", ...change }), replace);
  const hidden = new Set((parameters.hide || "").split(",").filter(Boolean));
  const options = {
    k: Number(parameters.k) || undefined, nprobes: Number(parameters.nprobes) || undefined, refine: Number(parameters.refine) || undefined,
    metric: parameters.metric, textColumn: parameters.in, balance: Number(parameters.balance ?? evenly), order: parameters.order, desc: parameters.desc === "1",
    columns: hidden.size > 0 ? schema.fields.map((f) => f.name).filter((name) => !hidden.has(name)) : undefined,
  };
  const vectorColumn = parameters.column || vectors[0];
  const asked = JSON.stringify([names, at, parts, kind, options, vectorColumn, found.version]);
  const ready = indices.value !== undefined;

  // The search: its body, then either the pages of a scan, or the rows that were found.
  const [tick, setTick] = useState(0);
  const result = useAsync(async (signal) => {
    if (!ready) return undefined;
    const vector = parts.vector || (parts.like && kind !== "rows" && kind !== "text" ? await exampleVector(names, at, parts.like, vectorColumn, schema, signal) : null);
    const texts = schema.fields.filter((f) => isTextType(f.type)).map((f) => f.name);
    const body = bodyOf(kind, { ...parts, vector }, { schema, at, texts, vectorColumn, options });
    noteSearch(names, text);
    if (kind !== "rows") {
      const answer = await search(names, body, signal);
      return { ...answer, body, kind, total: answer.rows.length, source: { row: (i) => answer.rows[i], need() {} } };
    }
    const pages = new Pages(names, body, () => setTick((n) => n + 1));
    signal.addEventListener("abort", () => pages.stop());
    const [total] = await Promise.all([countOf(names, body, signal), pages.read(0)]);
    if (pages.error) throw pages.error;
    return { body, kind, total, source: pages, millis: pages.millis, columns: pages.columns || schema.fields.map((f) => f.name).filter((name) => !hidden.has(name)) };
  }, [asked, ready]);
  const shown = result.error ? null : result.value;

  const words = useAsync(async (signal) => {
    if (!shown) return "";
    const measured = kind !== "rows" && shown.millis < quick;
    return inWords(await planOf(names, { k: 100, ...shown.body }, measured, signal), indices.value);
  }, [shown]);

  const [widths, setWidths] = useState({});
  const [dense, setDense] = useState(localStorage.getItem("tiltyard.rows") !== "comfortable");
  const [facets, setFacets] = useState(localStorage.getItem("tiltyard.facets") === "1" && innerWidth > 1100);
  const columns = useMemo(() => shown ? columnsFor(shown, types, schema, widths) : [], [shown, types, widths, shown?.source.row(0) !== undefined]);
  const panel = parameters.row !== undefined && parameters.row !== "" ? "row" : parameters.panel || "";
  const showPanel = (name, more = {}) => set({ panel: name, ...more }, true);
  const close = () => {
    set({}, true);
    document.querySelector("[role=grid]")?.focus();
  };
  const scan = shown ? Object.fromEntries(["version", "branch", "filter"].filter((name) => shown.body[name]).map((name) => [name, shown.body[name]])) : {};
  const order = options.order ? { column: options.order, desc: options.desc } : null;
  const field = schema.fields.find((f) => f.name === parameters.about);

  return (
    <div class="rows-page">
      <div class="toolbar">
        <SearchBox names={names} schema={schema} text={text} hint={hintFor(schema, vectors, searched)} onSearch={(q) => set({ q, mode: parameters.mode && q ? parameters.mode : "" })}
          onSaved={(saved) => go(address("table", names, saved))} />
        <div class="row tight">
          <Segments label="Kind of search" value={kind} onChange={(mode) => set({ mode: mode === kindOf(parts, "", searched.length > 0) ? "" : mode })}
            options={Object.entries(kinds).filter(([key]) => key === "rows" || key === "vector" && vectors.length > 0 || key === "text" && schema.fields.some((f) => isTextType(f.type)) || key === "hybrid" && vectors.length > 0 && searched.length > 0)} />
          {kind === "hybrid" && <Balance value={options.balance} onChange={(balance) => set({ balance: balance === evenly ? "" : balance })} />}
          <Options kind={kind} vectors={vectors} searched={searched} schema={schema} parameters={parameters} hidden={hidden} set={set} dense={dense}
            onDense={(on) => { setDense(on); localStorage.setItem("tiltyard.rows", on ? "dense" : "comfortable"); }} />
          <button class="small" aria-pressed={facets} onClick={() => { setFacets(!facets); localStorage.setItem("tiltyard.facets", facets ? "0" : "1"); }}>Facets</button>
          <button class="small" aria-pressed={panel === "plan"} disabled={!shown} onClick={() => showPanel(panel === "plan" ? "" : "plan")}>Plan</button>
          <button class="small" aria-pressed={panel === "code"} disabled={!shown} onClick={() => showPanel(panel === "code" ? "" : "code")}>Code</button>
          <Download names={names} body={shown?.body} whole={kind === "rows"} />
          <Saved names={names} parameters={parameters} />
        </div>
        <p class={`told ${kind === "rows" ? "" : "long"}`} role="status" aria-live="polite">
          {result.busy && !shown && !result.error ? "Searching …" : shown && <>
            <b>{kind === "rows" ? count(shown.total, "row") : `${count(shown.total, "row")} found`}</b>{shown.millis !== undefined && ` in ${shown.millis.toFixed(0)} ms`}
            {words.value && <span class="quiet">: {words.value}.</span>}</>}
        </p>
      </div>
      <div class="work" id="results" aria-busy={result.busy ? "true" : undefined}>
        {facets && shown && <Facets names={names} schema={schema} body={scan} total={shown.total} found={shown.rows} filter={parts.filter} onToggle={(condition) => set({ q: toggle(text, schema, condition) })} />}
        <div class="grid-area">
          {result.error ? <Problem error={result.error} /> : !shown ? <GridSkeleton /> : shown.total === 0 ? <p class="empty">No row is like that. {text && <a href={address("table", names, { ...parameters, q: "", mode: "" })}>Show all rows</a>}</p> :
            <Grid label={`Rows of ${names.at(-1)}`} columns={columns} total={shown.total} source={shown.source} tick={tick} height={heights[dense ? "dense" : "comfortable"]}
              selected={panel === "row" ? Number(parameters.row) : null} order={order} onOpen={(i) => set({ row: String(i) }, true)} onColumn={(name) => types.has(name) && set({ panel: "column", about: name }, true)}
              onWidth={(name, width) => setWidths((all) => ({ ...all, [name]: width }))} />}
          {shown?.source.error && <Problem error={shown.source.error} />}
        </div>
        {shown && panel === "row" && <RowLoader key="row" source={shown.source} at={Number(parameters.row)}>{(row) => (
          <RowPanel row={row} at={Number(parameters.row)} total={shown.total} columns={shown.columns} types={types} vectors={vectors} onClose={close}
            onMove={(i) => set({ row: String(i) }, true)} onSimilar={(column, id) => set({ q: compose({ like: { column: "_rowid", value: id } }), mode: "", column })} />)}</RowLoader>}
        {shown && panel === "column" && field && <ColumnPanel key={field.name} names={names} field={field} body={scan} total={kind === "rows" ? shown.total : undefined} order={order} onClose={close}
          onOrder={(name, desc) => set({ order: name, desc: desc ? "1" : "", panel: "column", about: field.name })} onHide={() => set({ hide: [...hidden, field.name].join(",") })}
          onWiden={(by) => setWidths((all) => ({ ...all, [field.name]: Math.max(48, (all[field.name] || columns.find((c) => c.name === field.name)?.width || 160) + by) }))}
          onFilter={(condition) => set({ q: toggle(text, schema, condition) })} />}
        {shown && panel === "plan" && <PlanPanel names={names} body={{ k: 100, ...shown.body }} onClose={close} />}
        {shown && panel === "code" && <CodePanel names={names} body={{ k: 100, ...shown.body }} onClose={close} />}
      </div>
    </div>
  );
}

/** Reads the row of the panel, if the grid has not read it. */
function RowLoader({ source, at, children }) {
  useEffect(() => source.need(at, at + 1), [source, at]);
  return children(source.row(at));
}

const GridSkeleton = () => <div class="grid-skeleton" aria-hidden="true" />;

function Saved({ names, parameters }) {
  const [, again] = useState(0);
  const { saved } = searchesOf(names);
  const { row: _row, panel: _panel, about: _about, version: _version, ...kept } = parameters;
  return (
    <Menu label="Saved" right>
      <form class="row tight" onClick={(event) => event.stopPropagation()} onSubmit={(event) => {
        event.preventDefault();
        const name = event.currentTarget.elements.name.value.trim();
        saveSearch(names, name, kept);
        say(`Saved as ${name}, in this browser.`);
        again((n) => n + 1);
      }}><input name="name" required placeholder="Name of this search" aria-label="Name of this search" /><button class="small">Save</button></form>
      {saved.length === 0 && <p class="quiet">No search is saved for this table.</p>}
      {saved.map((one) => <div key={one.name} class="saved-line"><a href={address("table", names, one.parameters)}>{one.name}</a>
        <button class="small plain" aria-label={`Forget ${one.name}`} onClick={() => { forgetSearch(names, one.name); again((n) => n + 1); }}>✕</button></div>)}
    </Menu>
  );
}

function hintFor(schema, vectors, searched) {
  const words = searched.length > 0 ? "Words" : "Words in texts", number = schema.fields.find((f) => isNumberType(f.type));
  return [words, number && `${quoted(number.name)} > 5`, vectors.length > 0 && `like:${quoted(schema.fields[0].name)}=7`, vectors.length > 0 && "[0.1, …]"].filter(Boolean).join(" · ");
}

/** The columns of the grid, as wide as what the first rows have in them. Scores stand behind the first column. */
function columnsFor(shown, types, schema, widths) {
  const fields = new Map(schema.fields.map((f) => [f.name, f]));
  const scores = shown.columns.filter((name) => !fields.has(name)), [first, ...rest] = shown.columns.filter((name) => fields.has(name));
  return [first, ...scores, ...rest].filter(Boolean).map((name) => {
    const field = fields.get(name), type = types.get(name) || "score";
    const right = field ? isNumberType(field.type) : true;
    return { name, type, right, width: widths[name] || naturalWidth(name, type, shown.source, right) };
  });
}

function naturalWidth(name, type, source, right) {
  let longest = Math.max(name.length * 1.05, Math.min(type.length, 26) * 0.85);
  for (let i = 0; i < 40; i++) {
    const value = source.row(i)?.[name];
    if (value === undefined) continue;
    if (!isNull(value)) longest = Math.max(longest, numbersOf(value)?.length >= 4 ? 20 : Math.min(textOf(value).length, 46));
  }
  return Math.round(Math.max(64, Math.min(340, longest * (right ? 8.4 : 7.6) + 24)));
}
