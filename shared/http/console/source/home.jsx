// The home page: on an empty catalog three ways to begin, else the tables with what changed lately.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { each } from "./each.js";
import { Connect } from "./connect.jsx";
import { Dropped } from "./dropped.jsx";
import { ago, count, number } from "./format.js";
import { go, tableLink } from "./place.js";
import { recentTables } from "./searches.js";
import { takeFiles } from "./load.jsx";
import { Loaded, Moment, Problem, Table, useAsync } from "./ui.jsx";

const mostListed = 500, mostAsked = 24;

export function Home({ listChanged }) {
  const state = useAsync(async () => {
    const [list, sample, may] = await Promise.all([api.tables(mostListed), api.sampleAvailable(), api.allowed([])]);
    return { ...list, sample, may };
  }, []);
  return (
    <Loaded state={state}>{({ names, more, sample }) => names.length === 0 ? <>
      <h1>The catalog is empty</h1>
      <p class="lead">Begin in one of {sample ? "three" : "two"} ways.</p>
      <Ways sample={sample} listChanged={listChanged} />
      <h2 id="connect">Connect a client</h2>
      <Connect />
      <Dropped listChanged={listChanged} />
    </> : <>
      <h1>Tables</h1>
      <Lately names={names} more={more} />
      <Dropped listChanged={listChanged} />
      <h2>More</h2>
      <Ways sample={sample && !names.some((one) => one[0] === "sample")} listChanged={listChanged} small />
    </>}</Loaded>
  );
}

/** The tables, those that were opened last first, with what changed last in each. */
function Lately({ names, more }) {
  const keyOf = (one) => one.join("$"), known = new Set(names.map(keyOf));
  const recent = recentTables().filter((one) => known.has(keyOf(one))), first = new Set(recent.map(keyOf));
  const asked = [...recent, ...names.filter((one) => !first.has(keyOf(one)))].slice(0, mostAsked);
  const state = useAsync((signal) => each(asked, async (one) => {
    const answer = await api.call(api.ofTable(one, "version/list"), { descending: true, limit: 1, details: true }, { signal }).catch((error) => ({ error }));
    return { names: one, version: answer.versions?.[0], error: answer.error };
  }), [names]);
  const known2 = new Map((state.value || []).map((one) => [keyOf(one.names), one]));
  const sorted = state.value ? [...asked].sort((a, b) => (known2.get(keyOf(b)).version?.timestamp_millis || 0) - (known2.get(keyOf(a)).version?.timestamp_millis || 0)) : asked;
  return <>
    {recent.length > 0 && <p class="recent">Opened last: {recent.slice(0, 6).map((one, i) => <span key={keyOf(one)}>{i > 0 && " · "}<a href={tableLink(one)}>{one.join(" / ")}</a></span>)}</p>}
    <Table caption="Changed lately" right={[1, 2]} head={["Table", "Rows", "Version", "Changed", "Operation", "By"]} rows={sorted.map((one) => {
      const { version, error } = known2.get(keyOf(one)) || {}, details = version?.details || {};
      const link = <a href={tableLink(one)}>{one.join(" / ")}</a>;
      if (!version) return [link, "", "", state.busy ? <span class="skeleton" /> : <span class="quiet">{error ? error.message : "no rows yet"}</span>, "", ""];
      return [link, details.num_rows === undefined ? "" : number(details.num_rows), number(version.version), <Moment millis={version.timestamp_millis}>{ago(version.timestamp_millis)}</Moment>,
        details.operation || "", (details.authors || []).join(", ")];
    })} />
    {names.length > mostAsked && <p class="quiet">{more ? `More than ${number(names.length)} tables` : count(names.length, "table")} in all; the list at the side has the rest.</p>}
  </>;
}

function Ways({ sample, listChanged, small = false }) {
  return (
    <div class={`ways ${small ? "small-ways" : ""}`}>
      {sample && <Sample listChanged={listChanged} />}
      <FileDrop />
      {small && <a class="card way" href="#/connect"><h2>Connect a client</h2><p>Python, Node, Go, the command line, curl.</p></a>}
    </div>
  );
}

function Sample({ listChanged }) {
  const [state, set] = useState({});
  async function load() {
    set({ busy: true });
    try {
      const { table } = await api.call("console/sample", {});
      listChanged();
      go(tableLink(table));
    } catch (error) {
      set({ error });
    }
  }
  return (
    <section class="card way" aria-labelledby="sample">
      <h2 id="sample">Load a sample</h2>
      <p>A small table with texts, vectors and pictures, with its indices, to search at once.</p>
      <button class="main" disabled={state.busy} onClick={load}>{state.busy ? "Loading …" : "Load the sample"}</button>
      {state.error && <Problem error={state.error} />}
    </section>
  );
}

function FileDrop() {
  const [over, setOver] = useState(false);
  const take = (list) => takeFiles(list) && go("#/load");
  return (
    <section class={`card way drop ${over ? "over" : ""}`} aria-labelledby="drop" onDragOver={(event) => { event.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
      onDrop={(event) => { event.preventDefault(); setOver(false); take(event.dataTransfer); }}>
      <h2 id="drop">Drop a file here</h2>
      <p>CSV, JSON lines, Arrow or Parquet. You see its columns and types before anything is loaded.</p>
      <label class="button">Choose a file<input class="unseen" type="file" accept=".csv,.tsv,.json,.jsonl,.ndjson,.arrow,.arrows,.feather,.ipc,.parquet" onChange={(event) => take(event.currentTarget)} /></label>
    </section>
  );
}
