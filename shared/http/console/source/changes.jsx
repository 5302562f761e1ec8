// What can be changed of a table: its columns, its branches, and that it exists.

import { useState } from "preact/hooks";
import { Action } from "./action.jsx";
import { address, go } from "./place.js";
import { shell } from "./snippets.js";
import { Choice, Field, say } from "./ui.jsx";

const quote = JSON.stringify;

/** May tells what the caller may do; changed is called after a change of the table, and gone after a drop. */
export function Changes({ names, found, at, may, changed, gone }) {
  const table = shell(names.join("/")), columns = found.schema.fields.map((f) => f.name), branch = at.branch ? { branch: at.branch } : {};
  const done = (text) => () => { say(text); changed(); };
  const given = { names, table, columns, branch, version: found.version, done };
  return <>
    {may("AlterTableAddColumns") && <AddColumn {...given} />}
    {may("AlterTableDropColumns") && columns.length > 1 && <DropColumn key={columns.join()} {...given} />}
    {may("CreateTableBranch") && <MakeBranch {...given} />}
    {may("DropTable") && !at.branch && <Drop {...given} then={(answer) => { say(answer.drop_id ? "The table is dropped. The home page can restore it." : "The table is dropped."); gone(); go(address("")); }} />}
  </>;
}

const Text = ({ name, label, value, set, ...rest }) => <Field label={label}><input name={name} required value={value} autocomplete="off" onInput={(event) => set(event.currentTarget.value)} {...rest} /></Field>;

function AddColumn({ names, table, branch, done }) {
  const [name, setName] = useState("");
  const [expression, setExpression] = useState("");
  return (
    <Action names={names} title="Add a column" button="Add" then={done(`The column ${name} is added.`)} change={{
      operation: "add_columns", body: { new_columns: [{ name, expression }], ...branch }, python: `table.add_columns({${quote(name)}: ${quote(expression)}})`, cli: branch.branch ? "" : `table add-columns ${table} ${shell(`${name}=${expression}`)}`,
    }}><Text name="column" label="Name" value={name} set={setName} /><Text name="expression" label="SQL expression, computed once" value={expression} set={setExpression} size={36} /></Action>
  );
}

function DropColumn({ names, table, columns, branch, done }) {
  const [name, setName] = useState(columns[0]);
  return (
    <Action names={names} title="Drop a column" button="Drop the column" then={done(`The column ${name} is dropped. Earlier versions have it.`)} change={{
      operation: "drop_columns", body: { columns: [name], ...branch }, python: `table.drop_columns([${quote(name)}])`, cli: branch.branch ? "" : `table drop-columns ${table} ${shell(name)}`,
    }}><Field label="Column"><Choice name="dropped" options={columns} value={name} onChange={(event) => setName(event.currentTarget.value)} /></Field></Action>
  );
}

function MakeBranch({ names, table, branch, version, done }) {
  const [name, setName] = useState("");
  const from = { from_version: version, ...(branch.branch ? { from_branch: branch.branch } : {}) };
  return (
    <Action names={names} title={`Make a branch of version ${version}`} button="Make the branch" then={done(`The branch ${name} is made.`)} change={{
      operation: "branches/create", body: { name, ...from }, python: `table.branches.create(${quote(name)}${branch.branch ? `, from_ref=${quote(branch.branch)}` : ""}, from_version=${version})`,
      cli: branch.branch ? "" : `branch create ${table} ${shell(name || "NAME")} --from ${version}`,
    }}><Text name="branch" label="Name" value={name} set={setName} /></Action>
  );
}

function Drop({ names, table, then }) {
  const [typed, setTyped] = useState("");
  return (
    <Action names={names} title="Drop the table" button="Drop the table" then={then} change={{
      operation: "drop", body: {}, python: `db.drop_table(${quote(names.at(-1))}${names.length > 1 ? `, namespace_path=${quote(names.slice(0, -1))}` : ""})`, cli: `table drop ${table}`,
    }}><Text name="confirm" label={`Type ${names.at(-1)}`} value={typed} set={setTyped} pattern={names.at(-1).replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")} title={`the name of the table: ${names.at(-1)}`} /></Action>
  );
}
