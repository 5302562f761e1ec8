// Files of what a search found. The service streams the rows; JSON lines and Arrow are saved as it sends them, and CSV and
// Parquet are made of the batches as they come. A piece of the file in memory becomes a Blob when it is full, which a
// browser can keep on disk. Chromium saved a file of 250 MB in seconds; of 1 GB it received all bytes, and the file did not appear.

import * as api from "./api.js";
import { arrow } from "./arrow.js";
import { countOf } from "./find.js";
import { save } from "./ui.jsx";
import { base64, bytesOf, isNull, records, textOf } from "../static/console/values.js";

const piece = 4 << 20; // bytes
const formats = {
  csv: { extension: "csv", type: "text/csv", accept: api.stream, chunks: linesOf },
  parquet: { extension: "parquet", type: "application/vnd.apache.parquet", accept: api.stream, chunks: parquetOf },
  json: { extension: "jsonl", type: "application/x-ndjson", accept: "application/x-ndjson", chunks: joined },
  arrow: { extension: "arrow", type: "application/vnd.apache.arrow.file", accept: "application/vnd.apache.arrow.file", chunks: joined },
};

/** Saves the rows of a query. Told gets the number of bytes so far, after each piece. */
export async function download(format, names, body, told, signal) {
  const { extension, type, accept, chunks } = formats[format];
  const pieces = [];
  let waiting = [], size = 0, whole = 0;
  for await (const chunk of chunks(answersOf(names, body, { accept, signal }))) {
    waiting.push(chunk);
    size += chunk.length;
    if (size < piece) continue;
    pieces.push(new Blob(waiting));
    told(whole += size);
    waiting = [];
    size = 0;
  }
  save(`${names.at(-1)}.${extension}`, [...pieces, ...waiting], type);
}

/**
 * Yields the answers that together have the rows of a query, as their bytes: one, or behind a gateway, which carries no
 * large answers, parts of one version.
 */
async function* answersOf(names, body, options) {
  const ask = (part) => api.send(api.ofTable(names, "query"), part, options);
  let most = 10_000, version = body.version, left = body.k;
  try {
    yield chunksOf(await ask(body));
    return;
  } catch (refusal) {
    if (refusal.status !== 413 || options.accept === formats.arrow.accept) throw refusal;
  }
  for (let offset = body.offset ?? 0; left === undefined || left > 0; ) {
    let answer;
    const k = Math.min(most, left ?? most);
    try {
      answer = await ask({ ...body, k, offset, version });
    } catch (refusal) {
      if (refusal.status !== 413 || most === 1) throw refusal;
      most = Math.ceil(most / 4);
      continue;
    }
    version ??= Number(answer.headers.get("x-lancedb-version"));
    yield chunksOf(answer);
    offset += k;
    left = (left ?? await countOf(names, { ...body, version })) - k;
  }
}

/** Yields the bytes of an answer as they come. */
async function* chunksOf(answer) {
  const reader = answer.body.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new Error(`The service broke off the answer, and nothing is saved. It may have taken longer than a request may take. (${error.message})`);
    });
    if (done) return;
    yield value;
  }
}

async function* joined(answers) {
  for await (const chunks of answers) yield* chunks;
}

async function* parquetOf(answers) {
  await arrow();
  yield* (await import("./parquet.js")).parquetOf(answers);
}

/** Yields the rows of answers as bytes of CSV. An empty field without quotes is null. */
async function* linesOf(answers) {
  const encoder = new TextEncoder(), { RecordBatchReader, Table } = await arrow();
  let columns;
  for await (const chunks of answers) {
    const reader = await RecordBatchReader.from(chunks);
    await reader.open();
    if (!columns) {
      columns = reader.schema.fields.map((f) => f.name);
      yield encoder.encode(`${columns.map(quoted).join(",")}\n`);
    }
    for await (const batch of reader) {
      yield encoder.encode(records(new Table(batch)).map((row) => `${columns.map((name) => field(row[name])).join(",")}\n`).join(""));
    }
  }
}

const quoted = (text) => text === "" || /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** A value as a field: bytes are base64, as the command line writes them. */
function field(value) {
  if (isNull(value)) return "";
  const content = bytesOf(value);
  return content ? base64(content) || '""' : quoted(textOf(value));
}
