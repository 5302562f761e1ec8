// The list of namespaces and tables, which opens by one level at a time, and the search over all.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { tableLink } from "./place.js";
import { Problem } from "./ui.jsx";

const mostFound = 200; // a search stops there, and says so
const places = ["name", "column", "tag", "property", "comment"];

/** Current are the names of the table that is shown; its namespaces are opened. Round changes when tables were made. */
export function Tree({ current, round }) {
  const [text, setText] = useState("");
  const [everywhere, setEverywhere] = useState(false);
  const [again, setAgain] = useState(0);
  return <>
    <div class="tree-search">
      <input id="search" type="search" placeholder="Find tables" aria-label="Find tables" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <button class="plain" aria-label="Read the list again" title="Read the list again" onClick={() => setAgain((n) => n + 1)}>⟳</button>
    </div>
    {text && <label class="check"><input type="checkbox" checked={everywhere} onChange={(event) => setEverywhere(event.currentTarget.checked)} /> also columns, tags, properties, comments</label>}
    {text.trim() ? <Found text={text.trim()} everywhere={everywhere} /> :
      <ul role="tree" aria-label="Namespaces and tables" onKeyDown={walk} onFocusIn={one}><Level key={`${again} ${round}`} path={[]} current={current} first /></ul>}
  </>;
}

async function names(kind, namespace, field) {
  const all = [];
  for await (const page of api.pages(api.path("namespace", namespace, kind), { limit: 1000 })) all.push(...page[field]);
  return all;
}

/** What is in a namespace. */
function Level({ path, current, first = false }) {
  const [state, set] = useState({});
  useLayoutEffect(() => { // which asks before the page is painted
    Promise.all([names("list", path, "namespaces"), names("table/list", path, "tables")]).then(([namespaces, tables]) => set({ namespaces, tables }), (error) => set({ error }));
  }, []);
  if (state.error) return <li role="none"><Problem error={state.error} /></li>;
  if (!state.tables) return <li role="none" class="quiet" aria-busy="true">…</li>;
  if (state.namespaces.length + state.tables.length === 0) return <li role="none" class="quiet">nothing here</li>;
  return <>
    {state.namespaces.map((name, i) => <Branch key={name} path={[...path, name]} current={current} reachable={first && i === 0} />)}
    {state.tables.map((name, i) => <Leaf key={name} path={[...path, name]} current={current} reachable={first && i === 0 && state.namespaces.length === 0} />)}
  </>;
}

const within = (path, current) => current.length > path.length && path.every((name, i) => name === current[i]);

function Branch({ path, current, reachable }) {
  const holds = within(path, current);
  const [open, setOpen] = useState(holds);
  useEffect(() => { if (holds) setOpen(true); }, [holds]);
  return (
    <li role="none">
      <button class="plain" role="treeitem" tabIndex={reachable ? 0 : -1} aria-expanded={open} aria-level={path.length} onClick={() => setOpen(!open)}><span class="twist" aria-hidden="true" />{path.at(-1)}</button>
      {open && <ul role="group"><Level path={path} current={current} /></ul>}
    </li>
  );
}

const Leaf = ({ path, current, reachable }) => (
  <li role="none"><a href={tableLink(path)} role="treeitem" aria-level={path.length} tabIndex={reachable ? 0 : -1} aria-current={path.join("$") === current.join("$") ? "page" : undefined}>{path.at(-1)}</a></li>);

/** One item of the tree can be reached by Tab: the one that had the focus last. */
function one(event) {
  if (!event.target.matches("[role=treeitem]")) return;
  for (const item of event.currentTarget.querySelectorAll("[role=treeitem]")) item.tabIndex = item === event.target ? 0 : -1;
}

/** Moves the focus as in every tree. */
function walk(event) {
  const items = [...event.currentTarget.querySelectorAll("[role=treeitem]")];
  const at = items.indexOf(document.activeElement);
  if (at < 0) return;
  const item = items[at], expanded = item.getAttribute("aria-expanded");
  let next;
  if (event.key === "ArrowDown") next = items[at + 1];
  else if (event.key === "ArrowUp") next = items[at - 1];
  else if (event.key === "Home") next = items[0];
  else if (event.key === "End") next = items.at(-1);
  else if (event.key === "ArrowRight" && expanded === "false" || event.key === "ArrowLeft" && expanded === "true") item.click();
  else if (event.key === "ArrowRight" && expanded === "true") next = items[at + 1];
  else if (event.key === "ArrowLeft") next = item.closest("[role=group]")?.previousElementSibling;
  else return;
  event.preventDefault();
  next?.focus();
}

/** The tables that have all words of the text in their names, or anywhere. */
function Found({ text, everywhere }) {
  const [state, set] = useState({ tables: [], busy: true });
  const turn = useRef(0);
  useEffect(() => {
    const mine = ++turn.current;
    set((last) => ({ ...last, busy: true }));
    const timer = setTimeout(async () => {
      const tables = [];
      try {
        for await (const page of api.found({ text, in: everywhere ? places : ["name"] })) {
          if (mine !== turn.current) return;
          tables.push(...page.tables, ...(page.unreadable || []));
          set({ tables: tables.slice(0, mostFound), busy: tables.length < mostFound, cut: tables.length > mostFound });
          if (tables.length > mostFound) return;
        }
        if (mine === turn.current) set({ tables, busy: false });
      } catch (error) {
        if (mine === turn.current) set({ tables: [], error });
      }
    }, 200);
    return () => { turn.current++; clearTimeout(timer); };
  }, [text, everywhere]);
  return (
    <div id="found" role="status" aria-busy={state.busy ? "true" : undefined}>
      {state.error && <Problem error={state.error} />}
      <ul>{state.tables.map((table) => (
        <li key={table.id.join("$")}>{table.reason ? table.id.join(" / ") : <a href={tableLink(table.id)}>{table.id.join(" / ")}</a>}
          {(table.matches || []).filter((match) => match.in !== "name").slice(0, 3).map((match, i) => <small key={i} class="quiet match">{[match.in, match.name].filter(Boolean).join(" ")}{match.value && `: ${match.value}`}</small>)}
          {table.reason && <small class="quiet">{table.reason}</small>}</li>))}</ul>
      <p class="quiet">{state.busy ? "Searching …" : state.cut ? `These are the first ${mostFound}.` : state.tables.length === 0 && !state.error ? "No table has that." : ""}</p>
    </div>
  );
}

