// Two versions of a table side by side: their columns, sizes and indices, and rows by a key.

import * as api from "./api.js";
import { cell } from "./cells.js";
import { choice, field, fill, grid, h, number } from "./dom.js";
import { plainColumns, typeText } from "./schema.js";
import { jsonOf, records, textOf } from "./values.js";

const pageRows = 1000; // that are read at a time
const mostRows = 20_000; // that are compared of either version, in the order of the key
const mostLines = 1000; // rows that are shown

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
    }, field("Version", a), field("and version", b), field("Rows by the key", key, `at most ${number(mostRows)} of each`), h("button", { class: "main" }, "Compare"));
    show();
    return [form, results];
  });
}

async function differences(names, a, b, key) {
  const at = (version) => Promise.all([
    api.describe(names, { version }), api.call(api.path("table", names, "count_rows"), { version }), api.call(api.path("table", names, "index/list"), { version }),
  ]);
  const [[was, wasRows, wasIndices], [is, isRows, isIndices]] = await Promise.all([at(a), at(b)]);
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
    key && await rows(names, key, [a, b], [wasRows, isRows]),
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

/** The rows that differ, of two versions that are read page by page in the order of a key. */
async function rows(names, key, versions, counts) {
  const sides = versions.map(() => ({ left: new Map(), unmatched: 0 })); // by key: the rows without an equal on the other side
  const readable = Math.min(Math.max(...counts), mostRows), whole = Math.max(...counts) <= mostRows;
  for (let from = 0; from < readable; from += pageRows) {
    const pages = await Promise.all(versions.map((version) => api.rows(api.path("table", names, "query"),
      { version, k: pageRows, offset: from, order_by: [{ column_name: key, ascending: true }] })));
    pages.forEach((page, side) => records(page).forEach((record, i) => match(sides[side], sides[1 - side], row(key, record, from + i))));
  }
  // Behind the last page, an equal of one of the last rows may follow.
  const certain = whole ? Infinity : readable - Math.max(...sides.map((side) => side.unmatched));
  const [before, after] = sides.map((side) => [...side.left.values()].flat());
  const lines = differing(key, before, after, certain);
  const which = whole ? `all rows were compared` : `the first ${number(mostRows)} of each version were compared, by ${key}; rows behind them may differ`;
  if (lines.length === 0) return h("p", {}, `No rows differ: ${which}.`);
  return grid(`Rows that differ: ${number(lines.length)}${lines.length > mostLines ? `, of which ${mostLines} are shown` : ""} (${which})`, ["", key, "What"], lines.slice(0, mostLines));
}

/** A row for comparisons: the text of each of its values, and all together. */
function row(key, record, place) {
  const texts = Object.fromEntries(Object.entries(record).map(([name, value]) => [name, jsonOf(value)]));
  return { key: textOf(record[key]), record, texts, whole: JSON.stringify(texts), place };
}

/** Takes a row together with an equal one of the other side, or keeps it. Rows may share a key. */
function match(side, other, one) {
  const equals = other.left.get(one.key) || [];
  const at = equals.findIndex((row) => row.whole === one.whole);
  if (at < 0) {
    side.left.set(one.key, [...side.left.get(one.key) || [], one]);
    side.unmatched++;
    return;
  }
  other.unmatched--;
  if (equals.length === 1) other.left.delete(one.key);
  else equals.splice(at, 1);
}

/** The lines for rows without an equal: those with the same key on both sides have changed. */
function differing(key, before, after, certain) {
  const lines = [], changed = Map.groupBy(after, (one) => one.key);
  for (const old of before) {
    const now = changed.get(old.key)?.shift();
    if (!now) {
      if (old.place < certain) lines.push([sign(true, false), old.key, ""]);
      continue;
    }
    const names = [...new Set([...Object.keys(old.texts), ...Object.keys(now.texts)])].filter((name) => old.texts[name] !== now.texts[name]);
    lines.push([sign(true, true), old.key, names.map((name) => [h("strong", {}, name), " ", cell(old.record[name]), " → ", cell(now.record[name]), h("br")])]);
  }
  for (const one of [...changed.values()].flat()) {
    if (one.place < certain) lines.push([sign(false, true), one.key, ""]);
  }
  return lines;
}
