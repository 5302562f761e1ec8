// Long work: the list of jobs, one job's progress, and transactions.

import { useEffect, useState } from "preact/hooks";
import * as api from "./api.js";
import { number } from "./format.js";
import { address, go } from "./place.js";
import { Field, Loaded, Moment, Problem, Table, say, useAsync } from "./ui.jsx";

const every = 1500; // milliseconds between two looks at work in progress
const words = { IN_PROGRESS: "in progress", DONE: "done", FAILED: "failed", CANCELLED: "cancelled" };

const State = ({ state }) => <span class={`state ${state.toLowerCase()}`}>{words[state] || state}</span>;

/** How far a job is, as a bar and in words. */
function Progress({ of }) {
  if (!of) return "waits for a worker";
  const [done, all, what] = of.parts > 0 ? [of.parts_done, of.parts, "parts"] : of.steps > 0 ? [of.steps_done, of.steps, "steps"] : [of.stages_done, of.stages, "stages"];
  return <><progress max={all || 1} value={done} aria-label="progress" /> {of.stage}: {number(done)} of {number(all)} {what}{of.rows_done > 0 && `, ${number(of.rows_done)} rows`}</>;
}

const acts = [["pause", "Pause", "The job pauses at its next checkpoint."], ["resume", "Resume", "The job goes on."], ["cancel", "Cancel", "The job is cancelled."]];

function Buttons({ id, then }) {
  const act = (operation, said) => api.call(`v1/jobs/${operation}`, { job_id: id }).then(() => { say(said); then(); }, (error) => say(error.message, true));
  return <span class="buttons">{acts.map(([operation, name, said]) => <button key={operation} class="small" onClick={() => act(operation, said)}>{name}</button>)}</span>;
}

/** The page of all jobs, which looks again while any is in progress. */
export function Jobs() {
  const [round, setRound] = useState(0);
  const state = useAsync(() => api.call("v1/jobs/list", { limit: 100 }), [round]);
  const busy = state.value?.jobs.some((job) => job.state === "IN_PROGRESS");
  useEffect(() => {
    if (!busy || state.busy) return undefined;
    const timer = setTimeout(() => setRound((n) => n + 1), every);
    return () => clearTimeout(timer);
  }, [busy, state.busy]);
  return <>
    <h1>Jobs</h1>
    <Loaded state={state}>{({ jobs }) => jobs.length === 0 ? <p class="empty">There are no jobs. Index builds, refreshes, backfills and maintenance are jobs.</p> :
      <Table caption="Jobs" hideCaption head={["Job", "Table", "Kind", "State", "Begun", "Progress", ""]} rows={jobs.map((job) => [
        <code title={job.job_id}>{job.job_id.slice(0, 12)}</code>, job.table, job.job_type.replaceAll("_", " "), <State state={job.state} />, <Moment millis={job.created_at_millis} />,
        <Progress of={job.progress} />, job.state === "IN_PROGRESS" && <Buttons id={job.job_id} then={() => setRound((n) => n + 1)} />,
      ])} />}</Loaded>
  </>;
}

/** The progress of one job until it ends; ended is called if it is done. */
export function Following({ id, ended }) {
  const [job, setJob] = useState(null);
  useEffect(() => {
    let timer, gone = false;
    const look = async () => {
      try {
        const found = await api.call("v1/jobs/describe", { job_id: id });
        if (gone) return;
        setJob(found);
        if (found.job_state === "IN_PROGRESS") timer = setTimeout(look, every);
        else if (found.job_state === "DONE") {
          say("The job is done.");
          ended();
        }
      } catch (error) {
        if (!gone) setJob({ error });
      }
    };
    look();
    return () => { gone = true; clearTimeout(timer); };
  }, [id]);
  if (!job) return <p class="quiet">The job begins …</p>;
  if (job.error) return <Problem error={job.error} />;
  return <>
    <p role="status"><State state={job.job_state} /> <Progress of={job.progress} /></p>
    {job.failure && <Problem error={new Error(job.failure.message)} />}
  </>;
}

/** The page on which a transaction is looked up. */
export function Transactions({ id }) {
  const state = useAsync(() => id ? api.call(api.path("transaction", [id], "describe")) : null, [id]);
  return <>
    <h1>Transactions</h1>
    <p>Changes that go on after their answer name a transaction. Its id is also the id of its job.</p>
    <form class="row" onSubmit={(event) => { event.preventDefault(); go(address("transactions", [event.currentTarget.elements.id.value.trim()])); }}>
      <Field label="Id"><input key={id} name="id" defaultValue={id || ""} required autocomplete="off" size={48} /></Field><button class="main">Look up</button>
    </form>
    {id && <Loaded state={state}>{(found) => found && <>
      <p><span class={`state ${String(found.status).toLowerCase()}`}>{String(found.status).toLowerCase()}</span></p>
      <dl class="facts stacked">{Object.entries(found.properties || {}).map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{String(value)}</dd></div>)}</dl>
    </>}</Loaded>}
  </>;
}
