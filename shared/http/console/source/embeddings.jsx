// A sample of a column of vectors in the plane: laid out by a worker, marked by an outline, and opened as rows.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { count, number } from "./format.js";
import { grouping, signs } from "./groups.jsx";
import { go, tableLink } from "./place.js";
import { Plot } from "./plot.jsx";
import { PointCard } from "./pointcard.jsx";
import { plainColumns, vectorColumns } from "./schema.js";
import { Choice, Field, Problem, Segments } from "./ui.jsx";
import { readValues, readVectors } from "./vectors.js";
import { textOf, valuesOf } from "../static/console/values.js";

const counts = [["1000", "1,000"], ["10000", "10,000"], ["100000", "100,000"]];
const mostBytes = 400 << 20; // of vectors that are read
const mostOpened = 2000; // rows that one address holds
const layouts = [["umap", "by neighbours (UMAP)"], ["pca", "principal components"]];

export function Embeddings({ names, found, at }) {
  const { schema } = found, vectors = vectorColumns(schema), plain = plainColumns(schema);
  const [asked, setAsked] = useState({ column: vectors[0], by: null, count: "1000", layout: "umap" });
  const size = schema.fields.find((f) => f.name === asked.column)?.type.length;
  const most = Math.floor(mostBytes / 4 / (size || 1));
  const state = useVectors(names, at, schema, { ...asked, size, count: Math.min(Number(asked.count), most) });
  if (vectors.length === 0) return <p class="empty">The table has no column of vectors.</p>;
  const change = (name) => (event) => setAsked({ ...asked, [name]: event.currentTarget.value });
  return <>
    <div class="row">
      <Field label="Vectors"><Choice name="column" options={vectors} value={asked.column} onChange={change("column")} /></Field>
      <Field label="Colour and sign by"><Choice name="group" options={[["", "nothing"], ...plain]} value={asked.by ?? state.colour?.by ?? ""} onChange={change("by")} /></Field>
      <Field label="Rows"><Choice name="count" options={counts.filter(([value], i) => i === 0 || Number(value) <= most)} value={asked.count} onChange={change("count")} /></Field>
      <Field label="Layout"><Choice name="layout" options={layouts} value={asked.layout} onChange={change("layout")} /></Field>
    </div>
    {state.error ? <Problem error={state.error} /> : !state.read ? <p class="quiet waiting" aria-busy="true">Reading vectors{state.rows > 0 && `: ${number(state.rows)}`} …</p> :
      state.read.n === 0 ? <p class="empty">No row has a vector.</p> : !state.places || !state.colour ? <p class="quiet waiting" aria-busy="true">Laying out {count(state.read.n, "vector")} …</p> :
        <Scatter key={state.read.key} names={names} at={at} schema={schema} column={asked.column} layout={asked.layout} {...state} />}
  </>;
}

/** Reads the vectors that are asked for, and lays them out: { read, colour, places, kind, progress, rows, error }. */
function useVectors(names, at, schema, { column, by, count: wanted, size, layout }) {
  const [state, set] = useState({});
  const worker = useRef(null);
  const add = (more) => set((last) => ({ ...last, ...more }));
  useEffect(() => () => worker.current?.terminate(), []);
  useEffect(() => {
    if (!column) return undefined;
    const control = new AbortController(), quiet = (error) => control.signal.aborted || add({ error });
    worker.current?.terminate();
    set({});
    readVectors(names, at, { column, count: wanted, size }, (rows) => control.signal.aborted || add({ rows }), control.signal).then(({ matrix, ...read }) => {
      if (control.signal.aborted) return;
      worker.current = new Worker(new URL("layout.js", document.baseURI), { type: "module" });
      worker.current.onmessage = ({ data }) => add(data.places ? { places: data.places, kind: data.kind, progress: undefined } : { progress: data.progress });
      worker.current.onerror = () => add({ error: new Error("The vectors could not be laid out.") });
      worker.current.postMessage({ matrix, n: read.n, size }, [matrix.buffer]);
      worker.current.postMessage({ kind: "pca" });
      add({ read: { ...read, key: [column, wanted].join(" ") } });
    }).catch(quiet);
    return () => control.abort();
  }, [names.join("$"), JSON.stringify(at), column, wanted]);
  // Another column of colours leaves the vectors as they are.
  useEffect(() => {
    if (!state.read) return undefined;
    const control = new AbortController();
    (async () => {
      const group = by ?? await telling(names, at, schema);
      const values = group ? await readValues(names, at, state.read.parts, group, control.signal) : [];
      if (!control.signal.aborted) add({ colour: { by: group, values } });
    })().catch((error) => control.signal.aborted || add({ error }));
    return () => control.abort();
  }, [state.read, by]);
  // The principal components are shown at once, and the other layout when it is there.
  useEffect(() => { if (state.places && state.kind !== layout) worker.current.postMessage({ kind: layout }); }, [layout, state.read, Boolean(state.places)]);
  return state;
}

