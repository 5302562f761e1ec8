// A sample of a column of vectors in the plane of its two principal components.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { number } from "./format.js";
import { tableLink } from "./place.js";
import { plainColumns, vectorColumns } from "./schema.js";
import { Choice, Field, Loaded, useAsync } from "./ui.jsx";
import { numbersOf, records, textOf, valuesOf } from "../static/console/values.js";

const rounds = 30; // of the power iteration, which ends long before for vectors that have structure
const most = 5000; // points
const groups = 8; // that have a sign of their own; the rest share one

export function Embeddings({ names, found, at }) {
  const { schema } = found, vectors = vectorColumns(schema), plain = plainColumns(schema);
  const [asked, setAsked] = useState({ column: vectors[0], by: null, count: 1000 });
  const state = useAsync(async () => {
    if (vectors.length === 0) return null;
    const by = asked.by ?? await telling(names, at, schema);
    return { by, ...await sample(names, at, { ...asked, by }) };
  }, [names.join("$"), JSON.stringify(asked), JSON.stringify(at)]);
  if (vectors.length === 0) return <p class="empty">The table has no column of vectors.</p>;
  const change = (name) => (event) => setAsked({ ...asked, [name]: event.currentTarget.value });
  return <>
    <div class="row">
      <Field label="Vectors"><Choice name="column" options={vectors} value={asked.column} onChange={change("column")} /></Field>
      <Field label="Colour and sign by"><Choice name="group" options={[["", "nothing"], ...plain]} value={asked.by ?? state.value?.by ?? ""} onChange={change("by")} /></Field>
      <Field label="Rows"><Choice name="count" options={[["300", "300"], ["1000", "1,000"], ["5000", "5,000"]]} value={String(asked.count)} onChange={change("count")} /></Field>
    </div>
    <Loaded state={state} label="Reading vectors">{(drawn) => <Scatter names={names} at={at} column={asked.column} {...drawn} />}</Loaded>
  </>;
}

/** The first column that divides some rows into few groups, if there is one. */
async function telling(names, at, schema) {
  const columns = plainColumns(schema);
  if (columns.length === 0) return "";
  const some = await api.rows(api.path("table", names, "query"), { ...at, k: 100, columns: { column_names: columns } });
  return columns.find((name) => {
    const values = new Set(valuesOf(some.getChild(name)).map(textOf));
    return values.size > 1 && values.size <= groups;
  }) || "";
}

/** Takes rows from evenly spread places of the table, since tables are often ordered. */
async function sample(names, at, { column, by, count: text }) {
  const pieces = 10, count = Math.min(Number(text), most);
  const all = await api.call(api.path("table", names, "count_rows"), at);
  const each = Math.ceil(count / pieces);
  const starts = all <= count ? [0] : Array.from({ length: pieces }, (_, i) => Math.floor(i * (all - each) / (pieces - 1)));
  const wanted = [...new Set([column, by].filter(Boolean))];
  const answers = await Promise.all(starts.map((offset) => api.rows(api.path("table", names, "query"),
    { ...at, with_row_id: true, offset, k: all <= count ? count : each, columns: { column_names: wanted } })));
  const points = [];
  for (const answer of answers) {
    for (const record of records(answer)) {
      const vector = numbersOf(record[column]);
      if (vector) points.push({ vector, group: by ? textOf(record[by]) : "", id: textOf(record._rowid) });
    }
  }
  project(points);
  return { points, all };
}

/** Sets x and y of all points: their places along the two directions in which they differ most. */
export function project(points) {
  if (points.length === 0) return;
  const size = points[0].vector.length;
  const mean = new Float64Array(size);
  for (const { vector } of points) vector.forEach((v, i) => { mean[i] += v / points.length; });
  const centred = points.map(({ vector }) => Float64Array.from(vector, (v, i) => v - mean[i]));
  const first = direction(centred, size, null);
  const second = direction(centred, size, first);
  points.forEach((point, i) => {
    point.x = dot(centred[i], first);
    point.y = dot(centred[i], second);
  });
}

const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);

