// What the search box understands. A text may hold words, an example row as like:column=value, a list of numbers as a
// vector, and a filter: either the whole text is one (rating > 7), or it follows the word where.

import { isDateType, isTextType, quoted } from "./schema.js";

export const found = 100; // rows that a search asks for unless the page says otherwise
export const evenly = 50; // percent of the weight of words in a hybrid search, unless the page says otherwise

const example = /(^|\s)like:(?:(`[^`]+`|[A-Za-z_]\w*)=)?('(?:[^']|'')*'|\S+)/;
const numbers = /(^|\s)(\[\s*-?[\d.][\d.,eE+\-\s]*\])/;
const comparison = /^(?:not\s+|\(\s*)*(`[^`]+`|[A-Za-z_]\w*)(?:\.\w+|\[[^\]]*\])*\s*(?:=|!=|<>|<=?|>=?|in\s*\(|like\b|is\b|between\b|not\s+(?:in|like|between)\b)/i;
const call = /^(?:not\s+|\(\s*)*[A-Za-z_]\w*\(/i;

/** Divides the text of the box into its parts. */
export function parse(text, schema) {
  const names = new Set([...schema.fields.map((f) => f.name), "_rowid"]);
  let rest = text.trim(), filter = "";
  const where = /(^|\s)where\s+([\s\S]+)$/i.exec(rest);
  if (where) {
    filter = where[2].trim();
    rest = rest.slice(0, where.index);
  }
  let like = null, vector = null;
  const row = example.exec(rest);
  if (row) {
    like = { column: row[2] ? row[2].replaceAll("`", "") : schema.fields[0]?.name, value: row[3] };
    rest = rest.replace(example, " ");
  }
  const list = numbers.exec(rest);
  if (list) {
    try {
      vector = JSON.parse(list[2]);
      rest = rest.replace(numbers, " ");
    } catch { /* words in brackets */ }
  }
  rest = rest.trim();
  const column = comparison.exec(rest);
  if (!where && rest && (column && names.has(column[1].replaceAll("`", "")) || call.test(rest))) {
    filter = rest;
    rest = "";
  }
  return { words: rest, like, vector, filter };
}

/** The text that has these parts: the reverse of parse. */
export function compose({ words, like, vector, filter }) {
  const before = [words, like && `like:${quoted(like.column)}=${like.value}`, vector && JSON.stringify(vector)].filter(Boolean).join(" ");
  if (!filter) return before;
  return before ? `${before} where ${filter}` : comparison.test(filter) || call.test(filter) ? filter : `where ${filter}`;
}

/** Adds a condition to the text, or takes it away if it is there. */
export function toggle(text, schema, condition) {
  const parts = parse(text, schema);
  const all = parts.filter ? parts.filter.split(/\s+AND\s+/) : [];
  const kept = all.includes(condition) ? all.filter((one) => one !== condition) : parts.filter ? [/\bor\b/i.test(parts.filter) && all.length === 1 ? `(${parts.filter})` : parts.filter, condition] : [condition];
  return compose({ ...parts, filter: kept.join(" AND ") });
}

/** The kind of search that the parts ask for, unless one was chosen. */
export function kindOf(parts, chosen, searchable) {
  if (chosen) return chosen;
  const near = parts.like || parts.vector;
  if (near) return parts.words && searchable ? "hybrid" : "vector";
  return parts.words && searchable ? "text" : "rows";
}

/** A value as SQL writes it for a column of a type. */
export function literal(type, value) {
  const bare = /^'.*'$/s.test(value) ? value.slice(1, -1).replaceAll("''", "'") : value;
  if (isTextType(type)) return `'${bare.replaceAll("'", "''")}'`;
  return isDateType(type) ? `date '${bare}'` : value;
}

/** The filter of rows whose texts contain all words, for tables without an index of texts. */
function containing(words, columns) {
  if (columns.length === 0) return "";
  return words.split(/\s+/).map((word) => {
    const pattern = word.toLowerCase().replaceAll("'", "''");
    return `(${columns.map((name) => `lower(${quoted(name)}) LIKE '%${pattern}%'`).join(" OR ")})`;
  }).join(" AND ");
}

/** The filter by which the example row is found. */
export function exampleFilter(like, schema) {
  const field = schema.fields.find((f) => f.name === like.column);
  return `${quoted(like.column)} = ${field ? literal(field.type, like.value) : like.value}`;
}

/** The body of the request. Parts is what parse returns, with the numbers of the vector in it; at is the version or branch. */
export function bodyOf(kind, parts, { schema, at, texts, vectorColumn, options }) {
  const filters = [parts.filter && (kind === "rows" && parts.words ? `(${parts.filter})` : parts.filter)];
  if (kind === "rows" && parts.words) filters.push(containing(parts.words, texts));
  const filter = filters.filter(Boolean).join(" AND ");
  const body = { ...at, ...(filter ? { filter } : {}) };
  if (options.columns?.length > 0) body.columns = { column_names: options.columns };
  if (kind === "rows") return { ...body, ...(options.order ? { order_by: [{ column_name: options.order, ascending: !options.desc }] } : {}) };
  body.k = options.k || found;
  body.prefilter = true;
  if (kind !== "text") {
    if (!parts.vector) throw new Error(`A ${kind === "hybrid" ? "hybrid" : "vector"} search needs an example row (like:${quoted(schema.fields[0].name)}=…) or a list of numbers ([0.1, 0.2, …]).`);
    body.vector = { single_vector: parts.vector };
    body.vector_column = vectorColumn;
    if (options.nprobes) body.nprobes = options.nprobes;
    if (options.refine) body.refine_factor = options.refine;
    if (options.metric) body.distance_type = options.metric;
  }
  if (kind !== "vector") {
    if (!parts.words) throw new Error(`A ${kind === "hybrid" ? "hybrid" : "text"} search needs words.`);
    body.full_text_query = { string_query: { query: parts.words, ...(options.textColumn ? { columns: [options.textColumn] } : {}) } };
  }
  if (kind === "hybrid" && options.balance !== evenly) {
    body.rerank = { method: "rrf", weights: { vector: (100 - options.balance) / evenly, text: options.balance / evenly } };
  }
  return body;
}
