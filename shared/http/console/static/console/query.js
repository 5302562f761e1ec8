// The query page of a table: what is asked, the rows, the plan, and the same query for programs.

import * as api from "./api.js";
import { cell } from "./cells.js";
import { choice, copy, field, fill, grid, h, number } from "./dom.js";
import { draw } from "./plan.js";
import { plainColumns, textColumns, vectorColumns } from "./schema.js";
import { inLanguage } from "./snippets.js";
import { numbersOf, records, textOf, valuesOf } from "./values.js";

const most = 1000; // rows that a page shows
const fusion = 60; // the constant of reciprocal rank fusion, as LanceDB's clients have it

/** Draws the tab. The parameters may hold an example row, from the plot of embeddings. */
export function query(content, names, parameters) {
  fill(content, api.describe(names), (found) => form(names, found.schema, parameters));
}

function form(names, schema, parameters) {
  const vectors = vectorColumns(schema), texts = textColumns(schema);
  const kinds = [["scan", "All rows"], vectors.length > 0 && ["vector", "Nearest vectors"], texts.length > 0 && ["text", "Full text"],
    vectors.length > 0 && texts.length > 0 && ["hybrid", "Hybrid: vectors and text"]].filter(Boolean);
  const example = parameters.get("like") || "";
  const part = {
    kind: choice(kinds, example ? "vector" : "scan", { name: "kind", onchange: () => sort() }),
    filter: h("input", { name: "filter", placeholder: "rating > 7 AND genre = 'drama'", autocomplete: "off" }),
    columns: h("select", { name: "columns", multiple: true, size: Math.min(6, schema.fields.length) }, schema.fields.map((f) => h("option", { value: f.name }, f.name))),
    k: h("input", { name: "k", type: "number", min: 1, max: most, value: 20 }),
    offset: h("input", { name: "offset", type: "number", min: 0, value: 0 }),
    order: choice([["", "as found"], ...plainColumns(schema)], "", { name: "order" }),
    column: choice(vectors, parameters.get("column") || vectors[0], { name: "column" }),
    like: h("input", { name: "like", value: example, placeholder: "id = 5", autocomplete: "off" }),
    vector: h("textarea", { name: "vector", rows: 2, placeholder: "[0.1, 0.2, …]" }),
    nprobes: h("input", { name: "nprobes", type: "number", min: 1, max: 4096, placeholder: "default" }),
    refine: h("input", { name: "refine", type: "number", min: 1, max: 100, placeholder: "none" }),
    metric: choice([["", "the index's"], "l2", "cosine", "dot"], "", { name: "metric" }),
    prefilter: h("input", { name: "prefilter", type: "checkbox", checked: true }),
    text: h("input", { name: "text", autocomplete: "off" }),
    textColumns: choice([["", "all with an index"], ...texts], "", { name: "textColumns" }),
  };
  const vectorParts = h("fieldset", {}, h("legend", {}, "Vectors"),
    field("Column", part.column), field("Like the row where", part.like, "its vector is what the search is for"), field("Or like this vector", part.vector),
    field("Probes", part.nprobes), field("Refine factor", part.refine), field("Distance", part.metric),
    h("label", { class: "check" }, part.prefilter, " filter before the search"));
  const textParts = h("fieldset", {}, h("legend", {}, "Text"), field("Words", part.text), field("Column", part.textColumns));
  const results = h("div", { id: "results", "aria-live": "polite" });
  const orderField = field("Order by", part.order);
  function sort() {
    const kind = part.kind.value;
    vectorParts.hidden = kind !== "vector" && kind !== "hybrid";
    textParts.hidden = kind !== "text" && kind !== "hybrid";
    orderField.hidden = kind !== "scan";
  }
  sort();

  const asked = () => request(names, part);
  const search = () => run((bodies) => find(names, bodies));
  const run = (look) => fill(results, asked().then(look), (drawn) => drawn);
  const element = h("form", {
    class: "query",
    onsubmit(event) {
      event.preventDefault();
      search();
    },
    onkeydown(event) {
      if (event.key === "Enter" && event.ctrlKey) element.requestSubmit();
    },
  },
  h("div", { class: "row" }, field("Search", part.kind), field("Filter", part.filter, "SQL"), field("Rows", part.k), field("Skip", part.offset), orderField),
  h("div", { class: "row" }, vectorParts, textParts),
  h("details", {}, h("summary", {}, "Columns"), field("Columns", part.columns, "none chosen: all of them")),
  h("div", { class: "row" },
    h("button", { class: "main" }, "Run"),
    h("button", { type: "button", onclick: () => run((bodies) => plans(names, bodies, "explain_plan", (body) => ({ query: body }))) }, "Plan"),
    h("button", { type: "button", onclick: () => run((bodies) => plans(names, bodies, "analyze_plan", (body) => body)) }, "Run and measure"),
    ["curl", "Python", "Node"].map((language) => h("button", { type: "button", onclick: () => run((bodies) => snippet(language, names, bodies)) }, `As ${language}`))));
  if (example) search();
  return [element, results];
}

