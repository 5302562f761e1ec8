// The indices of a table, and how many of its rows each covers.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { CreateIndex } from "./createindex.jsx";
import { bytes, count, number } from "./format.js";
import { Following } from "./jobs.jsx";
import { Bar, Loaded, Moment, Table, useAsync } from "./ui.jsx";

export function Indices({ names, found, at, changed }) {
  const [round, setRound] = useState(0);
  const [job, setJob] = useState("");
  const state = useAsync(() => Promise.all([
    api.call(api.ofTable(names, "index/list"), at), api.call(api.ofTable(names, "count_rows"), at), api.allowed(names),
  ]), [names.join("$"), at.version, at.branch, round]);
  return (
    <Loaded state={state}>{([{ indexes }, rows, may]) => <>
      {indexes.length === 0 ? <p class="empty">The table has no index. Searches read its rows, which is quick for tables of some thousand rows.</p> : <>
        <Table caption="Indices" head={["Name", "Columns", "Type", "Covers", "Segments", "Size", "Made"]} right={[4, 5]} rows={indexes.map((index) => [
          index.index_name, index.columns.join(", "), index.index_type, <Coverage index={index} />, number(index.num_segments),
          index.size_bytes === undefined ? "unknown" : bytes(index.size_bytes), index.created_at ? <Moment millis={Date.parse(index.created_at)} /> : "unknown",
        ])} />
        {indexes.map((index) => <details key={index.index_name}><summary>Details of {index.index_name}</summary><pre tabIndex={0}>{pretty(index.index_details)}</pre></details>)}
      </>}
      {!at.version && may("CreateTableIndex") && <CreateIndex names={names} schema={found.schema} rows={rows} branch={at.branch} then={(answer) => setJob(answer.job_id || answer.transaction_id)} />}
      {job && <Following key={job} id={job} ended={() => { setRound((n) => n + 1); changed(); }} />}
    </>}</Loaded>
  );
}

/** How much of the rows an index covers, as a bar and in words. */
export function Coverage({ index }) {
  const all = index.num_indexed_rows + index.num_unindexed_rows;
  const share = all === 0 ? 1 : index.num_indexed_rows / all;
  return <span class="coverage"><Bar value={share} /> {(100 * share).toFixed(share === 1 ? 0 : 1)} %{index.num_unindexed_rows > 0 && `, all but ${count(index.num_unindexed_rows, "row")}`}</span>;
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text || "";
  }
}
