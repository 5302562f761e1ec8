// Values of rows as people see them: in a cell of one line, and at full length.

import { useEffect, useState } from "preact/hooks";
import { bytes } from "./format.js";
import { bytesOf, isNull, jsonOf, numbersOf, textOf } from "../static/console/values.js";

const drawn = 4; // numbers from which on a list of them is drawn
const longest = 400; // characters that a cell holds; the rest is in the row's panel

/** One value on one line. A dash stands for a column that the row does not have. */
export function Cell({ value, height = 28 }) {
  if (value === undefined) return <span class="null">–</span>;
  if (isNull(value)) return <span class="null">null</span>;
  const content = bytesOf(value), kind = content && kindOf(content);
  if (kind?.picture) return <Picture content={content} type={kind.type} size={height - 4} />;
  if (kind?.audio) return <span class="chip">♪ {bytes(content.length)}</span>;
  const vector = numbersOf(value);
  if (vector && vector.length >= drawn) return <Spark values={vector} />;
  const text = textOf(value);
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

/** One value at full length. */
export function Whole({ value }) {
  if (value === undefined || isNull(value)) return <span class="null">null</span>;
  const content = bytesOf(value), kind = content && kindOf(content);
  if (kind?.picture) return <Picture content={content} type={kind.type} />;
  if (kind?.audio) return <Audio content={content} type={kind.type} />;
  const vector = numbersOf(value);
  if (vector && vector.length >= drawn) return <div><Spark values={vector} width={280} height={48} /><details><summary>{vector.length} numbers</summary><code class="numbers">{textOf(value)}</code></details></div>;
  const text = textOf(value);
  return <span class="whole-text">{/^[[{]/.test(text) ? pretty(text) : text}</span>;
}

function pretty(text) {
  if (text.length > 20_000 || text.length < 60) return text;
  try {
    return /\d{16}/.test(text) ? text : JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** A value as text for the clipboard. */
export const copyText = (value) => value === undefined ? "null" : textOf(value);

/** A row as JSON. */
export const rowJSON = (row, columns) => `{${columns.map((name) => `${JSON.stringify(name)}: ${row[name] === undefined ? "null" : jsonOf(row[name])}`).join(", ")}}`;

/** A vector as a line, with its norm. */
export function Spark({ values, width = 96, height = 18 }) {
  const low = Math.min(...values), high = Math.max(...values);
  const norm = Math.sqrt(values.reduce((sum, v) => sum + v * v, 0));
  const shown = values.filter((_, i) => i % Math.ceil(values.length / (width / 1.5)) === 0);
  const points = shown.map((v, i) => `${(i * width / Math.max(1, shown.length - 1)).toFixed(1)},${(height - 1 - (height - 2) * (v - low) / (high - low || 1)).toFixed(1)}`).join(" ");
  const told = `vector of ${values.length}, from ${low.toPrecision(3)} to ${high.toPrecision(3)}, norm ${norm.toPrecision(4)}`;
  return (
    <span class="spark" title={told}>
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={told}><polyline points={points} fill="none" stroke="currentColor" /></svg>
      <small aria-hidden="true">‖{norm.toPrecision(3)}‖</small>
    </span>
  );
}

const starts = (content, list, from = 0) => list.every((byte, i) => content[from + i] === byte);

/** What bytes are by how they begin. Drawings of vectors are left out, since they can hold more than a picture. */
function kindOf(content) {
  if (starts(content, [0x89, 0x50, 0x4e, 0x47])) return { picture: true, type: "image/png" };
  if (starts(content, [0xff, 0xd8, 0xff])) return { picture: true, type: "image/jpeg" };
  if (starts(content, [0x47, 0x49, 0x46, 0x38])) return { picture: true, type: "image/gif" };
  if (starts(content, [0x52, 0x49, 0x46, 0x46])) {
    if (starts(content, [0x57, 0x45, 0x42, 0x50], 8)) return { picture: true, type: "image/webp" };
    if (starts(content, [0x57, 0x41, 0x56, 0x45], 8)) return { audio: true, type: "audio/wav" };
  }
  if (starts(content, [0x49, 0x44, 0x33]) || content[0] === 0xff && (content[1] & 0xe6) === 0xe2) return { audio: true, type: "audio/mpeg" };
  if (starts(content, [0x4f, 0x67, 0x67, 0x53])) return { audio: true, type: "audio/ogg" };
  if (starts(content, [0x66, 0x4c, 0x61, 0x43])) return { audio: true, type: "audio/flac" };
  return null;
}

/** The address of bytes in this page, as long as a part shows them. */
function useBlob(content, type) {
  const [url, set] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([content], { type }));
    set(made);
    return () => URL.revokeObjectURL(made);
  }, [content.buffer, content.byteOffset, type]);
  return url;
}

function Picture({ content, type, size }) {
  const url = useBlob(content, type);
  return url && <img class={size ? "thumb" : "picture"} src={url} alt={`picture of ${bytes(content.length)}`} height={size} />;
}

function Audio({ content, type }) {
  const url = useBlob(content, type);
  return url && <audio controls src={url} />;
}
