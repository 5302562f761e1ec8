// The indices of a table, and how many of its rows each covers.

import * as api from "./api.js";
import { bytes, fill, grid, h, moment, number } from "./dom.js";

/** Draws the tab. */
export function indices(content, names) {
  fill(content, api.call(api.path("table", names, "index/list")), ({ indexes }) => indexes.length === 0 ?
    h("p", {}, "The table has no index. Searches read its rows, which is quick for tables of some thousand rows.") : [
      grid("Indices", ["Name", "Columns", "Type", "Covers", "Segments", "Size", "Made"], indexes.map((index) => [
        index.index_name, index.columns.join(", "), index.index_type, coverage(index), number(index.num_segments),
        index.size_bytes === undefined ? "unknown" : bytes(index.size_bytes), index.created_at ? moment(Date.parse(index.created_at)) : "unknown",
      ])),
      indexes.map((index) => h("details", {}, h("summary", {}, `Details of ${index.index_name}`), h("pre", {}, pretty(index.index_details)))),
    ]);
}

/** How much of the rows an index covers, as a bar and in words. */
export function coverage(index) {
  const all = index.num_indexed_rows + index.num_unindexed_rows;
  const share = all === 0 ? 1 : index.num_indexed_rows / all;
  return h("span", { class: "coverage" }, h("meter", { min: 0, max: 1, low: 0.8, optimum: 1, value: share, "aria-hidden": "true" }),
    ` ${(100 * share).toFixed(share === 1 ? 0 : 1)} %`, index.num_unindexed_rows > 0 ? `, all but ${number(index.num_unindexed_rows)} rows` : "");
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text || "";
  }
}
