// The versions of a table, newest first, with what each holds, what made it, and for whom.

import { useState } from "preact/hooks";
import { Action } from "./action.jsx";
import * as api from "./api.js";
import { bytes, number } from "./format.js";
import { address, tableLink } from "./place.js";
import { Restore } from "./restore.jsx";
import { Since } from "./since.jsx";
import { Field, Loaded, Moment, Problem, Table, say, useAsync } from "./ui.jsx";

const step = 25; // versions that are shown at once
const head = ["Version", "Committed", "By", "Operation", "Rows", "Deleted", "Fragments", "Size", ""];

export function Versions({ names, found, at, changed }) {
  const [round, setRound] = useState(0);
  const branch = at.branch ? { branch: at.branch } : {};
  const page = (token) => api.call(api.ofTable(names, "version/list"), { descending: true, limit: step, details: true, ...branch, ...(token ? { page_token: token } : {}) });
  const state = useAsync(() => Promise.all([page(), api.call(api.ofTable(names, "tags/list")), api.allowed(names)]), [names.join("$"), at.branch, round]);
  const [more, setMore] = useState({ versions: [] });
  const [asked, ask] = useState({ opened: 0 }); // the version to restore
  const next = more.page_token ?? state.value?.[0].page_token;
  const add = () => page(next).then((answer) => setMore((all) => ({ versions: [...all.versions, ...answer.versions], page_token: answer.page_token || "" })), (error) => setMore((all) => ({ ...all, error })));
  return (
    <Loaded state={state}>{([first, tags, may]) => <>
      <Since names={names} branch={branch} latest={latestOf(first, found)} />
      <Table caption="Versions, newest first" head={head} right={[0, 4, 5, 6, 7]} rows={[...first.versions, ...more.versions].map((version) => line(names, at, version, {
        tags: Object.entries(tags.tags).filter(([, tag]) => (tag.branch || "") === (at.branch || "") && tag.version === version.version).map(([name]) => name),
        restore: may("RestoreTable") && !at.branch && version.version !== latestOf(first, found) && (() => ask((last) => ({ version: version.version, opened: last.opened + 1 }))),
      }))} />
      {more.error && <Problem error={more.error} />}
      {next && <button onClick={add}>Show more</button>}
      {!at.branch && <Changes names={names} latest={latestOf(first, found)} may={may} asked={asked} then={(said) => { say(said); setMore({ versions: [] }); setRound((n) => n + 1); changed(); }} />}
    </>}</Loaded>
  );
}

const latestOf = (first, found) => first.versions[0]?.version ?? found.version;

/** What can be done with a version: give it a name, or make it the latest again. */
function Changes({ names, latest, may, asked, then }) {
  const [tag, setTag] = useState("");
  const [version, setVersion] = useState(latest);
  return <>
    {may("CreateTableTag") && <Action names={names} title="Tag a version" button="Tag" then={() => then(`Version ${version} is tagged ${tag}.`)} change={{
      operation: "tags/create", body: { tag, version }, python: `table.tags.create(${JSON.stringify(tag)}, ${version})`, cli: `tag create ${names.join("/")} ${tag || "NAME"} ${version}`,
    }}><Field label="Name"><input name="tag" required value={tag} autocomplete="off" onInput={(event) => setTag(event.currentTarget.value)} /></Field>
      <Field label="Version"><input type="number" name="version" min={1} max={latest} required value={version} onInput={(event) => setVersion(Number(event.currentTarget.value))} /></Field></Action>}
    {may("RestoreTable") && <Restore names={names} latest={latest} version={asked.version ?? latest} opened={asked.opened} then={then} />}
  </>;
}

/** One version. What it holds is not known of one that is deleted meanwhile. */
function line(names, at, version, { tags, restore }) {
  const found = version.details || {};
  const operation = found.transaction_id ? <a href={address("transactions", [found.transaction_id])} title="the transaction">{found.operation}</a> : found.operation;
  const holds = found.unreadable || !version.details ? ["", <span class="quiet">{found.unreadable || "It is no longer there."}</span>, "", "", "", ""] :
    [(found.authors || []).join(", "), operation, number(found.num_rows), number(found.num_deleted_rows), number(found.num_fragments), bytes(found.num_bytes)];
  return [
    <><a href={tableLink(names, { version: version.version, branch: at.branch })} title="the rows of this version">{number(version.version)}</a>{tags.map((tag) => <span key={tag} class="badge">{tag}</span>)}</>, <Moment millis={version.timestamp_millis} />, ...holds,
    <span class="acts">
      <a href={tableLink(names, { version: version.version, branch: at.branch })} aria-label={`Rows of version ${version.version}`}>Rows</a>
      {version.version > 1 && <a href={tableLink(names, { tab: "compare", branch: at.branch, a: version.version - 1, b: version.version })} aria-label={`Compare with the one before version ${version.version}`}>Compare with the one before</a>}
      {restore && <button class="plain small" aria-label={`Restore version ${version.version}`} onClick={restore}>Restore</button>}
    </span>,
  ];
}
