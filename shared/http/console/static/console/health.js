// What maintenance would do for a table, and a button that begins it.

import * as api from "./api.js";
import { bytes, fill, grid, h, number, problem, show } from "./dom.js";
import { follow } from "./jobs.js";
import { coverage } from "./indices.js";

/** Draws the tab. */
export function health(content, names) {
  const at = (operation) => api.path("table", names, operation);
  fill(content, Promise.all([
    api.call(at("stats")), api.describe(names), api.call(at("index/list")),
    api.call(at("maintain"), { dry_run: true }).catch((error) => error),
  ]), ([stats, found, { indexes }, due]) => {
    const job = h("div");
    const fragments = stats.fragment_stats;
    const deleted = found.stats.num_deleted_rows;
    const cleanup = due.report?.cleaned?.versions > 0;
    return [
      grid("Health", ["What", "Now", "Meaning"], [
        ["Small fragments", `${number(fragments.num_small_fragments)} of ${number(fragments.num_fragments)}`, "many small fragments make scans slow; maintenance joins them"],
        ["Rows in a fragment", `${number(fragments.lengths.min)} to ${number(fragments.lengths.max)}, half have up to ${number(fragments.lengths.p50)}`, ""],
        ["Deleted rows", `${number(deleted)} of ${number(deleted + stats.num_rows)}`, "they take space and time until maintenance rewrites their fragments"],
        ...indexes.map((index) => [`Index ${index.index_name}`, coverage(index), index.num_unindexed_rows > 0 ? "searches read the other rows, too; maintenance adds them" : ""]),
      ]),
      h("h2", {}, "Maintenance that is due"),
      due instanceof Error ? problem(due) : h("ul", {}, tasks(due.report).map((task) => h("li", {}, task))),
      h("button", {
        class: "main",
        async onclick() {
          try {
            const begun = await api.call(at("maintain"), { compact: true, indices: true, cleanup });
            if (begun.job_id) follow(job, begun.job_id, () => health(content, names));
            else show(job, h("p", {}, "There is nothing to do."));
          } catch (error) {
            show(job, problem(error));
          }
        },
      }, "Maintain now"),
      cleanup && h("p", { class: "quiet" }, "The job ends some minutes later: files of old versions stay until no request can still read them."), job,
    ];
  });
}

/** A number and what it counts. */
function count(n, one, more) {
  return `${number(n)} ${n === 1 ? one : more}`;
}

/** The report of a dry run, in words. */
function tasks(report = {}) {
  const all = [];
  const { fragments_removed: removed, fragments_added: added, indices_folded: folded, segments_merged: merged, cleaned } = report;
  if (removed > 0) all.push(`${count(removed, "fragment is", "fragments are")} joined into ${added > 0 ? number(added) : "larger ones"}`);
  if (folded > 0) all.push(`${count(folded, "index takes", "indices take")} in the rows that are not covered`);
  if (merged > 0) all.push(`${count(merged, "segment", "segments")} of indices ${merged === 1 ? "is" : "are"} merged`);
  if (cleaned?.versions > 0) all.push(`${count(cleaned.versions, "old version goes", "old versions go")}, with ${bytes(cleaned.bytes)}`);
  return all.length > 0 ? all : ["none: the table is in order"];
}
