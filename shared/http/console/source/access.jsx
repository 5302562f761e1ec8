// What the caller, or for an administrator another subject, may do with a table.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { Give } from "./give.jsx";
import { Field, Loaded, Table, useAsync } from "./ui.jsx";

const fields = { subject: "Subject", issuer: "Issuer", groups: "Groups", roles: "Roles", scopes: "Scopes" };

export function Access({ names }) {
  const [subject, setSubject] = useState(null);
  const state = useAsync(() => api.call("v1/access/explain", { object_id: names, ...(subject ? { subject } : {}) }), [names.join("$"), JSON.stringify(subject)]);
  return <Loaded state={state}>{(found) => <Answer names={names} found={found} onAsk={setSubject} />}</Loaded>;
}

function Answer({ names, found, onAsk }) {
  const who = [found.subject.issuer, found.subject.subject].filter(Boolean).join("#");
  const allowed = found.operations.filter((one) => one.allowed).length, byPolicies = found.administrator && found.by_policies;
  return <>
    <p><b>{who}</b> may do {allowed} of {found.operations.length} operations on this table. {found.by_policies ? "Policies decide." : "There are no policies: the scopes of tokens decide, about all objects alike."}
      {!found.visible && " The table does not exist for this subject."}</p>
    {found.administrator && <details class="ask-other"><summary>Ask about somebody else</summary><Other onAsk={onAsk} /></details>}
    {found.administrator && <Give names={names} byPolicies={found.by_policies} />}
    <Table caption="Operations" head={["Operation", "Access", "Allowed", ...(byPolicies ? ["By"] : [])]} rows={found.operations.map((one) => [
      one.operation, one.access, <span class={`state ${one.allowed ? "done" : "failed"}`}>{one.allowed ? "yes" : "no"}</span>,
      ...(byPolicies ? [(one.policies || []).map((policy) => `${policy.effect} ${policy.id}, line ${policy.line}`).join("; ") || "no policy permits it"] : []),
    ])} />
  </>;
}

/** The form in which an administrator asks about others. */
function Other({ onAsk }) {
  function ask(event) {
    event.preventDefault();
    const value = (name) => event.currentTarget.elements[name].value.trim(), list = (name) => value(name).split(",").map((part) => part.trim()).filter(Boolean);
    onAsk(value("subject") ? { subject: value("subject"), issuer: value("issuer"), groups: list("groups"), roles: list("roles"), scopes: list("scopes") } : null);
  }
  return (
    <form onSubmit={ask}>
      <div class="row">{Object.entries(fields).map(([name, label]) => <Field key={name} label={label}><input name={name} autocomplete="off" /></Field>)}<button class="main">Explain</button></div>
      <p class="quiet">A subject is that of a token, or key:name; without one it is you. Separate several groups, roles or scopes by commas.</p>
    </form>
  );
}