/** The bodies of the requests that the form asks for: two for a hybrid query. */
async function request(names, part) {
  const kind = part.kind.value;
  const common = {};
  const chosen = [...part.columns.selectedOptions].map((option) => option.value);
  if (chosen.length > 0) common.columns = { column_names: chosen };
  if (part.filter.value.trim()) common.filter = part.filter.value.trim();
  common.k = Math.min(Number(part.k.value) || 20, most);
  if (Number(part.offset.value) > 0) common.offset = Number(part.offset.value);
  if (kind === "scan" && part.order.value) common.order_by = [{ column_name: part.order.value, ascending: true }];
  if (kind === "scan") return [common];
  const bodies = [];
  if (kind !== "text") {
    const body = { ...common, vector: { single_vector: await exampleVector(names, part) }, vector_column: part.column.value, prefilter: part.prefilter.checked };
    if (part.nprobes.value) body.nprobes = Number(part.nprobes.value);
    if (part.refine.value) body.refine_factor = Number(part.refine.value);
    if (part.metric.value) body.distance_type = part.metric.value;
    bodies.push(body);
  }
  if (kind !== "vector") {
    if (!part.text.value.trim()) throw new Error("Write the words to search for.");
    const words = { query: part.text.value.trim() };
    if (part.textColumns.value) words.columns = [part.textColumns.value];
    bodies.push({ ...common, prefilter: true, full_text_query: { string_query: words } });
  }
  return bodies;
}

async function exampleVector(names, part) {
  if (part.vector.value.trim()) {
    const given = JSON.parse(part.vector.value);
    if (!Array.isArray(given) || !given.every((v) => typeof v === "number")) throw new Error("The vector must be a list of numbers, such as [0.1, 0.2].");
    return given;
  }
  if (!part.like.value.trim()) throw new Error("Say which row's vector to search for, or give a vector.");
  const column = part.column.value;
  const found = await api.rows(api.path("table", names, "query"), { filter: part.like.value.trim(), k: 1, columns: { column_names: [column] } });
  const vector = found.numRows > 0 ? numbersOf(valuesOf(found.getChild(column))[0]) : null;
  if (!vector) throw new Error(`No row with a vector has ${part.like.value.trim()}.`);
  return vector;
}

async function find(names, bodies) {
  const start = performance.now();
  const where = api.path("table", names, "query");
  const answers = await Promise.all(bodies.map((body) => api.rows(where, { ...body, with_row_id: bodies.length > 1 })));
  const took = `in ${(performance.now() - start).toFixed(0)} ms`;
  const [rows, fields] = answers.length === 1 ? [records(answers[0]), answers[0].schema.fields.map((f) => f.name)] : fused(answers, bodies[0].k);
  if (rows.length === 0) return h("p", {}, `No row is like that (${took}).`);
  return grid(`${number(rows.length)} rows ${took}`, fields, rows.map((record) => fields.map((name) => cell(record[name]))));
}

/** Joins the answers of a hybrid query by the ranks of their rows, as LanceDB's clients do. */
function fused(answers, k) {
  const byRow = new Map();
  for (const answer of answers) {
    records(answer).forEach((record, rank) => {
      const id = textOf(record._rowid);
      const at = byRow.get(id) || { _relevance_score: 0 };
      byRow.set(id, { ...at, ...record, _relevance_score: at._relevance_score + 1 / (rank + 1 + fusion) });
    });
  }
  const joined = [...byRow.values()].sort((a, b) => b._relevance_score - a._relevance_score).slice(0, k);
  const hidden = new Set(["_rowid", "_distance", "_score"]);
  const fields = answers[0].schema.fields.map((f) => f.name).filter((name) => !hidden.has(name));
  return [joined, [...fields, "_distance", "_score", "_relevance_score"]];
}

async function plans(names, bodies, operation, wrap) {
  const found = await Promise.all(bodies.map((body) => api.call(api.path("table", names, operation), wrap({ vector: [], ...body }))));
  return found.map((text) => draw(text));
}

async function snippet(language, names, bodies) {
  const text = inLanguage(language, api.address, names, bodies);
  await copy(text);
  return h("pre", { class: "snippet", tabindex: "0" }, text);
}

