// What the caller, or for an administrator another subject, may do with a table.

import * as api from "./api.js";
import { field, fill, grid, h, show } from "./dom.js";

/** Draws the tab. */
export function access(content, names) {
  const result = h("div");
  const form = h("div");
  show(content, form, result);
  ask(result, names, null, (found) => found.administrator && show(form, other(result, names)));
}

function ask(result, names, subject, then) {
  fill(result, api.call("v1/access/explain", { object_id: names, ...(subject ? { subject } : {}) }), (found) => {
    then?.(found);
    const who = [found.subject.issuer, found.subject.subject].filter(Boolean).join("#");
    const allowed = found.operations.filter((one) => one.allowed).length;
    return [
      h("p", {}, h("b", {}, who), ` may do ${allowed} of ${found.operations.length} operations on this table. `,
        found.by_policies ? "Policies decide." : "There are no policies: the scopes of tokens decide, about all objects alike.",
        found.visible ? "" : " The table does not exist for this subject."),
      grid("Operations", found.administrator && found.by_policies ? ["Operation", "Access", "Allowed", "By"] : ["Operation", "Access", "Allowed"],
        found.operations.map((one) => [
          one.operation, one.access, h("span", { class: `state ${one.allowed ? "done" : "failed"}` }, one.allowed ? "yes" : "no"),
          ...(found.administrator && found.by_policies ? [by(one)] : []),
        ])),
    ];
  });
}

const by = (one) => (one.policies || []).map((policy) => `${policy.effect} ${policy.id}, line ${policy.line}`).join("; ") || "no policy permits it";

/** The form in which an administrator asks about others. */
function other(result, names) {
  const inputs = Object.fromEntries(["subject", "issuer", "groups", "roles", "scopes"].map((name) => [name, h("input", { name, autocomplete: "off" })]));
  const list = (name) => inputs[name].value.split(",").map((part) => part.trim()).filter(Boolean);
  return h("div", {}, h("div", { class: "row" },
    field("Subject", inputs.subject), field("Issuer", inputs.issuer), field("Groups", inputs.groups), field("Roles", inputs.roles), field("Scopes", inputs.scopes),
    h("button", {
      class: "main",
      onclick() {
        const subject = inputs.subject.value.trim();
        ask(result, names, subject && { subject, issuer: inputs.issuer.value.trim(), groups: list("groups"), roles: list("roles"), scopes: list("scopes") });
      },
    }, "Explain")), h("p", { class: "quiet" },
    "A subject is that of a token, or key:name; without one it is you. Several groups, roles or scopes have commas between them."));
}
