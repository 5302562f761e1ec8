// The health of a table or of a branch; for a table also what maintenance would do, and a button that begins it.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { bytes, count, number } from "./format.js";
import { Coverage } from "./indices.jsx";
import { Following } from "./jobs.jsx";
import { tableLink } from "./place.js";
import { Loaded, Problem, Table, useAsync } from "./ui.jsx";

export function Health({ names, at }) {
  const where = (operation) => api.ofTable(names, operation), branch = at.branch ? { branch: at.branch } : {};
  const [round, setRound] = useState(0);
  const state = useAsync(() => Promise.all([api.call(where("stats"), branch), api.describe(names, branch), api.call(where("index/list"), branch)]), [names.join("$"), at.branch, round]);
  const maintained = (text) => at.branch ? "" : ` ${text}`;
  return (
    <Loaded state={state}>{([stats, found, { indexes }]) => {
      const fragments = stats.fragment_stats, deleted = found.stats.num_deleted_rows;
      return <>
        <Table caption={at.branch ? `Health of the branch ${at.branch}` : "Health"} head={["What", "Now", "Meaning"]} rows={[
          ["Small fragments", `${number(fragments.num_small_fragments)} of ${number(fragments.num_fragments)}`, `Many small fragments make scans slow.${maintained("Maintenance joins them.")}`],
          ["Rows per fragment", `${number(fragments.lengths.min)} to ${number(fragments.lengths.max)}, median ${number(fragments.lengths.p50)}`, ""],
          ["Deleted rows", `${number(deleted)} of ${number(deleted + stats.num_rows)}`, `They take space and time${maintained("until maintenance rewrites their fragments")}.`],
          ...indexes.map((index) => [`Index ${index.index_name}`, <Coverage index={index} />, index.num_unindexed_rows > 0 ? `Searches also read the other rows directly.${maintained("Maintenance adds them.")}` : ""]),
        ]} />
        {at.branch ? <p>Maintenance works on the branch main only. <a href={tableLink(names, { tab: "health" })}>Show its health</a></p> : <Maintenance names={names} ended={() => setRound((n) => n + 1)} />}
      </>;
    }}</Loaded>
  );
}

/** The maintenance that is due; ended is called after a job of it. */
function Maintenance({ names, ended }) {
  const maintain = (body) => api.call(api.ofTable(names, "maintain"), body);
  const [round, setRound] = useState(0);
  const [begun, setBegun] = useState(null);
  const state = useAsync(() => Promise.all([maintain({ dry_run: true }).catch((error) => error), api.allowed(names)]), [names.join("$"), round]);
  return (
    <Loaded state={state}>{([due, may]) => {
      const cleanup = due.report?.cleaned?.versions > 0;
      return <>
        <h2>Maintenance that is due</h2>
        {due instanceof Error ? <Problem error={due} /> : <ul>{tasks(due.report).map((task) => <li key={task}>{task}</li>)}</ul>}
        {may("MaintainTable") && <button class="main" onClick={() => maintain({ compact: true, indices: true, cleanup }).then(setBegun, (error) => setBegun({ error }))}>Maintain now</button>}
        {cleanup && <p class="quiet">The job ends some minutes later: files of old versions stay until no request can still read them.</p>}
        {begun?.error && <Problem error={begun.error} />}
        {begun && !begun.error && (begun.job_id ? <Following key={begun.job_id} id={begun.job_id} ended={() => { setRound((n) => n + 1); ended(); }} /> : <p>There is nothing to do.</p>)}
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
