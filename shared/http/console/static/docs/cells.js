// Values of rows, shown fit for people.

import { bytes, h, svg } from "./dom.js";
import { bytesOf, isNull, isValue, numbersOf, textOf } from "../console/values.js";

const longText = 160; // characters that a cell shows before it is opened
const unbroken = 36; // characters of a word, a number or a time that stay on one line
const drawn = 4; // numbers from which on a list of them is drawn

/** One value of a row: a vector as a line, a picture as itself, everything else as text. Numbers that a page has computed are shown as they are. */
export function cell(value) {
  if (value === undefined) return h("span", { class: "null" }, "null");
  if (!isValue(value)) return String(value);
  if (isNull(value)) return h("span", { class: "null" }, "null");
  const picture = pictureOf(bytesOf(value));
  if (picture) return picture;
  const vector = numbersOf(value);
  return vector && vector.length >= drawn ? line(vector, textOf(value)) : text(textOf(value));
}

function text(value) {
  if (value.length <= unbroken && !/\s/.test(value)) return h("span", { class: "line" }, value);
  if (value.length <= longText) return value;
  return h("details", { class: "long" }, h("summary", {}, `${value.slice(0, longText)} …`), value);
}

/** A vector as a drawing, which opens to its numbers. */
function line(values, numbers) {
  const low = Math.min(...values), high = Math.max(...values);
  const shown = values.filter((_, i) => i % Math.ceil(values.length / 64) === 0);
  const points = shown.map((v, i) => `${(i * 96 / Math.max(1, shown.length - 1)).toFixed(1)},${(18 - 16 * (v - low) / (high - low || 1)).toFixed(1)}`).join(" ");
  const told = `vector of ${values.length}, from ${low.toPrecision(3)} to ${high.toPrecision(3)}`;
  return h("details", { class: "vector" },
    h("summary", { title: told }, svg("svg", { viewBox: "0 0 96 20", width: 96, height: 20, role: "img", "aria-label": told }, svg("polyline", { points, fill: "none", stroke: "currentColor" }))),
    h("code", {}, numbers));
}

const kinds = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]], ["image/jpeg", [0xff, 0xd8, 0xff]], ["image/gif", [0x47, 0x49, 0x46, 0x38]], ["image/webp", [0x52, 0x49, 0x46, 0x46]],
];

/** Bytes: a picture, or how many they are. */
export const binary = (value) => pictureOf(value) || h("span", { class: "quiet" }, bytes(value.length));

/** The picture that bytes are, or null. Drawings of vectors are left out, since they can hold more than a picture. */
function pictureOf(value) {
  const kind = value && kinds.find(([, start]) => start.every((byte, i) => value[i] === byte));
  if (!kind) return null;
  const url = URL.createObjectURL(new Blob([value], { type: kind[0] }));
  return h("img", { class: "picture", src: url, alt: `picture of ${bytes(value.length)}`, onload: () => URL.revokeObjectURL(url) });
}
