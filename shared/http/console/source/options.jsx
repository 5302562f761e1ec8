// The choices of a search that are seldom changed.

import { Choice, Field, Menu } from "./ui.jsx";

export function Options({ kind, vectors, searched, schema, parameters, hidden, set, dense, onDense }) {
  const near = kind === "vector" || kind === "hybrid";
  const changed = (name) => (event) => set({ [name]: event.currentTarget.value });
  const number = (name, label, hint, max) => (
    <Field label={label}><input type="number" name={name} min={1} max={max} placeholder={hint} value={parameters[name] || ""} onChange={changed(name)} /></Field>);
  return (
    <Menu label="Options">
      <div class="options-sheet" onClick={(event) => event.stopPropagation()}>
        {kind !== "rows" && number("k", "Rows", "100", 10_000)}
        {near && vectors.length > 1 && <Field label="Vector column"><Choice name="column" options={vectors} value={parameters.column || vectors[0]} onChange={changed("column")} /></Field>}
        {near && number("nprobes", "Partitions to search", "as the service chooses", 4096)}
        {near && number("refine", "Refine factor", "none", 100)}
        {near && <Field label="Distance"><Choice name="metric" options={[["", "the index's"], "l2", "cosine", "dot"]} value={parameters.metric || ""} onChange={changed("metric")} /></Field>}
        {(kind === "text" || kind === "hybrid") && searched.length > 0 && <Field label="Text column"><Choice name="in" options={[["", "all with an index"], ...searched]} value={parameters.in || ""} onChange={changed("in")} /></Field>}
        <Field label="Row height"><Choice options={[["dense", "dense"], ["comfortable", "comfortable"]]} value={dense ? "dense" : "comfortable"} onChange={(event) => onDense(event.currentTarget.value === "dense")} /></Field>
        <fieldset class="columns-choice"><legend>Columns</legend>
          {schema.fields.map((f) => (
            <label key={f.name} class="check"><input type="checkbox" checked={!hidden.has(f.name)} onChange={() => {
              const next = new Set(hidden);
              if (!next.delete(f.name)) next.add(f.name);
              if (next.size < schema.fields.length) set({ hide: [...next].join(",") });
            }} /> {f.name}</label>))}
        </fieldset>
      </div>
    </Menu>
  );
}
