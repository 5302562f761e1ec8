// Files of what a search found: CSV, JSON lines, or Arrow as the service sends it.

import * as api from "./api.js";
import { rowJSON } from "./cell.jsx";
import { save } from "./ui.jsx";
import { isNull, textOf } from "../static/console/values.js";

export const mostSaved = 100_000; // rows of a scan in one file
const chunk = 10_000;

/** A text as a field of a line of CSV. An empty field without quotes is null. */
const quoted = (text) => text === "" || /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

const field = (value) => value === undefined || isNull(value) ? "" : quoted(textOf(value));

/** The line of a row in a format. */
const lineOf = (format, row, columns) => format === "csv" ? columns.map((name) => field(row[name])).join(",") : rowJSON(row, columns);

/** Saves the rows of a scan or of a search. Found are rows that are there already; otherwise they are read. */
export async function download(format, names, body, { columns, found, total }, read) {
  const name = `${names.at(-1)}.${{ csv: "csv", json: "jsonl", arrow: "arrow" }[format]}`;
  if (format === "arrow") {
    const whole = { ...body, ...(found ? {} : { k: Math.min(total, mostSaved) }) };
    const answer = await api.send(api.ofTable(names, "query"), whole, { accept: "application/vnd.apache.arrow.file" });
    return save(name, [await answer.arrayBuffer()], "application/vnd.apache.arrow.file");
  }
  const parts = format === "csv" ? [`${columns.map(quoted).join(",")}\n`] : [];
  const add = (rows) => parts.push(...rows.map((row) => `${lineOf(format, row, columns)}\n`));
  if (found) add(found);
  else {
    for (let offset = 0; offset < Math.min(total, mostSaved); offset += chunk) add(await read({ ...body, k: Math.min(chunk, mostSaved - offset, total - offset), offset }));
  }
  return save(name, parts, format === "csv" ? "text/csv" : "application/x-ndjson");
}
