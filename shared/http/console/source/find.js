// Runs searches: the pages of a scan, and the results of vector, text and hybrid searches.

import * as api from "./api.js";
import { exampleFilter } from "./search.js";
import { numbersOf, records, valuesOf } from "../static/console/values.js";

/** The vector of the example row. */
export async function exampleVector(names, at, like, column, schema, signal) {
  const filter = exampleFilter(like, schema);
  const answer = await api.rows(api.ofTable(names, "query"), { ...at, filter, k: 1, columns: { column_names: [column] } }, signal);
  const vector = answer.numRows > 0 ? numbersOf(valuesOf(answer.getChild(column))[0]) : null;
  if (!vector) throw new Error(`No row with a vector has ${filter}.`);
  return vector;
}

/** Runs a search, and returns { rows, columns, millis }. */
export async function search(names, body, signal) {
  const start = performance.now();
  const answer = await api.rows(api.ofTable(names, "query"), { ...body, with_row_id: true }, signal);
  return { rows: records(answer), columns: columnsOf(answer), millis: performance.now() - start };
}

const columnsOf = (answer) => answer.schema.fields.map((f) => f.name).filter((name) => name !== "_rowid");

const pageRows = 100, keptPages = 80;

/** The rows of a scan, of which only the pages that are looked at are read. */
export class Pages {
  constructor(names, body, changed) {
    this.names = names;
    this.body = body;
    this.changed = changed;
    this.pages = new Map();
    this.control = new AbortController();
    this.columns = null;
    this.error = null;
  }

  /** The row at a place, or undefined until it has come. */
  row(i) {
    const page = this.pages.get(Math.floor(i / pageRows));
    return page?.rows?.[i % pageRows];
  }

  /** Reads the pages of a range, unless they are there or on their way. */
  need(from, end) {
    for (let p = Math.floor(from / pageRows); p <= Math.floor(Math.max(from, end - 1) / pageRows); p++) {
      if (!this.pages.has(p)) this.read(p);
    }
    for (const p of this.pages.keys()) {
      if (this.pages.size <= keptPages) break;
      if (p * pageRows > end + 2000 || (p + 1) * pageRows < from - 2000) this.pages.delete(p);
    }
  }

  async read(p) {
    const page = { rows: null };
    this.pages.set(p, page);
    const start = performance.now();
    try {
      const answer = await api.rows(api.ofTable(this.names, "query"), { ...this.body, k: pageRows, ...(p > 0 ? { offset: p * pageRows } : {}), with_row_id: true }, this.control.signal);
      page.rows = records(answer);
      this.columns ||= columnsOf(answer);
      this.millis ??= performance.now() - start;
    } catch (error) {
      if (error.name === "AbortError") return;
      this.pages.delete(p);
      this.error = error;
    }
    this.changed();
  }

  stop() { this.control.abort(); }
}

/** The number of rows that a scan has. */
export const countOf = (names, body, signal) => {
  const { version, branch, filter } = body;
  return api.call(api.ofTable(names, "count_rows"), { ...(version ? { version } : {}), ...(branch ? { branch } : {}), ...(filter ? { predicate: filter } : {}) }, { signal });
};

/** Rows from evenly spread places of what a scan has, since tables are often ordered. */
export async function sample(names, body, columns, total, wanted = 1000) {
  const pieces = total <= wanted ? 1 : 5, each = Math.ceil(wanted / pieces);
  const starts = Array.from({ length: pieces }, (_, i) => pieces === 1 ? 0 : Math.floor(i * (total - each) / (pieces - 1)));
  const answers = await Promise.all(starts.map((offset) => api.rows(api.ofTable(names, "query"), { ...body, k: each, offset, columns: { column_names: columns } })));
  return answers.flatMap(records);
}
