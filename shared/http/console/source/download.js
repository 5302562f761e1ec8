// Files of what a search found. The service streams the rows; JSON lines and Arrow are saved as it sends them, and CSV is
// made of each batch as it comes. A piece of the file in memory becomes a Blob when it is full, which a browser can keep on
// disk. Chromium saved a file of 250 MB in seconds; of 1 GB it received all bytes, and the file did not appear.

import * as api from "./api.js";
import { save } from "./ui.jsx";
import { base64, bytesOf, isNull, records, textOf } from "../static/console/values.js";

const piece = 4 << 20; // bytes
const formats = {
  csv: { extension: "csv", type: "text/csv", accept: api.stream, chunks: linesOf },
  json: { extension: "jsonl", type: "application/x-ndjson", accept: "application/x-ndjson", chunks: chunksOf },
  arrow: { extension: "arrow", type: "application/vnd.apache.arrow.file", accept: "application/vnd.apache.arrow.file", chunks: chunksOf },
};

/** Saves the rows of a query. Told gets the number of bytes so far, after each piece. */
export async function download(format, names, body, told, signal) {
  const { extension, type, accept, chunks } = formats[format];
  const answer = await api.send(api.ofTable(names, "query"), body, { accept, signal });
  const pieces = [];
  let waiting = [], size = 0, whole = 0;
  try {
    for await (const chunk of chunks(answer)) {
      waiting.push(chunk);
      size += chunk.length;
      if (size < piece) continue;
      pieces.push(new Blob(waiting));
      told(whole += size);
      waiting = [];
      size = 0;
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(`The service broke off the answer, and nothing is saved. It may have taken longer than a request may take. (${error.message})`);
  }
  save(`${names.at(-1)}.${extension}`, [...pieces, ...waiting], type);
}

/** Yields the bytes of an answer as they come. */
async function* chunksOf(answer) {
  const reader = answer.body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}

/** Yields the rows of an answer as bytes of CSV. An empty field without quotes is null. */
async function* linesOf(answer) {
  const encoder = new TextEncoder(), reader = await window.Arrow.RecordBatchReader.from(chunksOf(answer));
  await reader.open();
  const columns = reader.schema.fields.map((f) => f.name);
  yield encoder.encode(`${columns.map(quoted).join(",")}\n`);
  for await (const batch of reader) {
    yield encoder.encode(records(new window.Arrow.Table(batch)).map((row) => `${columns.map((name) => field(row[name])).join(",")}\n`).join(""));
  }
}

const quoted = (text) => text === "" || /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** A value as a field: bytes are base64, as the command line writes them. */
function field(value) {
  if (isNull(value)) return "";
  const content = bytesOf(value);
  return content ? base64(content) || '""' : quoted(textOf(value));
}
