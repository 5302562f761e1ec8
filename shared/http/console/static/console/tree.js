// The list of namespaces and tables, which opens by one level at a time, and the search over all.

import * as api from "./api.js";
import { h, problem, show } from "./dom.js";

const mostFound = 200; // a search stops there, and says so

/** The address of a table's page. */
export const link = (names, tab) => `#/table/${names.map(encodeURIComponent).join("/")}${tab ? `?${tab}` : ""}`;

/** Draws the tree into the side, and returns how to mark the table that is shown. */
export function tree(side) {
  const found = h("div", { id: "found", role: "status" });
  const root = h("ul", { role: "tree", "aria-label": "Namespaces and tables" });
  let search;
  const soon = () => {
    clearTimeout(search);
    search = setTimeout(() => find(input.value.trim(), everywhere.checked, found, root), 250);
  };
  const input = h("input", { id: "search", type: "search", placeholder: "Search tables", "aria-label": "Search tables", oninput: soon });
  const everywhere = h("input", { type: "checkbox", onchange: soon });
  show(side, input, h("label", { class: "check" }, everywhere, " also columns, tags, properties, comments"), h("button", { class: "plain", onclick: () => open(root, []) }, "⟳ Refresh"), found, root);
  root.addEventListener("keydown", (event) => walk(root, event));
  let marked = [];
  const mark = (names) => {
    marked = names;
    for (const item of root.querySelectorAll("a")) {
      const here = item.hash === link(names);
      item.toggleAttribute("aria-current", here);
    }
  };
  root.addEventListener("drawn", () => mark(marked));
  open(root, []);
  return { mark };
}

async function names(kind, namespace, field) {
  const all = [];
  for await (const page of api.pages(api.path("namespace", namespace, kind), { limit: 1000 })) all.push(...page[field]);
  return all;
}

/** Fills a list with what is in a namespace. */
async function open(list, namespace) {
  list.setAttribute("aria-busy", "true");
  try {
    const [namespaces, tables] = await Promise.all([names("list", namespace, "namespaces"), names("table/list", namespace, "tables")]);
    show(list, namespaces.map((name) => branch([...namespace, name])), tables.map((name) => leaf([...namespace, name])),
      namespaces.length + tables.length === 0 ? h("li", { class: "quiet", role: "none" }, "nothing here") : null);
  } catch (error) {
    show(list, h("li", { role: "none" }, problem(error)));
  }
  list.removeAttribute("aria-busy");
  const first = list.querySelector("[role=treeitem]");
  if (first && list.matches("[role=tree]")) first.tabIndex = 0;
  list.dispatchEvent(new Event("drawn", { bubbles: true }));
}

function branch(path) {
  const inner = h("ul", { role: "group", hidden: true });
  const item = h("button", {
    class: "plain", role: "treeitem", tabindex: "-1", "aria-expanded": "false",
    onclick() {
      const closed = inner.hidden;
      inner.hidden = !closed;
      item.setAttribute("aria-expanded", String(closed));
      if (closed) open(inner, path);
    },
  }, h("span", { class: "twist", "aria-hidden": "true" }), path.at(-1));
  return h("li", { role: "none" }, item, inner);
}

const leaf = (path) => h("li", { role: "none" }, h("a", { href: link(path), role: "treeitem", tabindex: "-1" }, path.at(-1)));

/** Moves the focus as in every tree. */
function walk(root, event) {
  const items = [...root.querySelectorAll("[role=treeitem]")].filter((item) => item.offsetParent !== null);
  const at = items.indexOf(document.activeElement);
  if (at < 0) return;
  const item = items[at];
  const expanded = item.getAttribute("aria-expanded");
  let next;
  if (event.key === "ArrowDown") next = items[at + 1];
  else if (event.key === "ArrowUp") next = items[at - 1];
  else if (event.key === "Home") next = items[0];
  else if (event.key === "End") next = items.at(-1);
  else if (event.key === "ArrowRight" && expanded === "false" || event.key === "ArrowLeft" && expanded === "true") item.click();
  else if (event.key === "ArrowLeft") next = item.closest("[role=group]")?.previousElementSibling;
  else return;
  event.preventDefault();
  if (next) {
    item.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}

const places = ["name", "column", "tag", "property", "comment"];

/** Lists the tables that have all words of the text in their names, or anywhere. */
async function find(text, everywhere, found, root) {
  root.hidden = text !== "";
  const mine = (find.now = {});
  if (text === "") return show(found);
  const list = h("ul", { "aria-busy": "true" });
  const more = h("p", { class: "quiet" }, "Searching …");
  show(found, list, more);
  let count = 0;
  try {
    for await (const page of api.found({ text, in: everywhere ? places : ["name"] })) {
      if (find.now !== mine) return;
      for (const table of page.tables) {
        if (++count > mostFound) return show(found, list, h("p", { class: "quiet" }, `These are the first ${mostFound}.`));
        list.append(h("li", {}, h("a", { href: link(table.id) }, table.id.join(" / ")), table.matches.filter((match) => match.in !== "name").slice(0, 3).map(why)));
      }
      for (const table of page.unreadable || []) list.append(h("li", {}, table.id.join(" / "), h("small", { class: "quiet" }, table.reason)));
    }
    show(more, count === 0 ? "No table has that." : "");
  } catch (error) {
    if (find.now === mine) show(found, list, problem(error));
  }
  list.removeAttribute("aria-busy");
}

/** A line about the part of a table that has a word in it. */
const why = (match) => h("small", { class: "quiet match" }, [match.in, match.name].filter(Boolean).join(" "), match.value ? `: ${match.value}` : "");
