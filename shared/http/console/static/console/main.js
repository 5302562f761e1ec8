// The frame of the console: who is signed in, which page is shown, the keys.

import * as api from "./api.js";
import { dialog, h, problem, say, show } from "./dom.js";
import { jobs, transactions } from "./jobs.js";
import { table } from "./table.js";
import { tree } from "./tree.js";

const side = document.getElementById("side");
const main = document.getElementById("main");
const leave = document.getElementById("leave");
let tables; // the tree, once somebody is signed in

/** What the address of a page says: #/table/a/b?tab&x=1 becomes ["table", "a", "b"], "tab" and its parameters. */
function place() {
  const [path, rest = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [tab, ...parameters] = rest.split("&");
  return [path.split("/").filter(Boolean).map(decodeURIComponent), tab, new URLSearchParams(parameters.join("&"))];
}

function welcome() {
  show(main, h("h1", {}, "Tables"),
    h("p", {}, "Choose a table on the left. The field above the list searches for names in all namespaces."),
    h("p", { class: "quiet" }, "Press ? for the keys."));
}

function go() {
  if (!api.signedIn()) return askToken();
  const [[page, ...names], tab, parameters] = place();
  clearInterval(main.timer);
  side.classList.remove("open");
  try {
    if (page === "table" && names.length > 0) table(main, names, tab, parameters);
    else if (page === "jobs") jobs(main);
    else if (page === "transactions") transactions(main, names[0]);
    else welcome();
  } catch (error) {
    show(main, problem(error));
  }
  tables.mark(page === "table" ? names : []);
}

function askToken() {
  leave.hidden = true;
  show(side);
  const token = h("input", { type: "password", name: "token", autocomplete: "off", required: true, "aria-describedby": "kept" });
  const told = h("div", {});
  show(main, h("form", {
    class: "card sign-in",
    async onsubmit(event) {
      event.preventDefault();
      api.signIn(token.value.trim());
      try {
        await api.call(api.path("namespace", [], "list"), { limit: 1 });
      } catch (error) {
        // Whoever may not list the root is signed in all the same.
        if (error.status !== 403) {
          api.signIn("");
          return show(told, problem(error));
        }
      }
      enter();
    },
  }, h("h1", {}, "Sign in"), h("label", { class: "field" }, h("span", {}, "Token or API key"), token),
  h("p", { class: "quiet", id: "kept" }, "It stays in the memory of this page, and is gone when you leave or reload it."),
  told, h("button", { class: "main" }, "Sign in")));
  token.focus();
}

function enter() {
  leave.hidden = false;
  tables = tree(side);
  say("You are signed in.");
  go();
  main.focus();
}

document.getElementById("theme").addEventListener("click", () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
});

document.getElementById("menu").addEventListener("click", (event) => {
  event.currentTarget.setAttribute("aria-expanded", String(side.classList.toggle("open")));
});

leave.addEventListener("click", () => {
  api.signIn("");
  location.hash = "#/";
  askToken();
});

function showKeys() {
  dialog("Keys", h("dl", {},
    [["/", "search for a table"], ["↑ ↓ ← →", "move in the list of tables; open and close namespaces"], ["Ctrl Enter", "run the query"],
      ["[ ]", "the tab before, the next tab"], ["?", "this list"], ["Esc", "close"]].map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])));
}
document.getElementById("keys").addEventListener("click", showKeys);

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") document.getElementById("search")?.focus();
  else if (event.key === "?") showKeys();
  else if (event.key === "[" || event.key === "]") moveTab(event.key === "]" ? 1 : -1);
  else return;
  event.preventDefault();
});

function moveTab(by) {
  const tabs = [...main.querySelectorAll("[role=tab]")];
  const at = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
  if (at >= 0) location.hash = tabs[(at + by + tabs.length) % tabs.length].hash;
}

addEventListener("hashchange", go);
api.version().then((v) => { document.getElementById("server").textContent = v.version || ""; }, () => {});
go();
