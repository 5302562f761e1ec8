// Loads a file into a new table: its columns and types are shown and can be changed before anything is sent.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { arrow } from "./arrow.js";
import { readCSV, readJSON, ofObjects } from "./csv.js";
import { bytes, count, number } from "./format.js";
import { batches, inferColumn, types } from "./infer.js";
import { go, tableLink } from "./place.js";
import { Choice, Field, Problem, Snippet, Table, useAsync } from "./ui.jsx";
import { records, textOf } from "../static/console/values.js";

const batchRows = 5000, sampleRows = 2000, previewRows = 5, mostErrors = 50, mostBytes = 512 * 1024 * 1024;
let taken = null; // what was dropped or chosen on the page before: { file } or { folder }

/** Keeps the file, or the folder, of a drop or of a chooser. Reports whether there is one. */
export function takeFiles(source) {
  const entry = source.items?.[0]?.webkitGetAsEntry?.();
  taken = entry?.isDirectory ? { folder: entry.name } : source.files?.[0] ? { file: source.files[0] } : null;
  return taken !== null;
}

/** Reads a file into columns and rows; the rows of Arrow files stay what they are. */
async function read({ file }) {
  const { tableFromIPC } = await arrow();
  if (file.size > mostBytes) throw new Error(`The file has ${bytes(file.size)}. A browser loads up to ${bytes(mostBytes)}; the command line has no such limit.`);
  const kind = /\.([a-z]+)$/i.exec(file.name)?.[1].toLowerCase() || "";
  const name = file.name.replace(/\.[^.]*$/, "").replace(/[^\w-]+/g, "_").toLowerCase();
  if (["arrow", "arrows", "feather", "ipc"].includes(kind)) {
    const table = tableFromIPC(new Uint8Array(await file.arrayBuffer()));
    return { name, file, arrow: table, total: table.numRows, errors: [], columns: table.schema.fields.map((f) => ({ name: f.name, fixed: String(f.type), nullable: f.nullable, keep: true })) };
  }
  const found = kind === "parquet" ? await readParquet(file) : kind === "json" || kind === "jsonl" || kind === "ndjson" ? readJSON(await file.text()) : readCSV(await file.text());
  const some = found.rows.slice(0, sampleRows);
  const columns = found.names.map((one, i) => ({ ...inferColumn(one, some.map((row) => row.values[i])), at: i }));
  return { name, file, ...found, columns, total: found.rows.length };
}

async function readParquet(file) {
  const { parquetReadObjects } = await import("./parquet.js");
  const objects = await parquetReadObjects({ file: await file.arrayBuffer() });
  return { ...ofObjects(objects.map((object, i) => ({ line: i + 1, object }))), errors: [] };
}

export function Load({ listChanged }) {
  const [source, setSource] = useState(taken);
  const state = useAsync(() => source?.file ? read(source) : null, [source]);
  const choose = (event) => { if (takeFiles(event.currentTarget || event)) setSource({ ...taken }); };
  return <>
    <h1>Load a file</h1>
    {source?.folder ? <Folder name={source.folder} /> : !source ? <p>Choose a CSV, JSON lines, Arrow or Parquet file.</p> : null}
    {state.error && <Problem error={state.error} />}
    {source?.file && !state.value && !state.error && <p class="quiet waiting" aria-busy="true">Reading {source.file.name} …</p>}
    {state.value && <Ready key={state.value.file.name} found={state.value} listChanged={listChanged} />}
    <p><label class="button">{source ? "Choose another file" : "Choose a file"}<input class="unseen" type="file" onChange={choose} /></label></p>
  </>;
}

function Folder({ name }) {
  return <>
    <p><b>{name}</b> is a folder. A browser cannot register a folder of Lance files; the command line does it where the folder is, and copies nothing:</p>
    <Snippet text={`tiltyard import --root ${/\.lance$/.test(name) ? "FOLDER-ABOVE-" + name : name} --dry-run`} />
  </>;
}

