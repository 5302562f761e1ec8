// Materialized views on the page of a table: what a view is made of and how old it is, and a form for a view of the table.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { ago, count, number } from "./format.js";
import { Following } from "./jobs.jsx";
import { tableLink } from "./place.js";
import { MakeView } from "./makeview.jsx";
import { Loaded, Moment, Problem, Snippet, useAsync } from "./ui.jsx";

const isView = (found) => Object.keys(found.schema.metadata || {}).some((key) => key.startsWith("mv."));

export function Views({ names, found, at, changed }) {
  const may = useAsync(() => api.allowed(names), [names.join("$")]);
  if (at.branch) return <p class="empty">A view reads the table itself, not a branch of it.</p>;
  return <>
    {isView(found) && <View names={names} changed={changed} />}
    <Readers names={names} />
    <Loaded state={may}>{(allowed) => allowed("CreateMaterializedView") && <MakeView names={names} schema={found.schema} then={changed} />}</Loaded>
  </>;
}

/** What a view is made of, which version of its source it shows, and the button that renews it. */
function View({ names, changed }) {
  const [round, setRound] = useState(0);
  const [begun, begin] = useState(null);
  const [full, setFull] = useState(false);
  const state = useAsync(async () => {
    const [view, may] = await Promise.all([api.call(api.path("materialized_view", names, "describe")), api.allowed(names)]);
    return { view, may, source: await sourceOf(view) };
  }, [names.join("$"), round]);
  const refresh = () => api.call(api.path("materialized_view", names, "refresh"), full ? { full } : {}).then(begin, (error) => begin({ error }));
  return (
    <Loaded state={state} label="Reading the view">{({ view, may, source }) => <>
      <h2 class="first">This is a materialized view</h2>
      <dl class="facts">
        <div><dt>Source</dt><dd><a href={tableLink(source.names)}>{source.names.join(" / ")}</a></dd></div>
        <div><dt>Shows version</dt><dd>{view.source_version ? <a href={tableLink(source.names, { version: view.source_version })}>{number(view.source_version)}</a> : "none yet"}</dd></div>
        <div><dt>Latest version</dt><dd>{source.error ? "unknown" : number(source.latest)}</dd></div>
        <div><dt>Refreshed</dt><dd>{view.refreshed_at_millis ? <Moment millis={view.refreshed_at_millis}>{ago(view.refreshed_at_millis)}</Moment> : "never"}</dd></div>
        <div><dt>Follows its source</dt><dd>{view.auto_refresh ? "yes" : "no"}</dd></div>
      </dl>
      <p><Staleness view={view} source={source} /></p>
      {view.query && <Snippet text={view.query} label="The query of the view" />}
      {!view.query && <p class="quiet">It is a view of kind {view.kind}, whose definition only its client can read.</p>}
      {may("RefreshMaterializedView") && <div class="row">
        <button class="main" onClick={refresh}>Refresh</button>
        <label class="check"><input type="checkbox" checked={full} onChange={(event) => setFull(event.currentTarget.checked)} /> compute all rows again</label>
      </div>}
      {begun?.error && <Problem error={begun.error} />}
      {begun?.job_id && <Following key={begun.job_id} id={begun.job_id} ended={() => { setRound((n) => n + 1); changed(); }} />}
    </>}</Loaded>
  );
}

/** The source of a view now, and how many of its rows were written since the view was refreshed. */
async function sourceOf(view) {
  const names = [...view.source_namespace || [], view.source_table];
  try {
    const { version } = await api.describe(names);
    if (!view.source_version || version <= view.source_version) return { names, latest: version };
    const told = await api.call(api.ofTable(names, "version/compare"), { from_version: view.source_version, to_version: version, limit: 1 }).catch(() => null);
    return { names, latest: version, told };
  } catch (error) {
    return { names, error };
  }
}

/** Whether the rows of a view are those that its query would give now. */
function Staleness({ view, source }) {
  if (source.error) return <span class="badge warn">its source cannot be read: {source.error.message}</span>;
  if (!view.source_version) return <span class="badge warn">it has not been computed yet</span>;
  const behind = source.latest - view.source_version, told = source.told;
  if (behind <= 0) return <span class="state done">up to date</span>;
  const rows = told && ["removed", "added", "changed"].map((name) => told[name].count > 0 && `${number(told[name].count)} ${name}`).filter(Boolean).join(", ");
  if (told && !rows) return <><span class="state done">up to date</span> <span class="quiet">The {count(behind, "later version")} of its source {behind === 1 ? "has" : "have"} the same rows.</span></>;
  return <><span class="badge warn">{count(behind, "version")} behind its source</span>{rows && <span class="quiet"> Rows of the source since then: {rows}{!told.stable_row_ids && ", where an updated row is removed and added"}.</span>}</>;
}

const mostViews = 100;

/** The views of the table that are in its namespace. */
function Readers({ names }) {
  const state = useAsync(async () => {
    const { views } = await api.call(api.path("namespace", names.slice(0, -1), "materialized_view/list"), { limit: mostViews });
    const all = await Promise.all(views.map((name) => api.call(api.path("materialized_view", [...names.slice(0, -1), name], "describe")).then((view) => ({ name, view }), () => null)));
    return all.filter((one) => one && [...one.view.source_namespace || [], one.view.source_table].join("$") === names.join("$"));
  }, [names.join("$")]);
  if (state.error || state.value?.length === 0) return <p class="quiet">No view in its namespace reads this table.</p>;
  if (!state.value) return <p class="quiet" aria-busy="true">Looking for views …</p>;
  return <p>Views of this table in its namespace: {state.value.map(({ name }, i) => <span key={name}>{i > 0 && ", "}<a href={tableLink([...names.slice(0, -1), name], { tab: "views" })}>{name}</a></span>)}.</p>;
}
