// The page of one table: its name, its version and branch, and its tabs.

import { useEffect, useState } from "preact/hooks";
import { Access } from "./access.jsx";
import * as api from "./api.js";
import { Compare } from "./compare.jsx";
import { Embeddings } from "./embeddings.jsx";
import { Health } from "./health.jsx";
import { Indices } from "./indices.jsx";
import { Overview } from "./overview.jsx";
import { address, go, tableLink } from "./place.js";
import { Rows } from "./rows.jsx";
import { noteTable } from "./searches.js";
import { Moment, Problem, useAsync } from "./ui.jsx";
import { Versions } from "./versions.jsx";
import { Views } from "./views.jsx";

const tabs = [
  ["", "Rows", Rows], ["overview", "Overview", Overview], ["versions", "Versions", Versions], ["compare", "Compare", Compare],
  ["indices", "Indices", Indices], ["views", "Views", Views], ["health", "Health", Health], ["embeddings", "Embeddings", Embeddings], ["access", "Access", Access],
];
const recentVersions = 30;

export function TablePage({ names, parameters, listChanged }) {
  const at = { ...(parameters.version ? { version: Number(parameters.version) } : {}), ...(parameters.branch ? { branch: parameters.branch } : {}) };
  const key = names.join("$");
  const [round, setRound] = useState(0); // of changes that were made on this page
  const state = useAsync(() => api.describe(names, at), [key, at.version, at.branch, round]);
  useEffect(() => noteTable(names), [key]);
  useEffect(() => document.querySelector("[role=tab][aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [parameters.tab]);
  const found = state.value && state.value.table === names.at(-1) ? state.value : null;
  const tab = tabs.find(([name]) => name === (parameters.tab || "")) || tabs[0];
  const Content = tab[2];
  return (
    <div class={`table-page ${tab[0] === "" ? "fills" : ""}`}>
      <div class="table-head">
        <h1>{names.slice(0, -1).map((name) => <span class="crumb" key={name}>{name} / </span>)}{names.at(-1)}</h1>
        {!found ? <div class="at" /> : !found.is_only_declared && <At names={names} parameters={parameters} found={found} round={round} />}
      </div>
      <div role="tablist" aria-label="Parts of the page" onKeyDown={(event) => moveTab(event)}>
        {tabs.map(([name, text]) => (
          <a key={name} role="tab" id={`tab-${name || "rows"}`} aria-selected={name === tab[0]} tabIndex={name === tab[0] ? 0 : -1} aria-controls="tab-content"
            href={tableLink(names, { tab: name, version: parameters.version, branch: parameters.branch })}>{text}</a>))}
      </div>
      <div role="tabpanel" id="tab-content" aria-labelledby={`tab-${tab[0] || "rows"}`}>
        {state.error ? <Problem error={state.error} /> : !found ? <p class="quiet waiting" aria-busy="true">Opening the table …</p> :
          found.is_only_declared ? <Declared found={found} /> : <Content key={key + tab[0]} names={names} found={found} at={at} parameters={parameters} changed={() => setRound((n) => n + 1)} gone={listChanged} />}
      </div>
    </div>
  );
}

const Declared = ({ found }) => <div class="empty"><p>The table is declared: it has a name and a place, and no rows have been written yet.</p><p class="quiet">Stored at <code>{found.location}</code></p></div>;

/** The arrow keys move along the tabs. */
function moveTab(event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  const all = [...event.currentTarget.querySelectorAll("[role=tab]")], next = all[(all.indexOf(document.activeElement) + by + all.length) % all.length];
  event.preventDefault();
  next.focus();
  next.click();
}

/** The version and the branch that the pages are about. */
function At({ names, parameters, found, round }) {
  const listed = useAsync(async () => {
    const [versions, tags, branches] = await Promise.all([
      api.call(api.ofTable(names, "version/list"), { descending: true, limit: recentVersions, ...(parameters.branch ? { branch: parameters.branch } : {}) }),
      api.call(api.ofTable(names, "tags/list")), api.call(api.ofTable(names, "branches/list")),
    ]);
    return { versions: versions.versions, tags: Object.entries(tags.tags), branches: Object.keys(branches.branches) };
  }, [names.join("$"), parameters.branch, found.version, round]);
  const { versions = [], tags = [], branches = [] } = listed.value || {};
  const latest = versions[0]?.version ?? found.version;
  const to = (change) => go(address("table", names, { ...parameters, row: "", panel: "", ...change }));
  const tagOf = (version) => tags.filter(([, tag]) => tag.version === version && (tag.branch || "") === (parameters.branch || "")).map(([name]) => name);
  const others = tags.filter(([, tag]) => (tag.branch || "") === (parameters.branch || "") && !versions.some((v) => v.version === tag.version));
  const chosen = versions.find((v) => v.version === Number(parameters.version));
  return (
    <div class="at">
      {branches.length > 0 && <label><span class="unseen">Branch</span>
        <select name="branch" value={parameters.branch || ""} onChange={(event) => to({ branch: event.currentTarget.value, version: "" })}>
          <option value="">branch main</option>{branches.map((name) => <option key={name} value={name}>branch {name}</option>)}
        </select></label>}
      <label><span class="unseen">Version</span>
        <select name="version" value={parameters.version || ""} onChange={(event) => to({ version: event.currentTarget.value })}>
          <option value="">latest, version {latest}</option>
          {parameters.version && !chosen && !others.some(([, tag]) => tag.version === Number(parameters.version)) && <option value={parameters.version}>version {parameters.version}</option>}
          {versions.slice(1).map((v) => <option key={v.version} value={String(v.version)}>version {v.version}{tagOf(v.version).map((name) => `, ${name}`).join("")}, {new Date(v.timestamp_millis).toLocaleString()}</option>)}
          {others.map(([name, tag]) => <option key={name} value={String(tag.version)}>{name}, version {tag.version}</option>)}
        </select></label>
      {parameters.version && <span class="badge warn">not the latest{chosen && <>, <Moment millis={chosen.timestamp_millis} /></>}</span>}
    </div>
  );
}
