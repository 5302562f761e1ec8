// Reads vectors of a table into one array, from evenly spread places, since tables are often ordered.

import * as api from "./api.js";
import { each } from "./each.js";
import { isNull, numbersOf, textOf, valuesOf } from "../static/console/values.js";

const atOnce = 2; // requests, since the answers are large
const smallest = 100, largest = 5000; // rows of a request

/**
 * Reads up to count vectors of a column. Returns { all, n, size, ids, parts, matrix }: matrix has n times size numbers, and
 * parts hold the places of the rows. Progress gets the number of rows that were read.
 */
export async function readVectors(names, at, { column, count, size }, progress, signal) {
  const all = await api.call(api.ofTable(names, "count_rows"), at, { signal }), wanted = Math.min(all, count);
  const length = Math.max(smallest, Math.min(largest, Math.ceil(wanted / 10))), pieces = Math.ceil(wanted / length);
  const places = Array.from({ length: pieces }, (_, i) => ({ offset: all <= count ? i * length : Math.floor(i * (all - length) / Math.max(1, pieces - 1)), k: Math.min(length, wanted - i * length) }));
  let read = 0;
  const parts = await each(places, async (place) => {
    const part = partOf(await query(names, at, place, column, signal), column, size);
    read += part.ids.length;
    progress(read);
    return { ...place, ...part };
  }, atOnce);
  const n = parts.reduce((sum, part) => sum + part.ids.length, 0), matrix = new Float32Array(n * size);
  let from = 0;
  for (const part of parts) {
    matrix.set(part.matrix, from * size);
    from += part.ids.length;
  }
  return { all, n, size, ids: parts.flatMap((part) => part.ids), parts: parts.map(({ offset, k, kept }) => ({ offset, k, kept })), matrix };
}

/** What another column has in the rows of the parts, as texts. */
export async function readValues(names, at, parts, column, signal) {
  const lists = await each(parts, async (part) => {
    const values = valuesOf((await query(names, at, part, column, signal)).getChild(column));
    return part.kept.map((i) => textOf(values[i]));
  }, atOnce);
  return lists.flat();
}

const query = (names, at, { offset, k }, column, signal) => api.rows(api.ofTable(names, "query"), { ...at, with_row_id: true, offset, k, columns: { column_names: [column] } }, signal);

/** The vectors of an answer, and which of its rows have one. */
function partOf(answer, column, size) {
  const vectors = valuesOf(answer.getChild(column)), rowids = valuesOf(answer.getChild("_rowid"));
  const matrix = new Float32Array(vectors.length * size), ids = [], kept = [];
  vectors.forEach((vector, i) => {
    if (isNull(vector)) return;
    const flat = vector.data.children[0].values;
    // Halves are stored as integers, and are widened; other numbers are copied.
    const numbers = flat instanceof Float32Array || flat instanceof Float64Array || flat instanceof Uint8Array ? flat.subarray(vector.at * size, (vector.at + 1) * size) : numbersOf(vector);
    if (!numbers) return;
    matrix.set(numbers, ids.length * size);
    ids.push(textOf(rowids[i]));
    kept.push(i);
  });
  return { matrix: matrix.subarray(0, ids.length * size), ids, kept };
}
