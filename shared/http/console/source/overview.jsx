// What a table is: its size, its columns and what they take, its tags, branches and properties.

import * as api from "./api.js";
import { Changes } from "./changes.jsx";
import { bytes, number, percent } from "./format.js";
import { typeText } from "./schema.js";
import { Loaded, Moment, Table, useAsync } from "./ui.jsx";

export function Overview({ names, found, at, changed, gone }) {
  const where = (operation) => api.ofTable(names, operation);
  const inputs = [names.join("$"), at.version, at.branch, found.version];
  const state = useAsync(() => Promise.all([
    api.call(where("stats"), at), api.call(where("tags/list")), api.call(where("branches/list")), api.call(where("count_rows"), at), api.allowed(names),
  ]), [...inputs, found]);
  const storage = useAsync(() => api.call(where("storage"), at), inputs);
  const taken = new Map((storage.value?.columns || []).map((column) => [column.name, column.bytes]));
  const about = storage.value?.estimated ? "about " : "";
  const takes = (name) => storage.busy ? "…" : taken.has(name) ? <>{about}{bytes(taken.get(name))} <span class="quiet">{percent(taken.get(name), storage.value.total_bytes)}</span></> : "";
  return (
    <Loaded state={state}>{([stats, tags, branches, rows, may]) => <>
      <dl class="facts">{[
        ["Rows", number(rows)], ["Size", bytes(stats.total_bytes)], ["Version", number(found.version)], ["Fragments", number(found.stats.num_fragments)],
        ["Deleted rows", number(found.stats.num_deleted_rows)], ["Indices", number(stats.num_indices)],
      ].map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      <p class="quiet location">Stored at <code>{found.location}</code></p>
      <Table caption="Columns" head={["Column", "Type", "Nullable", "Stored"]} right={[3]} rows={columns(found.schema.fields, takes)} />
      {storage.error ? <p class="quiet">What the columns take is not known: {storage.error.message}</p> : storage.value && <p class="quiet">
        {storage.value.other_bytes > 0 && `Contents of blobs, dropped columns and metadata of the files take ${about}${bytes(storage.value.other_bytes)} more. `}
        {storage.value.estimated && `An estimate: ${number(storage.value.files_read)} of ${number(storage.value.files)} files were read.`}</p>}
      {Object.keys(tags.tags).length > 0 && <Table caption="Tags" head={["Tag", "Version", "Branch"]} right={[1]}
        rows={Object.entries(tags.tags).map(([name, tag]) => [name, number(tag.version), tag.branch || "main"])} />}
      {Object.keys(branches.branches).length > 0 && <Table caption="Branches" head={["Branch", "From", "At version", "Made"]} right={[2]}
        rows={Object.entries(branches.branches).map(([name, b]) => [name, b.parentBranch || "main", number(b.parentVersion), <Moment millis={b.createAt * 1000} />])} />}
      {Object.keys(found.properties || {}).length > 0 && <Table caption="Properties" head={["Property", "Value"]} rows={Object.entries(found.properties)} />}
      {!at.version && <Changes names={names} found={found} at={at} may={may} changed={changed} gone={gone} />}
    </>}</Loaded>
  );
}

/** The rows of the table of columns; a column in a struct is indented below it. */
function columns(fields, takes, depth = 0) {
  return fields.flatMap((f) => [
    [<span class={`depth-${Math.min(depth, 4)}`}>{f.name}</span>, <code>{typeText(f.type)}</code>, f.nullable ? "yes" : "no", depth === 0 ? takes(f.name) : ""],
    ...(f.type.type === "struct" ? columns(f.type.fields, takes, depth + 1) : []),
  ]);
}
