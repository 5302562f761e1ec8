// The page of events: the newest changes of the catalog, read again every few seconds.

import { useEffect, useState } from "preact/hooks";
import * as api from "./api.js";
import { ago, count, number } from "./format.js";
import { tableLink } from "./place.js";
import * as session from "./session.js";
import { Choice, Field, Moment, Problem, Table } from "./ui.jsx";

const every = 3000, most = 200, pageSize = 1000;
const types = [["", "all"], ["tiltyard.table.committed", "commits to tables"], ["tiltyard.branch.", "commits to branches"], ["tiltyard.table.", "all of tables"], ["tiltyard.namespace.", "of namespaces"], ["tiltyard.job.", "ends of jobs"]];

let offered = null;

/** Whether the server keeps events that the token may read. It is requested once in a session. */
export const eventsOffered = () => offered ||= list("latest", {}).then(() => true, () => false);
session.subscribe(() => { offered = null; });

const list = (cursor, { type, within }, signal) => api.call("v1/event/list", { cursor, limit: pageSize, ...(type ? { types: [type] } : {}), ...(within?.length > 0 ? { within } : {}) }, { signal });

/** Within are the names of the namespace or table that the events are about; none are all. */
export function Events({ within }) {
  const [type, setType] = useState("");
  const [running, setRunning] = useState(true);
  const { events, total, error, caught } = useEvents(type, within, running);
  return <>
    <h1>Events{within.length > 0 && ` of ${within.join(" / ")}`}</h1>
    <div class="row">
      <Field label="Kind"><Choice name="type" options={types} value={type} onChange={(event) => setType(event.currentTarget.value)} /></Field>
      <button aria-pressed={!running} onClick={() => setRunning(!running)}>{running ? "Pause" : "Go on"}</button>
      {within.length > 0 && <a href="#/events">Show those of the whole catalog</a>}
    </div>
    {error && <Problem error={error} />}
    <p class="quiet" role="status" aria-busy={caught || error ? undefined : "true"}>
      {!caught ? "Reading the events …" : `${count(total, "event")} since the oldest that is kept${total > most ? `, of which the newest ${number(most)} are shown` : ""}. ${running ? "New ones appear here." : "Paused."}`}</p>
    {caught && events.length === 0 ? <p class="empty">No such change has been announced.</p> :
      <Table caption="Events" hideCaption head={["When", "What", "Object", "Details"]} rows={events.map(line)} />}
  </>;
}

/** The newest events, the latest first, how many were read, and whether all that there are have been read. */
function useEvents(type, within, running) {
  const [state, set] = useState({ events: [], total: 0, cursor: "" });
  const key = [type, ...within].join("$");
  useEffect(() => {
    if (!running) return undefined;
    const control = new AbortController();
    let timer, known = state.key === key ? state : { key, events: [], total: 0, cursor: "" };
    if (known !== state) set(known);
    const look = async () => {
      try {
        const answer = await list(known.cursor, { type, within }, control.signal);
        known = { key, events: [...answer.events.reverse(), ...known.events].slice(0, most), total: known.total + answer.events.length, cursor: answer.cursor, caught: known.caught || !answer.more };
        set(known);
        timer = setTimeout(look, answer.more ? 0 : every);
      } catch (error) {
        if (error.name !== "AbortError") set({ ...known, error });
      }
    };
    look();
    return () => { control.abort(); clearTimeout(timer); };
  }, [key, running]);
  return state;
}

/** One event in words. */
function line({ type, time, data }) {
  const [, kind, what] = type.split("."), name = data.id.join(" / ") || "the catalog";
  const of = kind === "namespace" || data.id.length === 0 || what === "dropped" || data.job_type?.includes("function") ? name : <a href={tableLink(data.id, { version: kind === "table" ? data.version : "", branch: data.branch })}>{name}</a>;
  const rows = [data.rows_added > 0 && `${number(data.rows_added)} added`, data.rows_deleted > 0 && `${number(data.rows_deleted)} deleted`, data.rows !== undefined && `${count(data.rows, "row")} then`];
  const details = [data.branch && `branch ${data.branch}`, data.version !== undefined && `version ${number(data.version)}`, data.operation, ...rows, data.from_id && `formerly ${data.from_id.join(" / ")}`,
    data.job_type?.replaceAll("_", " "), data.state?.toLowerCase().replaceAll("_", " "), data.message];
  return [<Moment millis={Date.parse(time)}>{ago(Date.parse(time))}</Moment>, `${kind} ${what}`, of, details.filter(Boolean).join(", ")];
}
