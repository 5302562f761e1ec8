// Reads vectors of a table into one array, from evenly spread places, since tables are often ordered.

import * as api from "./api.js";
import { isNull, numbersOf, textOf, valuesOf } from "../static/console/values.js";

const atOnce = 2, smallest = 100, largest = 5000; // rows of a request

/**
 * Reads up to count vectors of a column, with what another column has in their rows. Returns { all, n, size, ids, values,
 * matrix }, where matrix has n times size numbers. Progress gets the number of rows that were read.
 */
export async function readVectors(names, at, { column, by, count, size }, progress, signal) {
  const all = await api.call(api.ofTable(names, "count_rows"), at, { signal }), wanted = Math.min(all, count);
  const each = Math.max(smallest, Math.min(largest, Math.ceil(wanted / 10))), pieces = Math.ceil(wanted / each);
  const starts = Array.from({ length: pieces }, (_, i) => all <= count ? i * each : Math.floor(i * (all - each) / Math.max(1, pieces - 1)));
  const matrix = new Float32Array(wanted * size), ids = [], values = [], columns = { column_names: [...new Set([column, by].filter(Boolean))] };
  const parts = new Array(pieces);
  let next = 0, read = 0;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (next < pieces) {
      const i = next++;
      parts[i] = partOf(await api.rows(api.ofTable(names, "query"), { ...at, with_row_id: true, offset: starts[i], k: Math.min(each, wanted - i * each), columns }, signal), column, by, size);
      read += parts[i].ids.length;
      progress(read);
    }
  }));
  let n = 0;
  for (const part of parts) {
    matrix.set(part.matrix, n * size);
    n += part.ids.length;
    for (let i = 0; i < part.ids.length; i++) ids.push(part.ids[i]);
    for (let i = 0; i < part.values.length; i++) values.push(part.values[i]);
  }
  return { all, n, size, ids, values, matrix: matrix.subarray(0, n * size).slice() };
}

/** What an answer holds of the rows that have a vector. */
function partOf(answer, column, by, size) {
  const vectors = valuesOf(answer.getChild(column)), rowids = valuesOf(answer.getChild("_rowid")), groups = by ? valuesOf(answer.getChild(by)) : null;
  const matrix = new Float32Array(vectors.length * size), ids = [], values = [];
  vectors.forEach((vector, i) => {
    if (isNull(vector)) return;
    const flat = vector.data.children[0].values;
    // Halves are stored as integers, and are widened; other numbers are copied.
    const numbers = flat instanceof Float32Array || flat instanceof Float64Array || flat instanceof Uint8Array ? flat.subarray(vector.at * size, (vector.at + 1) * size) : numbersOf(vector);
    if (!numbers) return;
    matrix.set(numbers, ids.length * size);
    ids.push(textOf(rowids[i]));
    if (groups) values.push(textOf(groups[i]));
  });
  return { matrix: matrix.subarray(0, ids.length * size), ids, values };
}
