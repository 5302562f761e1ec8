// Two versions of a table side by side: their columns, sizes and indices, and rows by a key.

import * as api from "./api.js";
import { cell, plain } from "./cells.js";
import { choice, field, fill, grid, h, number } from "./dom.js";
import { plainColumns, typeText } from "./schema.js";

const mostRows = 1000; // of either version, in the order of the key

/** Draws the tab. */
export function compare(content, names, parameters) {
  fill(content, api.describe(names), (latest) => {
    const input = (name, value) => h("input", { name, type: "number", min: 1, value, required: true });
    const a = input("a", parameters.get("a") || Math.max(1, latest.version - 1)), b = input("b", parameters.get("b") || latest.version);
    const key = choice([["", "no rows"], ...plainColumns(latest.schema)], "", { name: "key" });
    const results = h("div", { "aria-live": "polite" });
    const show = () => fill(results, differences(names, Number(a.value), Number(b.value), key.value), (drawn) => drawn);
    const form = h("form", {
      class: "row",
      onsubmit(event) {
        event.preventDefault();
        show();
      },
    }, field("Version", a), field("and version", b), field("Rows by the key", key, `the first ${mostRows} of each`), h("button", { class: "main" }, "Compare"));
    show();
    return [form, results];
  });
}

async function differences(names, a, b, key) {
  const at = (version) => Promise.all([
    api.describe(names, { version }), api.call(api.path("table", names, "count_rows"), { version }), api.call(api.path("table", names, "index/list"), { version }),
    key && api.rows(api.path("table", names, "query"), { version, k: mostRows, order_by: [{ column_name: key, ascending: true }] }),
  ]);
  const [[was, wasRows, wasIndices, wasAnswer], [is, isRows, isIndices, isAnswer]] = await Promise.all([at(a), at(b)]);
  const indexText = (list) => list.indexes.map((index) => `${index.index_name} (${index.index_type}, ${number(index.num_indexed_rows)} rows)`).join("; ") || "none";
  const change = (from, to) => to - from > 0 ? `+${number(to - from)}` : number(to - from);
  return [
    grid(`Version ${a} and version ${b}`, ["What", `Version ${a}`, `Version ${b}`, "Change"], [
      ["Rows", number(wasRows), number(isRows), change(wasRows, isRows)],
      ["Fragments", number(was.stats.num_fragments), number(is.stats.num_fragments), change(was.stats.num_fragments, is.stats.num_fragments)],
      ["Deleted rows", number(was.stats.num_deleted_rows), number(is.stats.num_deleted_rows), change(was.stats.num_deleted_rows, is.stats.num_deleted_rows)],
      ["Indices", indexText(wasIndices), indexText(isIndices), ""],
    ]),
    columns(was.schema, is.schema),
    key && rows(key, wasAnswer, isAnswer),
  ];
}

function columns(was, is) {
  const of = (schema) => new Map(schema.fields.map((f) => [f.name, `${typeText(f.type)}${f.nullable ? "" : ", never null"}`]));
  const before = of(was), after = of(is);
  const lines = [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name))
    .map((name) => [sign(before.has(name), after.has(name)), name, before.get(name) || "", after.get(name) || ""]);
  return lines.length === 0 ? h("p", {}, "The columns are the same.") : grid("Columns that differ", ["", "Column", "Before", "After"], lines);
}

const sign = (was, is) => !was ? "+ added" : !is ? "− removed" : "± changed";

function rows(key, was, is) {
  const byKey = (answer) => new Map(Array.from({ length: answer.numRows }, (_, i) => answer.get(i).toJSON()).map((record) => [String(plain(record[key])), record]));
  const before = byKey(was), after = byKey(is);
  const names = [...new Set([...was.schema.fields, ...is.schema.fields].map((f) => f.name))];
  const lines = [...new Set([...before.keys(), ...after.keys()])].flatMap((value) => {
    const old = before.get(value), now = after.get(value);
    const differing = names.filter((name) => JSON.stringify(plain(old?.[name])) !== JSON.stringify(plain(now?.[name])));
    return differing.length === 0 ? [] : [[sign(old, now), value, old && now ? differing.map((name) => [h("strong", {}, name), " ", cell(old[name]), " → ", cell(now[name]), h("br")]) : ""]];
  });
  const note = Math.max(was.numRows, is.numRows) === mostRows ? ` among the first ${mostRows}` : "";
  return lines.length === 0 ? h("p", {}, `The rows are the same${note}.`) : grid(`Rows that differ${note}`, ["", key, "What"], lines);
}
