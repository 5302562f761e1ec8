// The page of one table: its tabs.

import { access } from "./access.js";
import * as api from "./api.js";
import { compare } from "./compare.js";
import { bytes, fill, grid, h, moment, number, show } from "./dom.js";
import { health } from "./health.js";
import { indices } from "./indices.js";
import { plot } from "./plot.js";
import { query } from "./query.js";
import { typeText } from "./schema.js";
import { link } from "./tree.js";
import { versions } from "./versions.js";

const tabs = [
  ["", "Overview", overview], ["query", "Query", query], ["versions", "Versions", versions], ["compare", "Compare", compare],
  ["indices", "Indices", indices], ["health", "Health", health], ["plot", "Embeddings", plot], ["access", "Access", access],
];

/** Draws a tab of the page of the table with these names. */
export function table(main, names, tab, parameters) {
  const [, , draw] = tabs.find(([key]) => key === tab) || tabs[0];
  const content = h("section", { role: "tabpanel", "aria-labelledby": `tab-${tab}` });
  show(main,
    h("p", { class: "crumbs" }, names.slice(0, -1).map((name) => `${name} / `)),
    h("h1", {}, names.at(-1)),
    h("div", { role: "tablist", "aria-label": "Parts of the page" }, tabs.map(([key, text]) =>
      h("a", { role: "tab", id: `tab-${key}`, href: link(names, key), "aria-selected": String(key === tab) }, text))),
    content);
  draw(content, names, parameters);
}

function overview(content, names) {
  const at = (operation) => api.path("table", names, operation);
  fill(content, api.describe(names).then(async (found) => found.is_only_declared ? [found] :
    [found, ...await Promise.all([api.call(at("stats")), api.call(at("tags/list")), api.call(at("branches/list"))])]),
  ([found, stats, tags, branches]) => {
    if (!stats) return h("p", {}, "The table is declared: it has a name and a place, and no rows have been written yet.", location(found));
    const stored = new Map(); // by column: the cell that gets what it takes
    const note = h("p", { class: "quiet" });
    measure(names, found.schema.fields, stored, note);
    return [
      h("dl", { class: "facts" }, facts(found, stats).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
      location(found),
      grid("Columns", ["Column", "Type", "Nullable", "Stored"], columns(found.schema.fields, stored)), note,
      Object.keys(tags.tags).length > 0 && grid("Tags", ["Tag", "Version", "Branch"],
        Object.entries(tags.tags).map(([name, tag]) => [name, number(tag.version), tag.branch || "main"])),
      Object.keys(branches.branches).length > 0 && grid("Branches", ["Branch", "From", "At version", "Made"],
        Object.entries(branches.branches).map(([name, b]) => [name, b.parentBranch || "main", number(b.parentVersion), moment(b.createAt * 1000)])),
      Object.keys(found.properties || {}).length > 0 && grid("Properties", ["Property", "Value"], Object.entries(found.properties)),
    ];
  });
}

const facts = (found, stats) => [
  ["Rows", number(stats.num_rows)], ["Size", bytes(stats.total_bytes)], ["Version", number(found.version)],
  ["Fragments", number(stats.fragment_stats.num_fragments)], ["Deleted rows", number(found.stats.num_deleted_rows)], ["Indices", number(stats.num_indices)],
];

const location = (found) => h("p", { class: "quiet location" }, "Stored at ", h("code", {}, found.location));

/** Fills in how much of the data files each column takes. Files are read for that, so it may come later. */
async function measure(names, fields, stored, note) {
  for (const f of fields) stored.set(f.name, h("span", { class: "line", "aria-busy": "true" }, "…"));
  try {
    const found = await api.call(api.path("table", names, "storage"));
    const about = found.estimated ? "about " : "";
    for (const { name, bytes: taken } of found.columns) {
      show(stored.get(name) || h("span"), `${about}${bytes(taken)} `, h("span", { class: "quiet" }, share(taken, found.total_bytes)));
    }
    show(note, found.other_bytes > 0 ? `${about}${bytes(found.other_bytes)} more are contents of blobs, dropped columns and metadata of the files. ` : "",
      found.estimated ? `An estimate: ${number(found.files_read)} of ${number(found.files)} files were read.` : "");
  } catch (error) {
    for (const cell of stored.values()) show(cell);
    show(note, `What the columns take is not known: ${error.message}`);
  }
  for (const cell of stored.values()) cell.removeAttribute("aria-busy");
}

const share = (part, whole) => (whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "");

/** The rows of the table of columns; a column in a struct is indented below it. */
function columns(fields, stored, depth = 0) {
  return fields.flatMap((f) => [
    [h("span", { class: `depth-${Math.min(depth, 4)}` }, f.name), h("code", {}, typeText(f.type)), f.nullable ? "yes" : "no", depth === 0 && stored.get(f.name)],
    ...(f.type.type === "struct" ? columns(f.type.fields, stored, depth + 1) : []),
  ]);
}
