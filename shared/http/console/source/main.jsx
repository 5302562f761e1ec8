// The frame of the console: who is signed in, which page is shown, the keys.

import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { arrowSoon } from "./arrow.js";
import { Connect } from "./connect.jsx";
import { Events, eventsOffered } from "./events.jsx";
import { Functions } from "./functions.jsx";
import { Home } from "./home.jsx";
import { Jobs, Transactions } from "./jobs.jsx";
import { Load } from "./load.jsx";
import { usePlace } from "./place.js";
import { Secrets } from "./secrets.jsx";
import * as session from "./session.js";
import { SignIn } from "./signin.jsx";
import { TablePage } from "./table.jsx";
import { Theme, applyTheme } from "./theme.jsx";
import { Tree } from "./tree.jsx";
import { Dialog, useAsync } from "./ui.jsx";
import { Usage } from "./usage.jsx";

const keys = [
  ["/", "search: rows on a table's page, else tables"], ["t", "find a table"], ["h", "home"], ["↑ ↓ ← →", "move in the list of tables, in the grid, and between rows in their panel"],
  ["Enter", "open the row"], ["Ctrl C", "copy the cell"], ["Page ↑ ↓, Ctrl Home, Ctrl End", "move fast in the grid"], ["[ ]", "the tab before, the next tab"], ["Esc", "close"], ["?", "this list"],
];

function App() {
  const [, again] = useState(0);
  useEffect(() => session.subscribe(() => again((n) => n + 1)), []);
  const at = usePlace();
  const [open, setOpen] = useState(false);
  const [help, setHelp] = useState(false);
  const [round, setRound] = useState(0);
  const [server, setServer] = useState("");
  const signedIn = session.signedIn();
  const main = useRef();
  useEffect(() => { api.version().then((v) => setServer(v.version || ""), () => {}); }, []);
  useEffect(() => setOpen(false), [at]);
  useEffect(() => { if (signedIn) main.current?.focus(); }, [signedIn, at.page, at.names.join("$")]);
  useKeys(() => setHelp(true));

  const names = at.page === "table" ? at.names : [];
  const listChanged = () => setRound((n) => n + 1);
  return <>
    <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to the content</a>
    <header>
      {signedIn && <button id="menu" class="plain" aria-expanded={open} aria-controls="side" aria-label="Tables" onClick={() => setOpen(!open)}>☰</button>}
      <a class="brand" href="#/"><img src="icon.svg" alt="" width="20" height="20" />Tiltyard</a>
      <span id="server" class="quiet">{server}</span>
      <nav aria-label="Pages">
        {signedIn && <Links page={at.page} />}
        <a href="../docs/">API</a>
      </nav>
      <Theme />
      <button id="keys" class="plain" aria-label="Show the keys" title="Keys" onClick={() => setHelp(true)}>?</button>
      {signedIn && <button id="leave" class="small" onClick={() => session.signOut()}>Sign out</button>}
    </header>
    <div id="frame" class={signedIn ? "" : "alone"}>
      {signedIn && <aside id="side" class={open ? "open" : ""} aria-label="Tables"><Tree current={names} round={round} /></aside>}
      <main id="main" tabIndex={-1} ref={main}>{signedIn ? <Page at={at} listChanged={listChanged} /> : <SignIn />}</main>
    </div>
    {help && <Dialog title="Keys" onClose={() => setHelp(false)}><dl class="keys">{keys.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl></Dialog>}
  </>;
}

/** The links to the pages that the token may read. */
function Links({ page }) {
  const { value } = useAsync(async () => {
    const [may, events] = await Promise.all([api.allowed([]), eventsOffered()]);
    return [may("ListFunctions") && ["functions", "Functions"], may("ListSecrets") && ["secrets", "Secrets"], events && ["events", "Events"]].filter(Boolean);
  }, []);
  useEffect(() => document.querySelector("header nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [page, value]);
  return [["", "Home"], ["jobs", "Jobs"], ["transactions", "Transactions"], ["usage", "Usage"], ...(value || [])]
    .map(([name, text]) => <a key={name} href={`#/${name}`} aria-current={page === name ? "page" : undefined}>{text}</a>);
}

function Page({ at, listChanged }) {
  switch (at.page) {
    case "table": return at.names.length > 0 ? <TablePage key={at.names.join("$")} names={at.names} parameters={at.parameters} listChanged={listChanged} /> : <Home listChanged={listChanged} />;
    case "jobs": return <div class="page"><Jobs /></div>;
    case "transactions": return <div class="page"><Transactions id={at.names[0]} /></div>;
    case "usage": return <div class="page"><Usage parameters={at.parameters} /></div>;
    case "functions": return <div class="page"><Functions root={at.names} /></div>;
    case "secrets": return <div class="page"><Secrets root={at.names} /></div>;
    case "events": return <div class="page"><Events key={at.names.join("$")} within={at.names} /></div>;
    case "load": return <div class="page"><Load listChanged={listChanged} /></div>;
    case "connect": return <div class="page"><h1>Connect a client</h1><Connect /></div>;
    default: return <div class="page"><Home listChanged={listChanged} /></div>;
  }
}

/** The keys that work on every page, unless something is being typed. */
function useKeys(showHelp) {
  useEffect(() => {
    const pressed = (event) => {
      if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (event.key === "/") (document.getElementById("query") || document.getElementById("search"))?.focus();
      else if (event.key === "t") document.getElementById("search")?.focus();
      else if (event.key === "h") location.hash = "#/";
      else if (event.key === "?") showHelp();
      else if (event.key === "[" || event.key === "]") moveTab(event.key === "]" ? 1 : -1);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

function moveTab(by) {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const at = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
  if (at >= 0) location.hash = tabs[(at + by + tabs.length) % tabs.length].hash;
}

applyTheme();
render(<App />, document.getElementById("app"));
arrowSoon();
