// The versions of a table, newest first, with what each holds, what made it, and for whom.

import { useState } from "preact/hooks";
import { Action } from "./action.jsx";
import * as api from "./api.js";
import { bytes, count, number } from "./format.js";
import { address, go, tableLink } from "./place.js";
import { Restore } from "./restore.jsx";
import { Since } from "./since.jsx";
import { filterOf, instantOf, localOf, versions } from "./timeline.js";
import { Field, Loaded, Moment, Problem, Table, say, useAsync } from "./ui.jsx";

const head = ["Version", "Committed", "By", "Operation", "Rows", "Deleted", "Fragments", "Size", ""];

export function Versions(given) {
  const { names, at, parameters } = given, filter = filterOf(parameters), key = JSON.stringify([at.branch, filter]);
  return <>
    <Filter key={key} filter={filter} onFilter={(change) => go(address("table", names, { ...parameters, ...change }))} />
    <List key={`list ${key}`} {...given} filter={filter} />
  </>;
}

/** The form of a filter. Times are of the browser's zone. */
function Filter({ filter, onFilter }) {
  function submit(event) {
    event.preventDefault();
    const { find, from, until } = event.currentTarget.elements;
    onFilter({ find: find.value.trim(), from: instantOf(from.value), until: instantOf(until.value) });
  }
  const time = (name, value) => <input type="datetime-local" name={name} defaultValue={localOf(value)} />;
  return (
    <form class="row" role="search" aria-label="Filter versions" onSubmit={submit}>
      <Field label="Operation, author, tag or metadata"><input name="find" size={32} defaultValue={filter.text} autocomplete="off" /></Field>
      <Field label="From">{time("from", filter.from)}</Field><Field label="Until">{time("until", filter.until)}</Field><button class="main">Filter</button>
      {(filter.text || filter.from || filter.until) && <button type="button" onClick={() => onFilter({ find: "", from: "", until: "" })}>All versions</button>}
    </form>
  );
}

function List({ names, found, at, filter, changed }) {
  const [round, setRound] = useState(0);
  const branch = at.branch ? { branch: at.branch } : {};
  const state = useAsync(async () => {
    const [{ tags }, may] = await Promise.all([api.call(api.ofTable(names, "tags/list")), api.allowed(names)]);
    const tagsOf = ({ version }) => Object.entries(tags).filter(([, tag]) => (tag.branch || "") === (at.branch || "") && tag.version === version).map(([name]) => name);
    return { may, tagsOf, first: await versions(names, branch, filter, tagsOf) };
  }, [round]);
  const [more, setMore] = useState({ versions: [], read: 0 });
  const [asked, ask] = useState({ opened: 0 }); // the version to restore
  return (
    <Loaded state={state}>{({ may, tagsOf, first }) => {
      const latest = first.latest ?? found.version, all = [...first.versions, ...more.versions], next = more.next ?? first.next;
      const add = () => versions(names, branch, filter, tagsOf, next).then(
        (answer) => setMore((last) => ({ versions: [...last.versions, ...answer.versions], read: last.read + answer.read, next: answer.next || "" })), (error) => setMore((last) => ({ ...last, error })));
      return <>
        <Since names={names} branch={branch} latest={latest} />
        {all.length === 0 ? <p class="empty">{next ? `None of the newest ${count(first.read + more.read, "version")} is like that.` : "No version is like that."}</p> :
          <Table caption="Versions, newest first" head={head} right={[0, 4, 5, 6, 7]} rows={all.map((version) => line(names, at, version, {
            tags: tagsOf(version), restore: may("RestoreTable") && !at.branch && version.version !== latest && (() => ask((last) => ({ version: version.version, opened: last.opened + 1 }))),
          }))} />}
        {more.error && <Problem error={more.error} />}
        {next && <button onClick={add}>Show more</button>}
        {!at.branch && <Changes names={names} latest={latest} may={may} asked={asked} then={(said) => { say(said); setMore({ versions: [], read: 0 }); setRound((n) => n + 1); changed(); }} />}
      </>;
    }}</Loaded>
  );
}

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
