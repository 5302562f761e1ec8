// The versions of a table, newest first, with what each holds, what made it, and for whom.

import * as api from "./api.js";
import { bytes, fill, h, moment, number } from "./dom.js";
import { link } from "./tree.js";

const step = 25; // versions that are shown at once

/** Draws the tab. */
export function versions(content, names) {
  const at = (operation) => api.path("table", names, operation);
  fill(content, Promise.all([api.call(at("version/list"), { descending: true, limit: step, details: true }), api.call(at("tags/list"))]), ([first, tags]) => {
    const tagged = Object.entries(tags.tags).filter(([, tag]) => !tag.branch);
    const body = h("tbody");
    const more = h("button", {}, "Show more");
    let next = first.page_token;
    const add = (list) => {
      body.append(...list.map((v) => line(names, v, tagged.filter(([, tag]) => tag.version === v.version).map(([name]) => name))));
      more.hidden = !next;
    };
    more.addEventListener("click", async () => {
      const page = await api.call(at("version/list"), { descending: true, limit: step, details: true, page_token: next });
      next = page.page_token;
      add(page.versions);
    });
    add(first.versions);
    return [
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Versions" }, h("table", {}, h("caption", {}, "Versions, newest first"),
        h("thead", {}, h("tr", {}, ["Version", "Committed", "By", "Operation", "Rows", "Deleted rows", "Fragments", "Size", "Tags", ""].map((name) => h("th", { scope: "col" }, name)))),
        body)), more,
    ];
  });
}

/** One version. What it holds is not known of one that is deleted meanwhile. */
function line(names, version, tags) {
  const found = version.details || { unreadable: "It is no longer there." };
  const cell = (...content) => h("td", {}, content);
  const operation = found.transaction_id
    ? h("a", { href: `#/transactions/${encodeURIComponent(found.transaction_id)}`, title: "the transaction" }, found.operation) : found.operation;
  return h("tr", {}, cell(number(version.version)), cell(moment(version.timestamp_millis)),
    found.unreadable ? h("td", { colspan: "6", class: "quiet" }, found.unreadable)
      : [cell((found.authors || []).join(", ")), cell(operation), cell(number(found.num_rows)), cell(number(found.num_deleted_rows)),
        cell(number(found.num_fragments)), h("td", { class: "line" }, bytes(found.num_bytes))],
    cell(tags.join(", ")),
    cell(version.version > 1 && h("a", { href: link(names, `compare&a=${version.version - 1}&b=${version.version}`), title: "compare with the one before" }, "compare")));
}
