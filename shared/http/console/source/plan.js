// A query's plan: its steps, and what they mean in words.

import { count, number } from "./format.js";

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


const options = (step) => Object.fromEntries([...step.options.matchAll(/(\w+)=(\[[^\]]*\]|[^,]*)/g)].map(([, name, value]) => [name, value.trim()]));

/** All steps of a plan. */
const all = (steps) => steps.flatMap((step) => [step, ...all(step.steps)]);

/** How the rows came about, as one sentence for each way to find them. Indices are those of the table, for their coverage. */
export function inWords(text, indices = []) {
  const steps = all(parse(text)), said = [];
  const missing = (name) => {
    const index = indices.find((one) => one.index_name === name);
    return index?.num_unindexed_rows > 0 ? `; ${count(index.num_unindexed_rows, "row")} not indexed yet ${index.num_unindexed_rows === 1 ? "was" : "were"} read directly` : "";
  };
  for (const step of steps) {
    const o = options(step);
    if (step.name === "SearchIndex") {
      const nearest = steps.find((one) => one.name === "Nearest");
      const column = nearest ? options(nearest).column : "";
      const probes = o.partitions ? `, ${count(Number(o.partitions), "partition")} searched` : "";
      const measured = o.rows_measured ? `, ${number(o.rows_measured)} of ${number(o.indexed_rows)} rows compared` : "";
      said.push(`${o.type || "index"} ${o.index} on ${column}${probes}${measured}${missing(o.index)}`);
    } else if (step.name === "Nearest" && (!o.index || o.index === "none")) {
      said.push(`exact distances (${o.metric}) on ${o.column}, without an index`);
    } else if (step.name === "MatchText") {
      const used = (o.indices || "").replace(/[[\]]/g, "");
      said.push(used ? `full-text index ${used} on ${o.columns.replace(/[[\]]/g, "")}${missing(used)}` : "texts read directly, without an index");
    } else if (step.name === "Scan" && o.narrowed_by) {
      said.push(`filter narrowed by ${o.narrowed_by.replace(/[[\]]/g, "")}`);
    }
  }
  const filter = steps.find((one) => one.name === "Scan" && options(one).filter);
  if (said.length === 0) said.push(filter ? "a scan that checks the filter on every row" : "a scan in stored order");
  return [...new Set(said)].join("; ");
}
