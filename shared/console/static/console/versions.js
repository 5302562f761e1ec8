// The versions of a table, newest first, with what each held.

import * as api from "./api.js";
import { bytes, fill, h, moment, number, problem } from "./dom.js";
import { link } from "./tree.js";

const step = 25; // versions that are shown at once

/** Draws the tab. */
export function versions(content, names) {
  const at = (operation) => api.path("table", names, operation);
  fill(content, Promise.all([api.call(at("version/list"), { descending: true, limit: step }), api.call(at("tags/list"))]), ([first, tags]) => {
    const tagged = Object.entries(tags.tags).filter(([, tag]) => !tag.branch);
    const body = h("tbody");
    const more = h("button", {}, "Show more");
    let next = first.page_token;
    const add = (list) => {
      body.append(...list.map((v) => line(names, v, tagged.filter(([, tag]) => tag.version === v.version).map(([name]) => name))));
      more.hidden = !next;
    };
    more.addEventListener("click", async () => {
      const page = await api.call(at("version/list"), { descending: true, limit: step, page_token: next });
      next = page.page_token;
      add(page.versions);
    });
    add(first.versions);
    return [
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Versions" }, h("table", {}, h("caption", {}, "Versions, newest first"),
        h("thead", {}, h("tr", {}, ["Version", "Committed", "Rows", "Fragments", "Deleted rows", "Manifest", "Tags", ""].map((name) => h("th", { scope: "col" }, name)))),
        body)), more,
    ];
  });
}

/** One version. What it held is asked for one by one: the list does not know it. */
function line(names, version, tags) {
  const rows = h("td"), fragments = h("td"), deleted = h("td");
  Promise.all([
    api.call(api.path("table", names, "count_rows"), { version: version.version }), api.describe(names, { version: version.version }),
  ]).then(([count, found]) => {
    rows.textContent = number(count);
    fragments.textContent = number(found.stats.num_fragments);
    deleted.textContent = number(found.stats.num_deleted_rows);
  }, (error) => rows.append(problem(error)));
  return h("tr", {}, h("td", {}, number(version.version)), h("td", {}, moment(version.timestamp_millis)), rows, fragments, deleted,
    h("td", {}, bytes(version.manifest_size || 0)), h("td", {}, tags.join(", ")),
    h("td", {}, version.version > 1 && h("a", { href: link(names, `compare&a=${version.version - 1}&b=${version.version}`) }, "compare with the one before")));
}
