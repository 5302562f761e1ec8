// An answer of the service, fit for people.

import { binary, cell } from "./cells.js";
import { bytes, copy, grid, h } from "./dom.js";
import { jsonOf, valuesOf } from "../console/values.js";

const shownRows = 100;
const shownText = 200_000; // characters

/** Status, times and content of an answer. */
export function answerOf({ answer, bytes: content, millis }) {
  const type = (answer.headers.get("content-type") ?? "").split(";")[0];
  const facts = [
    ["status", h("span", { class: `state ${answer.ok ? "done" : "failed"}` }, `${answer.status} ${answer.statusText}`)],
    ["time", `${millis.toFixed(0)} ms`], ["size", bytes(content.length)],
  ];
  for (const name of ["x-request-id", "x-lancedb-version", "retry-after"]) {
    if (answer.headers.get(name)) facts.push([name, answer.headers.get(name)]);
  }
  return h("section", { "aria-label": "Answer" },
    h("dl", { class: "facts" }, facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    contentOf(type, content));
}

function contentOf(type, content) {
  if (content.length === 0) return h("p", { class: "quiet" }, "The answer has no body.");
  if (type.startsWith("application/vnd.apache.arrow")) return rowsOf(content);
  if (type === "application/octet-stream") return binary(content);
  const text = type === "application/json" ? indented(new TextDecoder().decode(content)) : new TextDecoder().decode(content);
  return h("pre", { tabindex: "0" }, text.length > shownText ? `${text.slice(0, shownText)} …` : text);
}

/** JSON on several lines. Numbers that a page cannot hold stay as the server wrote them, on one line. */
function indented(text) {
  if (/\d{16}/.test(text)) return text;
  const value = JSON.parse(text);
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function rowsOf(content) {
  const table = window.Arrow.tableFromIPC(content);
  const { fields } = table.schema;
  const columns = fields.map((_, i) => valuesOf(table.getChildAt(i)));
  const shown = Array.from({ length: Math.min(table.numRows, shownRows) }, (_, i) => columns.map((values) => values[i]));
  const asJSON = () => `[\n${shown.map((row) => `  {${row.map((value, i) => `${JSON.stringify(fields[i].name)}: ${jsonOf(value)}`).join(", ")}}`).join(",\n")}\n]`;
  const more = table.numRows > shownRows ? `, of which ${shownRows} are shown` : "";
  return [
    grid(`${table.numRows} rows${more}`,
      fields.map(({ name, type }) => [name, h("br"), h("span", { class: "quiet" }, String(type))]),
      shown.map((row) => row.map(cell))),
    shown.length > 0 ? h("button", { type: "button", onclick: () => copy(asJSON()) }, "Copy as JSON") : null,
  ];
}
