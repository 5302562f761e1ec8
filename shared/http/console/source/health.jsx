// What maintenance would do for a table, and a button that begins it.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { bytes, count, number } from "./format.js";
import { Coverage } from "./indices.jsx";
import { Following } from "./jobs.jsx";
import { Loaded, Problem, Table, useAsync } from "./ui.jsx";

export function Health({ names }) {
  const where = (operation) => api.ofTable(names, operation);
  const [round, setRound] = useState(0);
  const [begun, setBegun] = useState(null);
  const state = useAsync(() => Promise.all([
    api.call(where("stats")), api.describe(names), api.call(where("index/list")), api.call(where("maintain"), { dry_run: true }).catch((error) => error), api.allowed(names),
  ]), [names.join("$"), round]);
  const begin = (cleanup) => api.call(where("maintain"), { compact: true, indices: true, cleanup }).then(setBegun, (error) => setBegun({ error }));
  return (
    <Loaded state={state}>{([stats, found, { indexes }, due, may]) => {
      const fragments = stats.fragment_stats, deleted = found.stats.num_deleted_rows, cleanup = due.report?.cleaned?.versions > 0;
      return <>
        <Table caption="Health" head={["What", "Now", "Meaning"]} rows={[
          ["Small fragments", `${number(fragments.num_small_fragments)} of ${number(fragments.num_fragments)}`, "Many small fragments make scans slow. Maintenance joins them."],
          ["Rows per fragment", `${number(fragments.lengths.min)} to ${number(fragments.lengths.max)}, median ${number(fragments.lengths.p50)}`, ""],
          ["Deleted rows", `${number(deleted)} of ${number(deleted + stats.num_rows)}`, "They take space and time until maintenance rewrites their fragments."],
          ...indexes.map((index) => [`Index ${index.index_name}`, <Coverage index={index} />, index.num_unindexed_rows > 0 ? "Searches also read the other rows directly. Maintenance adds them." : ""]),
        ]} />
        <h2>Maintenance that is due</h2>
        {due instanceof Error ? <Problem error={due} /> : <ul>{tasks(due.report).map((task) => <li key={task}>{task}</li>)}</ul>}
        {may("MaintainTable") && <button class="main" onClick={() => begin(cleanup)}>Maintain now</button>}
        {cleanup && <p class="quiet">The job ends some minutes later: files of old versions stay until no request can still read them.</p>}
        {begun?.error && <Problem error={begun.error} />}
        {begun && !begun.error && (begun.job_id ? <Following key={begun.job_id} id={begun.job_id} ended={() => setRound((n) => n + 1)} /> : <p>There is nothing to do.</p>)}
      </>;
    }}</Loaded>
  );
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
