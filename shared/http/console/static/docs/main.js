// The page of the API: a list of the operations that can be searched, and the chosen one.

import { dialog, field, h, problem, say, show } from "./dom.js";
import { base, groups, load, resolve, typeText } from "./document.js";
import { line, members, prose } from "./schema.js";
import { onSignOut, send, signIn, signOut, signedIn } from "./session.js";
import { tryIt } from "./try.js";

const side = document.getElementById("side");
const main = document.getElementById("main");
let about; // the document
let all; // the groups of operations

const origins = {
  spec: "Lance Namespace specification", lancedb: "LanceDB's remote clients", own: "this service alone",
};

/** The list of the operations, and the field that searches it. */
function list() {
  const found = h("p", { class: "quiet", role: "status" });
  const search = h("input", { type: "search", id: "search", "aria-label": "Search the operations", placeholder: "Search", autocomplete: "off", oninput: filter });
  const parts = all.map((group) => h("section", {},
    h("h2", {}, group.name),
    h("ul", { class: "operations" }, group.operations.map((operation) => h("li", { "data-words": words(operation) },
      h("a", { href: `#/${operation.name}` }, operation.name))))));
  function filter() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const part of parts) {
      for (const item of part.querySelectorAll("li")) {
        item.hidden = !wanted.every((word) => item.dataset.words.includes(word));
        if (!item.hidden) count++;
      }
      part.hidden = !part.querySelector("li:not([hidden])");
    }
    found.textContent = wanted.length > 0 ? count === 1 ? "One operation matches." : `${count} operations match.` : "";
  }
  show(side, session(), search, found, parts);
}

const words = ({ name, path, summary, tags }) => [name, path, summary, ...tags].join(" ").toLowerCase();

/** Signing in and out. */
function session() {
  const place = h("div", { id: "session" });
  const draw = () => {
    if (signedIn()) {
      show(place, h("p", {}, "You are signed in. ", h("button", { id: "leave", onclick() { signOut(); draw(); say("You are signed out."); } }, "Sign out")));
      return;
    }
    const token = h("input", { type: "password", name: "token", autocomplete: "off", required: true, "aria-describedby": "kept" });
    const told = h("div", {});
    show(place, h("form", {
      class: "session",
      async onsubmit(event) {
        event.preventDefault();
        signIn(token.value.trim());
        const refused = await refusal();
        if (refused) {
          signOut(true);
          show(told, problem(refused));
          return;
        }
        draw();
        main.focus();
      },
    }, field("Token or API key", token), h("p", { class: "quiet", id: "kept" }, "It is kept in this tab, for the console too, and forgotten when you sign out or close the tab."), told, h("button", {}, "Sign in")));
  };
  draw();
  onSignOut(draw);
  return place;
}

/** Why the server does not take the token, or nothing. Whoever may not list tables is signed in all the same. */
async function refusal() {
  try {
    const { answer, bytes } = await send({ url: new URL("v1/namespace/%24/list?limit=1", base), method: "GET", headers: {} });
    if (answer.status !== 401) return null;
    const problem = JSON.parse(new TextDecoder().decode(bytes));
    return { message: problem.error, detail: problem.detail };
  } catch (error) {
    return error;
  }
}

/** Leads to the field for the token. */
function askToken(outcome) {
  show(outcome, problem({ message: "Sign in first: the request needs a token." }));
  side.classList.add("open");
  side.querySelector("input[name=token]").focus();
}

function overview() {
  const { info, components } = about;
  show(main, h("h1", {}, "API"), prose(info.description),
    h("p", {}, "The document of this page is ", h("a", { href: "../openapi.json" }, "openapi.json"), "; ", h("a", { href: "../llms.txt" }, "llms.txt"), " is a short text for language models."),
    h("h2", {}, "Credentials"),
    h("ul", {}, Object.values(components.securitySchemes).map((one) => h("li", {}, h("code", {}, one.name ? `${one.name}: TOKEN` : "Authorization: Bearer TOKEN"), " ", one.description))),
    h("h2", {}, "Errors"), prose(components.responses.problem.description), members(components.schemas.Problem),
    h("h2", {}, "Operations"),
    all.map((group) => [h("h3", {}, group.name), h("p", { class: "quiet" }, group.description),
      h("ul", { class: "summaries" }, group.operations.map(({ name, summary }) => h("li", {}, h("a", { href: `#/${name}` }, name), " ", summary)))]));
}

