// A query's plan as a tree, with what each step took.

import { bytes, h, number } from "./dom.js";

/** Reads the text of a plan: a step per line, indented below the one that it feeds. */
export function parse(text) {
  const root = { steps: [] };
  const above = [{ depth: -1, step: root }];
  for (const line of text.split("\n").filter((one) => one.trim() !== "")) {
    const depth = line.length - line.trimStart().length;
    const [, name, options, figures] = /^(\w[\w ]*)(?::\s*(.*?))?(?:\s*\[([^\]]*)\])?$/.exec(line.trim()) || [null, line.trim(), "", ""];
    const step = { name, options: options || "", figures: pairs(figures || ""), steps: [] };
    while (above.at(-1).depth >= depth) above.pop();
    above.at(-1).step.steps.push(step);
    above.push({ depth, step });
  }
  return root.steps;
}

const pairs = (text) => Object.fromEntries(text.split(", ").filter((pair) => pair.includes("=")).map((pair) => pair.split("=", 2)));

const factors = { ns: 1e-6, "µs": 1e-3, us: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A duration as the plan writes it, in milliseconds. */
export function millis(text = "") {
  let sum = 0;
  for (const [, count, unit] of text.matchAll(/([\d.]+)(ns|µs|us|ms|s|m|h)/g)) sum += Number(count) * factors[unit];
  return sum;
}

/** Draws a plan. The bars compare times with that of the whole query. */
export function draw(text) {
  const steps = parse(text);
  const whole = Math.max(...steps.map((step) => millis(step.figures.elapsed)), 0);
  return h("div", { class: "plan" }, h("ul", {}, steps.map((step) => node(step, whole))),
    h("details", {}, h("summary", {}, "As text"), h("pre", {}, text)));
}

function node(step, whole) {
  const { rows, elapsed, requests, bytes_read: read } = step.figures;
  const took = millis(elapsed);
  return h("li", {},
    h("div", { class: "step" },
      h("strong", {}, step.name), " ",
      elapsed && h("span", { class: "took" }, h("meter", { min: 0, max: whole || 1, value: took, "aria-hidden": "true" }), ` ${took.toFixed(2)} ms`),
      rows && h("span", { class: "figure" }, `${number(rows)} rows`),
      requests && h("span", { class: "figure" }, `${number(requests)} requests`),
      read && h("span", { class: "figure" }, bytes(Number(read)) + " read"),
      h("div", { class: "quiet options" }, step.options)),
    step.steps.length > 0 && h("ul", {}, step.steps.map((inner) => node(inner, whole))));
}
