// The form that creates an index: it proposes a type by the column and the number of rows.

import { useState } from "preact/hooks";
import { Action } from "./action.jsx";
import { isNumberType, isOrderedType, isTextType, isVectorType, typeText } from "./schema.js";
import { Choice, Field } from "./ui.jsx";

const large = 100_000; // rows from which on vectors are compressed

const pythonNames = { BTREE: "BTree", BITMAP: "Bitmap", LABEL_LIST: "LabelList", FTS: "FTS", IVF_FLAT: "IvfFlat", IVF_PQ: "IvfPq", IVF_HNSW_SQ: "HnswSq" };
const meanings = {
  BTREE: "ranges and single values", BITMAP: "columns of few values", LABEL_LIST: "lists that contain a value", FTS: "words in texts",
  IVF_FLAT: "vectors, exact within partitions", IVF_PQ: "vectors, compressed", IVF_HNSW_SQ: "vectors, a graph in each partition",
};

/** The types of indices that a column can have; the first is proposed. */
function typesFor(type, rows) {
  if (isVectorType(type)) return rows >= large ? ["IVF_PQ", "IVF_HNSW_SQ", "IVF_FLAT"] : ["IVF_FLAT", "IVF_PQ", "IVF_HNSW_SQ"];
  if (isTextType(type)) return ["FTS", "BTREE", "BITMAP"];
  if (type.type === "list") return ["LABEL_LIST"];
  if (/^bool/.test(type.type)) return ["BITMAP"];
  return isNumberType(type) || isOrderedType(type) ? ["BTREE", "BITMAP"] : [];
}

export function CreateIndex({ names, schema, rows, branch, then }) {
  const fields = schema.fields.filter((f) => typesFor(f.type, rows).length > 0);
  const [chosen, choose] = useState({ column: (fields.find((f) => isVectorType(f.type)) || fields[0])?.name });
  const field = fields.find((f) => f.name === chosen.column);
  if (!field) return null;
  const types = typesFor(field.type, rows), type = types.includes(chosen.type) ? chosen.type : types[0], metric = isVectorType(field.type) ? chosen.metric || "l2" : "";
  const body = { column: field.name, index_type: type, ...(metric ? { distance_type: metric } : {}), ...(branch ? { branch } : {}) };
  const config = `${pythonNames[type]}(${metric ? `distance_type="${metric}"` : ""})`;
  return (
    <Action names={names} title="Create an index" button="Create" then={then} change={{
      operation: "create_index", body, imports: `from lancedb.index import ${pythonNames[type]}\n`, python: `table.create_index(${JSON.stringify(field.name)}, config=${config})`,
      cli: branch ? "" : `index create ${names.join("/")} ${field.name} --type ${type}${metric ? ` --metric ${metric}` : ""} --wait`,
    }}>
      <Field label="Column"><Choice name="column" options={fields.map((f) => [f.name, `${f.name}, ${typeText(f.type)}`])} value={field.name} onChange={(event) => choose({ column: event.currentTarget.value })} /></Field>
      <Field label="Type"><Choice name="type" options={types.map((one, i) => [one, `${one}: ${meanings[one]}${i === 0 ? " (proposed)" : ""}`])} value={type} onChange={(event) => choose({ ...chosen, type: event.currentTarget.value })} /></Field>
      {metric && <Field label="Distance"><Choice name="metric" options={["l2", "cosine", "dot"]} value={metric} onChange={(event) => choose({ ...chosen, metric: event.currentTarget.value })} /></Field>}
    </Action>
  );
}