function operationPage(operation) {
  show(main, h("h1", {}, operation.name),
    h("p", { class: "lead" }, operation.summary, "."),
    [...operation.methods.keys()].map((method) => h("p", { class: "request" }, h("strong", {}, method), " ", h("code", {}, operation.path))),
    h("dl", { class: "facts" },
      h("dt", {}, "access"), h("dd", {}, operation["x-access"]),
      h("dt", {}, "from"), h("dd", {}, origins[operation["x-origin"]])),
    prose(operation.description),
    tryIt(operation, askToken),
    h("h2", {}, "Parameters"), h("ul", { class: "members" }, operation.parameters.map((one) => parameter(resolve(one).value))),
    requestBody(operation.methods.get("POST")?.requestBody),
    h("h2", {}, "Answers"), Object.entries(operation.responses).map(([status, one]) => answer(status, resolve(one).value)));
}

function parameter({ name, in: place, required, description, schema, content }) {
  return h("li", {}, h("code", { class: "name" }, name), " ",
    h("span", { class: "type" }, `${place}, ${content ? "JSON text" : typeText(schema ?? {})}`), required ? h("strong", { class: "needed" }, " required") : null,
    description ? h("p", {}, line(description)) : null);
}

function requestBody(body) {
  if (!body) return null;
  return [h("h2", {}, "Body"), Object.entries(body.content).map(([type, { schema }]) => [
    h("p", {}, h("code", {}, type), " ", schema.$ref ? null : schema.description), described(schema), members(schema)])];
}

function described(schema) {
  const { value } = resolve(schema);
  return schema.$ref ? prose(value.description) : null;
}

function answer(status, { description, content = {} }) {
  return h("details", { class: "answer", open: /^2/.test(status) },
    h("summary", {}, h("strong", {}, status), " ", line(description)),
    Object.entries(content).map(([type, { schema }]) => [
      h("p", {}, h("code", {}, type), " ", h("span", { class: "type" }, schema.$ref ? typeText(schema) : schema.description ?? typeText(schema))), members(schema)]));
}

/** Shows what the address of the page says. */
function go() {
  const name = decodeURIComponent(location.hash.replace(/^#\/?/, ""));
  const operation = all.flatMap((group) => group.operations).find((one) => one.name === name);
  for (const link of side.querySelectorAll("a")) {
    if (link.hash === `#/${name}`) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest" });
    } else link.removeAttribute("aria-current");
  }
  side.classList.remove("open");
  document.getElementById("menu").setAttribute("aria-expanded", "false");
  document.title = operation ? `${operation.name} · Tiltyard API` : "Tiltyard API";
  if (operation) operationPage(operation);
  else if (name === "") overview();
  else show(main, problem({ message: `There is no operation ${name}.` }));
  main.scrollTo(0, 0);
}

function showKeys() {
  dialog("Keys", h("dl", {},
    [["/", "search the operations"], ["↑ ↓", "move in the list"], ["Ctrl Enter", "send the request"], ["?", "this list"], ["Esc", "close"]]
      .map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])));
}

/** Moves the focus in the list from the field or an entry. */
function move(by) {
  const stops = [document.getElementById("search"), ...[...side.querySelectorAll("li:not([hidden]) a")]];
  const at = stops.indexOf(document.activeElement);
  stops[Math.max(0, Math.min(stops.length - 1, at + by))].focus();
}

document.addEventListener("keydown", (event) => {
  if (side.contains(event.target) && event.target.name !== "token" && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    move(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter" && event.ctrlKey) {
    main.querySelector("form.try")?.requestSubmit();
  } else if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  } else if (event.key === "/") {
    side.classList.add("open");
    document.getElementById("search")?.focus();
  } else if (event.key === "?") {
    showKeys();
  } else {
    return;
  }
  event.preventDefault();
});

document.getElementById("keys").addEventListener("click", showKeys);
document.getElementById("theme").addEventListener("click", () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
});
document.getElementById("menu").addEventListener("click", (event) => {
  event.currentTarget.setAttribute("aria-expanded", String(side.classList.toggle("open")));
});

try {
  about = await load();
  all = groups();
  list();
  go();
  addEventListener("hashchange", go);
  document.getElementById("server").textContent = `Lance Namespace ${about.info.version}`;
} catch (error) {
  show(main, problem(error));
}
