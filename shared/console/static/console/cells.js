// Values of rows, shown fit for people.

import { bytes, h, svg } from "./dom.js";

const longText = 160; // characters that a cell shows before it is opened

/** One value of a row: a vector as a line, a picture as itself, everything else as text. */
export function cell(value, type) {
  if (value === null || value === undefined) return h("span", { class: "null" }, "null");
  if (value instanceof Uint8Array) return binary(value);
  if (typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(7)));
  if (typeof value === "string") return text(value);
  if (value instanceof Date) return value.toISOString();
  if (isVector(value)) return vector(numbers(value));
  return text(JSON.stringify(plain(value, type)));
}

/** Whether a value is a list of numbers long enough to be drawn. */
export const isVector = (value) => value && typeof value === "object" && typeof value.length === "number" && value.length >= 4 && typeof value.get === "function" && typeof value.get(0) === "number";

/** The numbers of a vector. Those of halves arrive as numbers, too. */
export const numbers = (value) => Array.from(value, Number);

/** A value as JSON has it. */
export function plain(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Uint8Array) return `(${bytes(value.length)})`;
  if (value instanceof Date || typeof value !== "object") return value;
  if (typeof value.toJSON === "function" && typeof value.get !== "function") return plain(value.toJSON());
  if (typeof value.length === "number" || Array.isArray(value)) return Array.from(value, plain);
  return Object.fromEntries(Object.entries(value.toJSON ? value.toJSON() : value).map(([name, inner]) => [name, plain(inner)]));
}

function text(value) {
  if (value.length <= longText) return value;
  return h("details", { class: "long" }, h("summary", {}, `${value.slice(0, longText)} …`), value);
}

function vector(values) {
  const low = Math.min(...values), high = Math.max(...values);
  const shown = values.filter((_, i) => i % Math.ceil(values.length / 64) === 0);
  const points = shown.map((v, i) => `${(i * 96 / Math.max(1, shown.length - 1)).toFixed(1)},${(18 - 16 * (v - low) / (high - low || 1)).toFixed(1)}`).join(" ");
  const told = `vector of ${values.length}, from ${low.toPrecision(3)} to ${high.toPrecision(3)}`;
  return h("details", { class: "vector" },
    h("summary", { title: told }, svg("svg", { viewBox: "0 0 96 20", width: 96, height: 20, role: "img", "aria-label": told }, svg("polyline", { points, fill: "none", stroke: "currentColor" }))),
    h("code", {}, values.map((v) => Number(v.toPrecision(4))).join(", ")));
}

const kinds = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]], ["image/jpeg", [0xff, 0xd8, 0xff]], ["image/gif", [0x47, 0x49, 0x46, 0x38]], ["image/webp", [0x52, 0x49, 0x46, 0x46]],
];

/** Bytes: a picture if they begin as one. Drawings of vectors are left out, since they can hold more than a picture. */
function binary(value) {
  const kind = kinds.find(([, start]) => start.every((byte, i) => value[i] === byte));
  if (!kind) return h("span", { class: "quiet" }, bytes(value.length));
  const url = URL.createObjectURL(new Blob([value], { type: kind[0] }));
  return h("img", { class: "picture", src: url, alt: `picture of ${bytes(value.length)}`, onload: () => URL.revokeObjectURL(url) });
}