/** The first column that divides some rows into few groups, if there is one. */
async function telling(names, at, schema) {
  const columns = plainColumns(schema);
  if (columns.length === 0) return "";
  const some = await api.rows(api.ofTable(names, "query"), { ...at, k: 100, columns: { column_names: columns } });
  return columns.find((name) => {
    const values = new Set(valuesOf(some.getChild(name)).map(textOf));
    return values.size > 1 && values.size <= signs.length;
  }) || "";
}

function Scatter({ names, at, schema, column, layout, read, colour, places, kind, progress }) {
  const groups = useMemo(() => grouping(colour.values, read.n), [read, colour]);
  const [mode, setMode] = useState("move");
  const [marked, setMarked] = useState(null);
  const view = useRef();
  const chosen = useMemo(() => marked ? read.ids.filter((_, i) => marked[i]) : [], [marked]);
  const mark = (next, added = false) => setMarked(added && marked ? next.map((one, i) => one | marked[i]) : next.some(Boolean) ? next : null);
  const open = (i) => go(tableLink(names, { ...at, q: `like:_rowid=${read.ids[i]}`, column }));
  const openMarked = () => go(tableLink(names, { ...at, q: `_rowid IN (${chosen.slice(0, mostOpened).join(", ")})` }));
  const Card = useMemo(() => ({ i }) => <PointCard names={names} at={at} schema={schema} id={read.ids[i]} by={colour.by} group={colour.values[i]} />, [read, colour]);
  const waiting = kind !== layout;
  return (
    <figure>
      <div class="plot-bar">
        <Segments label="What dragging does" value={mode} onChange={setMode} options={[["move", "Move", "drag to move, turn the wheel to zoom"], ["box", "Box", "drag a box around rows"], ["lasso", "Lasso", "draw around rows"]]} />
        <button class="small" onClick={() => mark(view.current.visible())}>Mark what is in view</button>
        <button class="small" onClick={() => view.current.reset()}>Show all</button>
        {chosen.length > 0 && <>
          <span role="status"><b>{count(chosen.length, "row")}</b> marked</span>
          <button class="small main" onClick={openMarked}>{chosen.length > mostOpened ? `Open the first ${number(mostOpened)}` : "Open as rows"}</button>
          <button class="small" onClick={() => setMarked(null)}>Clear</button></>}
        {waiting && <span class="quiet" role="status" aria-busy="true"><progress max={1} value={progress || 0} aria-label="layout" /> Finding neighbours; these are the principal components …</span>}
      </div>
      <Plot label={`${number(read.n)} vectors in the plane`} places={places} groups={groups} marked={marked} mode={mode} onMark={mark} onOpen={open} onEscape={() => setMarked(null)} view={view} Card={Card} />
      <figcaption>
        <ul class="legend" aria-label={colour.by ? `Groups by ${colour.by}` : "Groups"}>{groups.names.map((name, i) => (
          <li key={name}><button class="plain small" title="Mark these rows" onClick={() => mark(groups.of.map((group) => group === i ? 1 : 0))}>
            <svg viewBox="0 0 12 12" width={12} height={12} class={`group-${i}`} aria-hidden="true">{signs[i](6, 6)}</svg> {name || "rows"} <small class="quiet">{number(groups.counts[i])}</small></button></li>))}</ul>
        <p class="quiet">{number(read.n)} of {number(read.all)} rows{read.n < read.all && ", from evenly spread places"}, {kind === "umap" ? "laid out so that neighbours lie together; distances between groups mean little" : "along the two directions in which they differ most"}. A click on a row searches for rows like it.</p>
        <p class="quiet" id="plot-keys">Keys: the arrows move, + and − zoom, 0 shows all, Enter searches for rows like the one in the middle, Esc clears the marks. Shift marks a box, and Ctrl adds to the marks.</p>
      </figcaption>
    </figure>
  );
}
