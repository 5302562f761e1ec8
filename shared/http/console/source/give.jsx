// What an operator does to let somebody read a table: commands for the machine of the server, whose files of keys and
// policies no request can change.

import { useState } from "preact/hooks";
import { shell } from "./snippets.js";
import { Field, Snippet } from "./ui.jsx";

const quote = JSON.stringify;

/** A key that nobody can guess. */
const newKey = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24)))).replaceAll("+", "-").replaceAll("/", "_");

/** ByPolicies tells whether policies decide already; otherwise they must permit the rest, too. */
export function Give({ names, byPolicies }) {
  const [given, setGiven] = useState(null);
  function give(event) {
    event.preventDefault();
    const who = event.currentTarget.elements.who.value.trim();
    if (who) setGiven({ who, key: newKey() });
  }
  return (
    <details class="give">
      <summary>Give somebody read access</summary>
      <form class="row" onSubmit={give}>
        <Field label="A name for their key, or issuer#user of their tokens"><input name="who" required pattern="[^\s]+" autocomplete="off" /></Field>
        <button class="main">Show how</button>
      </form>
      {given && <Steps names={names} byPolicies={byPolicies} {...given} />}
    </details>
  );
}

function Steps({ names, byPolicies, who, key }) {
  const hasToken = who.includes("#");
  return <ol>
    {!hasToken && <li>Hand over this key, which is not stored here and not shown again: <Snippet text={key} label="The key" /></li>}
    {!hasToken && <li>On the machine of the server, add the key to the file of <code>--api-keys</code>:
      <Snippet text={`printf '%s %s\\n' ${shell(who)} "$(printf %s '${key}' | sha256sum | cut -d ' ' -f 1)" >> keys.txt`} label="The line of the key" /></li>}
    <li>Add {byPolicies ? "the policies" : "policies, which then decide about everybody,"} to the file of <code>--policies</code>:
      <Snippet text={`cat >> policies.cedar <<'END'\n${policies(names, byPolicies, hasToken ? who : `key:${who}`)}\nEND`} label="The policies" /></li>
    <li>{byPolicies ? "Policies are read again within a minute, and a file of keys at" : "Start the server with both files. Later changes of policies are read within a minute, and those of a file of keys at"} <code>kill -USR2</code>.
      {!byPolicies && <Snippet text={`tiltyard serve${hasToken ? "" : " --api-keys keys.txt"} --policies policies.cedar`} label="The server" />}</li>
  </ol>;
}

/** The reading of a table, and the way to it through its namespaces. */
function policies(names, byPolicies, user) {
  const one = `principal == User::${quote(user)}`, lines = [];
  if (!byPolicies) lines.push(`permit (principal == User::"token", action, resource);`);
  const list = `[Action::"DescribeNamespace", Action::"ListNamespaces", Action::"ListTables"]`;
  for (let depth = 0; depth < names.length; depth++) {
    lines.push(`permit (${one}, action in ${list}, resource == Namespace::${quote(names.slice(0, depth).join("$") || "$")});`);
  }
  lines.push(`permit (${one}, action in Action::"read", resource == Table::${quote(names.join("$"))});`);
  return lines.join("\n");
}