function Ready({ found, listChanged }) {
  const [columns, setColumns] = useState(found.columns);
  const [progress, setProgress] = useState(null);
  const change = (i, what) => setColumns(columns.map((column, at) => at === i ? { ...column, ...what } : column));
  async function load(event) {
    event.preventDefault();
    const names = event.currentTarget.elements.table.value.split("/").map((part) => part.trim()).filter(Boolean);
    setProgress({ done: 0, errors: [] });
    try {
      const errors = await send(names, found, columns, setProgress);
      listChanged();
      if (errors.length === 0) go(tableLink(names));
      else setProgress((p) => ({ ...p, finished: names }));
    } catch (error) {
      setProgress((p) => ({ ...p, error }));
    }
  }
  const busy = progress && !progress.error && !progress.finished;
  return (
    <form onSubmit={load}>
      <p><b>{found.file.name}</b>: {bytes(found.file.size)}, {count(found.total, "row")}, {count(columns.length, "column")}.</p>
      <Errors list={found.errors} what="could not be read and will be left out" />
      <Table caption="Columns" head={["Load", "Name", "Type", "Nullable", "First values"]} rows={columns.map((column, i) => [
        <input type="checkbox" aria-label={`Load ${column.name}`} checked={column.keep} disabled={Boolean(found.arrow)} onChange={() => change(i, { keep: !column.keep })} />,
        <input aria-label={`Name of column ${i + 1}`} value={column.name} required onInput={(event) => change(i, { name: event.currentTarget.value })} />,
        column.fixed ? <code>{column.fixed}</code> : <span class="row tight"><Choice aria-label={`Type of ${column.name}`} value={column.type} options={Object.entries(types).map(([key, type]) => [key, type.label || key])}
          onChange={(event) => change(i, { type: event.currentTarget.value, length: column.length || 2 })} />
          {column.type === "vector" && <input type="number" class="short" min={1} max={8192} aria-label={`Dimensions of ${column.name}`} value={column.length} onChange={(event) => change(i, { length: Number(event.currentTarget.value) })} />}</span>,
        <input type="checkbox" aria-label={`${column.name} is nullable`} checked={column.nullable} onChange={() => change(i, { nullable: !column.nullable })} />,
        <span class="preview">{preview(found, i)}</span>,
      ])} />
      <div class="row">
        <Field label="New table, as name or namespace/name"><input name="table" defaultValue={found.name} required pattern="[^$]+" autocomplete="off" /></Field>
        <button class="main" disabled={busy}>Load {count(found.total, "row")}</button>
      </div>
      {progress && <div role="status">
        <p><progress max={found.total || 1} value={progress.done} aria-label="Rows that are loaded" /> {number(progress.done)} of {number(found.total)} rows</p>
        {progress.error && <Problem error={progress.error} />}
        <Errors list={progress.errors} what="did not fit and were left out" />
        {progress.finished && <p><a href={tableLink(progress.finished)}>Open {progress.finished.join(" / ")}</a></p>}
      </div>}
    </form>
  );
}

function preview(found, i) {
  if (!found.arrow) return found.rows.slice(0, previewRows).map((row) => row.values[i] === null ? "null" : typeof row.values[i] === "object" ? JSON.stringify(row.values[i], (_, v) => typeof v === "bigint" ? String(v) : v) : String(row.values[i])).join(", ").slice(0, 120);
  return records(found.arrow.slice(0, previewRows)).map((row) => textOf(Object.values(row)[i])).join(", ").slice(0, 120);
}

function Errors({ list, what }) {
  if (list.length === 0) return null;
  return (
    <div class="problem" role="alert">
      <strong>{count(list.length, "value or row", "values or rows")} {what}</strong>
      <ul>{list.slice(0, mostErrors).map((error, i) => <li key={i}>line {number(error.line)}{error.column && `, ${error.column}`}: {error.message}</li>)}</ul>
      {list.length > mostErrors && <p>These are the first {mostErrors}.</p>}
    </div>
  );
}

/** Creates the table with the first batch and adds the others. Returns the errors of rows. */
async function send(names, found, columns, onProgress) {
  const errors = [];
  let created = false, done = 0;
  for (const batch of found.arrow ? arrowBatches(found.arrow, columns) : batches(columns, found.rows, batchRows)) {
    errors.push(...batch.errors);
    if (batch.rows > 0 || !created) await api.upload(api.ofTable(names, created ? "insert" : "create"), window.Arrow.tableToIPC(batch.table, "stream"));
    created = true;
    done += batch.rows;
    onProgress({ done, errors: [...errors] });
    await new Promise((resume) => setTimeout(resume));
  }
  return errors;
}

/** The batches of an Arrow file, with the names and nullability that were chosen. */
function* arrowBatches(table, columns) {
  const A = window.Arrow;
  const schema = new A.Schema(table.schema.fields.map((f, i) => new A.Field(columns[i].name, f.type, columns[i].nullable, f.metadata)), table.schema.metadata);
  const all = table.batches.length > 0 ? table.batches : [new A.RecordBatch(table.schema)];
  for (const batch of all) {
    for (let from = 0; from < batch.numRows || from === 0; from += batchRows) {
      const part = batch.slice(from, from + batchRows);
      const data = A.makeData({ type: new A.Struct(schema.fields), length: part.numRows, nullCount: 0, children: part.data.children });
      yield { table: new A.Table(schema, [new A.RecordBatch(schema, data)]), rows: part.numRows, errors: [] };
    }
  }
}
