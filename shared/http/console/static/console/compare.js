// Two versions of a table side by side: their columns, sizes and indices, and the rows that differ. The service tells
// which those are; only they are read.

import * as api from "./api.js";
import { cell } from "./cells.js";
import { choice, field, fill, grid, h, number } from "./dom.js";
import { plainColumns, typeText } from "./schema.js";
import { jsonOf, records, textOf } from "./values.js";

const pageRows = 1000; // that are read at a time
const mostLines = 1000; // rows that are shown
const mostMoved = 20_000; // rows of either version whose values are compared, to tell those that only moved
const mostColumns = 6; // that are shown of a row which the other version lacks

/** Draws the tab. */
export function compare(content, names, parameters) {
  fill(content, api.describe(names), (latest) => {
    const input = (name, value) => h("input", { name, type: "number", min: 1, value, required: true });
    const a = input("a", parameters.get("a") || Math.max(1, latest.version - 1)), b = input("b", parameters.get("b") || latest.version);
    const columns = plainColumns(latest.schema);
    const key = choice([["", "row ids"], ...columns], columns.includes("id") ? "id" : "", { name: "key" });
    const results = h("div", { "aria-live": "polite" });
    const show = () => fill(results, differences(names, Number(a.value), Number(b.value), key.value), (drawn) => drawn);
    const form = h("form", {
      class: "row",
      onsubmit(event) {
        event.preventDefault();
        show();
      },
    }, field("Version", a), field("and version", b), field("Name rows by", key), h("button", { class: "main" }, "Compare"));
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
    await rows(names, key, [a, b]),
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

/** The rows that differ between two versions. */
async function rows(names, key, versions) {
  let told;
  try {
    told = await api.call(api.path("table", names, "version/compare"), { from_version: versions[0], to_version: versions[1], limit: mostMoved });
  } catch (refusal) {
    if (refusal.status !== 501) throw refusal;
    return h("p", {}, `Which rows differ is not known: ${refusal.message}.`);
  }
  const { removed, added, changed } = told;
  const count = removed.count + added.count + changed.count;
  if (count === 0) return h("p", {}, "No rows differ.");
  const most = told.stable_row_ids ? mostLines : mostMoved;
  const [before, after] = await Promise.all([[removed, versions[0]], [added, versions[1]]].map(([only, version]) =>
    take(names, version, [...changed.row_ids.slice(0, most), ...only.row_ids.slice(0, most)])));
  // Where ids do not stay, a row that only moved has an equal elsewhere, and a key tells which ones are versions of one row.
  const idOf = (record) => textOf(record._rowid), nameOf = (record) => key && record[key] ? textOf(record[key]) : idOf(record);
  const shared = Object.keys(before[0] || {}).filter((name) => name !== "_rowid" && name in (after[0] || {}));
  const wholeOf = (record) => JSON.stringify([told.stable_row_ids && idOf(record), ...shared.map((name) => jsonOf(record[name]))]);
  const [was, is] = before.length > 0 && after.length > 0 ? unequal(before, after, wholeOf) : [before, after];
  const lines = differing(was, is, told.stable_row_ids ? idOf : nameOf, nameOf, shared);
  const cut = most < Math.max(removed.count, added.count, changed.count);
  const note = !cut ? "" : told.stable_row_ids ? `, of ${number(count)} that were written`
    : ` among the first ${number(most)} that were removed, added or moved; there are ${number(count)}`;
  if (lines.length === 0) return h("p", {}, `No rows differ${note}.`);
  const shown = lines.length > mostLines ? `, of which ${number(mostLines)} are shown` : "";
  return grid(`Rows that differ: ${number(lines.length)}${shown}${note}`, ["", key || "_rowid", "What"], lines.slice(0, mostLines));
}

/** The rows of a version that have some ids. */
async function take(names, version, ids) {
  const pages = [];
  for (let from = 0; from < ids.length; from += pageRows) {
    const some = ids.slice(from, from + pageRows);
    pages.push(...records(await api.rows(api.path("table", names, "query"), { version, k: some.length, filter: `_rowid IN (${some})`, with_row_id: true })));
  }
  return pages;
}

/** The rows of two lists without those that have an equal in the other one, one by one. */
function unequal(before, after, wholeOf) {
  const left = Map.groupBy(after, wholeOf);
  const was = before.filter((record) => !left.get(wholeOf(record))?.pop());
  return [was, [...left.values()].flat()];
}

/** The lines for rows without an equal: those with the same id on both sides have changed. */
function differing(before, after, idOf, nameOf, shared) {
  const lines = [], changed = Map.groupBy(after, idOf);
  const alone = (record) => Object.keys(record).filter((name) => name !== "_rowid").slice(0, mostColumns)
    .map((name) => [h("strong", {}, name), " ", cell(record[name]), " "]);
  for (const old of before) {
    const now = changed.get(idOf(old))?.shift();
    if (!now) {
      lines.push([sign(true, false), nameOf(old), alone(old)]);
      continue;
    }
    const names = shared.filter((name) => jsonOf(old[name]) !== jsonOf(now[name]));
    lines.push([sign(true, true), nameOf(old), names.map((name) => [h("strong", {}, name), " ", cell(old[name]), " → ", cell(now[name]), h("br")])]);
  }
  return [...lines, ...[...changed.values()].flat().map((one) => [sign(false, true), nameOf(one), alone(one)])];
}
