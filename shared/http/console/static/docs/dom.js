// How the pages make their elements.

/** The children that h takes: nodes and texts; null and false are left out, and lists are joined. */
function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) parent.append(child);
  }
  return parent;
}

/** Makes an element. Properties that begin with "on" are listeners, the others are attributes. */
export function h(tag, properties = {}, ...children) {
  return append(set(document.createElement(tag), properties), children);
}

/** Makes an element of a drawing. */
export function svg(tag, properties = {}, ...children) {
  return append(set(document.createElementNS("http://www.w3.org/2000/svg", tag), properties), children);
}

function set(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  return element;
}

/** Shows only the children in the parent. */
export function show(parent, ...children) {
  parent.replaceChildren();
  return append(parent, children);
}

/** Tells something in passing, also to screen readers. */
export function say(text, isError = false) {
  const said = document.getElementById("said");
  said.className = isError ? "error" : "";
  said.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { said.textContent = ""; }, isError ? 10_000 : 4_000);
}

/** Shows what went wrong where the content would be. */
export function problem(error) {
  return h("div", { class: "problem", role: "alert" }, h("strong", {}, error.message), error.detail ? h("p", {}, error.detail) : null,
    error.request ? h("p", { class: "quiet" }, "Request ", h("code", {}, error.request)) : null);
}

/**
 * Shows what a promise brings, and until then that it is awaited. When the page has gone on to
 * something else meanwhile, its content is left alone.
 */
export async function fill(parent, promise, draw) {
  const turn = Symbol("turn");
  parent.turn = turn;
  parent.setAttribute("aria-busy", "true");
  show(parent, h("p", { class: "quiet" }, "Loading …"));
  let content;
  try {
    content = draw(await promise);
  } catch (error) {
    content = problem(error);
  }
  if (parent.turn !== turn) return;
  parent.removeAttribute("aria-busy");
  show(parent, content);
}

/** A table of a head and rows of cells. */
export function grid(caption, head, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell)))))));
}

/** A field with its label. */
export function field(label, input, hint) {
  return h("label", { class: "field" }, h("span", {}, label), input, hint ? h("small", {}, hint) : null);
}

/** A choice among texts. */
export function choice(options, selected, properties = {}) {
  return h("select", properties, options.map((option) => {
    const [value, text] = Array.isArray(option) ? option : [option, option];
    return h("option", { value, selected: value === selected }, text);
  }));
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"];

/** A number of bytes, for people. */
export function bytes(count) {
  let unit = 0;
  for (; count >= 1024 && unit < units.length - 1; unit++) count /= 1024;
  return `${unit === 0 ? count : count.toFixed(1)} ${units[unit]}`;
}

/** A number with separators. */
export const number = (count) => Number(count).toLocaleString("en");

/** A moment, in the zone of who looks. */
export function moment(millis) {
  return h("time", { datetime: new Date(millis).toISOString() }, new Date(millis).toLocaleString());
}

/** Copies a text. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    say("The browser does not allow it; copy the text by hand.", true);
  }
}

/** Shows a dialog, and closes it by Escape or its button. */
export function dialog(title, ...content) {
  const element = document.getElementById("dialog");
  show(element, h("h2", { id: "dialog-title" }, title), content, h("button", { onclick: () => element.close() }, "Close"));
  element.showModal();
}