/** The direction in which the vectors differ most, at right angles to another, by power iteration. */
function direction(vectors, size, other) {
  let at = Float64Array.from({ length: size }, (_, i) => Math.cos(i + 1));
  for (let round = 0; round < rounds; round++) {
    const next = new Float64Array(size);
    for (const vector of vectors) {
      const share = dot(vector, at);
      for (let i = 0; i < size; i++) next[i] += share * vector[i];
    }
    if (other) {
      const share = dot(next, other);
      for (let i = 0; i < size; i++) next[i] -= share * other[i];
    }
    const length = Math.sqrt(dot(next, next)) || 1;
    at = next.map((v) => v / length);
  }
  return at;
}

/** The signs of groups: each differs in form, so that no one needs to see colours. */
const signs = [
  (x, y) => <circle cx={x} cy={y} r={3.2} />, (x, y) => <rect x={x - 3} y={y - 3} width={6} height={6} />,
  (x, y) => <path d={`M${x} ${y - 4}l4 7h-8z`} />, (x, y) => <path d={`M${x} ${y - 4}l4 4-4 4-4-4z`} />,
  (x, y) => <path d={`M${x - 4} ${y}h8M${x} ${y - 4}v8`} class="line" />, (x, y) => <path d={`M${x - 3} ${y - 3}l6 6m0-6l-6 6`} class="line" />,
  (x, y) => <path d={`M${x} ${y + 4}l4-7h-8z`} />, (x, y) => <circle cx={x} cy={y} r={3} class="line" />,
];

/** Divides values into groups: numbers of many values by their size, others by what they are. */
function grouping(points) {
  const values = points.map((point) => point.group);
  const distinct = [...new Set(values)];
  if (distinct.length > groups && values.every((v) => v !== "" && Number.isFinite(Number(v)))) {
    const sorted = values.map(Number).sort((a, b) => a - b);
    const bounds = Array.from({ length: 5 }, (_, i) => sorted[Math.floor(i * (sorted.length - 1) / 4)]);
    const name = (i) => `${Number(bounds[i].toPrecision(3))} to ${Number(bounds[i + 1].toPrecision(3))}`;
    return [[0, 1, 2, 3].map(name), (value) => Math.max(0, Math.min(3, bounds.findLastIndex((low) => Number(value) >= low)))];
  }
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
  const kept = [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const names = kept.length > groups ? [...kept.slice(0, groups - 1), "others"] : kept;
  return [names, (value) => names.includes(value) ? names.indexOf(value) : names.length - 1];
}

function Scatter({ names, at, column, points, all }) {
  if (points.length === 0) return <p class="empty">No row has a vector.</p>;
  const [width, height, margin] = [800, 520, 16];
  const [groupNames, groupOf] = grouping(points);
  const scale = (key, size) => {
    const values = points.map((point) => point[key]);
    const low = Math.min(...values), high = Math.max(...values);
    return (v) => margin + (size - 2 * margin) * (v - low) / (high - low || 1);
  };
  const x = scale("x", width), y = scale("y", height);
  const marks = points.map((point) => {
    const group = groupOf(point.group);
    const name = [`_rowid = ${point.id}`, point.group].filter(Boolean).join(", ");
    return (
      <a key={point.id} href={tableLink(names, { ...at, q: `like:_rowid=${point.id}`, column })} aria-label={name} tabIndex={-1}>
        <g class={`group-${group}`}><title>{name}</title>{signs[group](Number(x(point.x).toFixed(1)), Number((height - y(point.y)).toFixed(1)))}</g>
      </a>);
  });
  return (
    <figure>
      <svg viewBox={`0 0 ${width} ${height}`} class="plot" role="group" aria-label={`${points.length} vectors in two dimensions`}>{marks}</svg>
      <figcaption>
        <ul class="legend">{groupNames.map((name, i) => <li key={name}><svg viewBox="0 0 12 12" width={12} height={12} class={`group-${i}`} aria-hidden="true">{signs[i](6, 6)}</svg> {name || "rows"}</li>)}</ul>
        <p class="quiet">{number(points.length)} of {number(all)} rows, along the two directions in which they differ most. A click on a row searches for rows like it.</p>
      </figcaption>
    </figure>
  );
}
