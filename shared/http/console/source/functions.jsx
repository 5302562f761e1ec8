// The functions that compute columns: what each takes and returns, its versions, and the columns that it computes.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { everywhere, listed } from "./catalog.js";
import { each } from "./each.js";
import { count, number } from "./format.js";
import { tableLink } from "./place.js";
import { typeText } from "./schema.js";
import { Loaded, Moment, Problem, Table, useAsync } from "./ui.jsx";

const builtIn = ["__builtin"], mostTables = 500;
const kinds = { builtin: "built in", sql: "SQL", wasm: "WebAssembly", python: "Python", python_v2: "Python", executor: "executor" };

/** Root are the names of the namespace that the page is about; none are the whole catalog. */
export function Functions({ root }) {
  const state = useAsync(async () => {
    const [{ list, more }, own] = await Promise.all([everywhere(root, "function", "functions"), root.length > 0 ? [] : listed(builtIn, "function/list", "functions").catch(() => [])]);
    return { made: byName(list.filter(({ namespace }) => namespace[0] !== builtIn[0])), own: byName(own.map((one) => ({ namespace: builtIn, one }))), more };
  }, [root.join("$")]);
  return <>
    <h1>Functions</h1>
    <p>A function computes columns of a table from other columns. A version never changes; a new definition is a new version.</p>
    <Loaded state={state}>{({ made, own, more }) => <>
      {made.length === 0 ? <p class="empty">Nobody has made a function{root.length > 0 && <> in {root.join(" / ")}</>}. <code>tiltyard function create</code> and the operation <a href="../docs/#/CreateFunction">CreateFunction</a> make one.</p> :
        <Made list={made} root={root} />}
      {more && <p class="quiet">The catalog has more namespaces than this page walks through. The address #/functions/NAMESPACE shows one of them.</p>}
      {own.length > 0 && <List caption="Part of every deployment" list={own} own />}
    </>}</Loaded>
  </>;
}

/** The versions of each function, the newest first. */
function byName(list) {
  const groups = Map.groupBy(list, ({ namespace, one }) => [...namespace, one.definition.name].join("$"));
  return [...groups.values()].map((versions) => ({
    names: [...versions[0].namespace, versions[0].one.definition.name],
    versions: versions.map(({ one }) => one.definition).sort((a, b) => Number(b.version) - Number(a.version)),
  }));
}

function Made({ list, root }) {
  const [asked, setAsked] = useState(false);
  const uses = useAsync(() => asked ? usesIn(root) : null, [asked, root.join("$")]);
  return <>
    <List caption="Made here" list={list} uses={uses.value} />
    {uses.value ? <p class="quiet">{count(uses.value.tables, "table was", "tables were")} looked at{uses.value.more && ", the first of more"}{uses.value.unreadable > 0 && `; ${number(uses.value.unreadable)} of them cannot be read`}.</p> :
      <p><button disabled={asked && uses.busy} onClick={() => setAsked(true)}>{asked && !uses.error ? "Looking at the tables …" : "Find the columns that they compute"}</button></p>}
    {uses.error && <Problem error={uses.error} />}
  </>;
}

/** The table of functions. With own, those of the deployment, which have one version and therefore fewer columns. */
function List({ caption, list, uses, own = false }) {
  const head = ["Function", "Takes", "Returns", ...(own ? [] : ["Runs as", "Version", "Made", ...(uses ? ["Computes"] : [])])];
  return <Table caption={caption} head={head} rows={list.flatMap(({ names, versions }) => versions.map((of, i) => [
    i === 0 ? <b>{own ? names.at(-1) : names.join(" / ")}</b> : "", <Fields list={of.signature.inputs} />, <Returned output={of.signature.output} />,
    ...(own ? [] : [<Runtime of={of} />, of.version, <Moment millis={of.created_at_millis} />]),
    ...(uses ? [<Uses list={uses.found.get([...names, of.version].join("$"))} />] : []),
  ]))} />;
}

function Runtime({ of }) {
  const { kind } = of.image.descriptor.runtime;
  return <>
    {kinds[kind] || kind} {of.disabled && <span class="badge warn" title="No runtime has proved this version.">cannot run here</span>}
    {(of.secret_bindings || []).map((one) => <div key={one.variable} class="quiet">{one.variable} from the secret {[...(one.secret_ref.namespace_path || []), one.secret_ref.name].join(" / ")}</div>)}
  </>;
}

const Type = ({ of }) => <><code>{typeOf(of.arrow_type)}</code>{of.nullable && <span class="quiet"> or null</span>}</>;
/** A type as the pages write it; the service has the JSON of those without a short name. */
const typeOf = (text) => text.startsWith("{") ? typeText(JSON.parse(text)) : text;
const Fields = ({ list = [] }) => list.length === 0 ? <span class="quiet">nothing</span> : list.map((one) => <div key={one.name}>{one.name} <Type of={one} /></div>);
const Returned = ({ output }) => output.fields ? <Fields list={output.fields} /> : <Type of={output} />;
const Uses = ({ list = [] }) => list.length === 0 ? <span class="quiet">nothing</span> : list.map(({ table, columns }) => <div key={table.join("$")}><a href={tableLink(table, { tab: "overview" })}>{table.join(" / ")}</a>: {columns.join(", ")}</div>);

/** The columns that tables declare to be computed by functions, by the names and the version of the function. */
async function usesIn(root) {
  const { names, more } = await api.tables(mostTables);
  const tables = names.filter((one) => root.every((name, i) => one[i] === name)), found = new Map();
  let unreadable = 0;
  await each(tables, async (table) => {
    try {
      const { schema } = await api.describe(table);
      for (const { function: of, columns } of bindings(schema)) {
        const key = [...of.namespace_path || [], of.name, of.version].join("$");
        found.set(key, [...found.get(key) || [], { table, columns }]);
      }
    } catch {
      unreadable++;
    }
  });
  return { found, tables: tables.length, more, unreadable };
}

/** What the metadata of a schema declares about functions, as { function: { name, namespace_path, version }, columns }. */
function bindings(schema) {
  const { bindings: list = [] } = JSON.parse(schema?.metadata?.["lancedb::function_bindings"] || "{}");
  return list.map((one) => ({ function: one.function, columns: one.outputs.map((output) => output.output_name) }));
}
