// The panel of a query's plan: a tree of steps, run and measured or only explained.

import * as api from "./api.js";
import { bytes, number } from "./format.js";
import { Panel } from "./panel.jsx";
import { millis, parse } from "./plan.js";
import { Loaded, Segments, useAsync } from "./ui.jsx";
import { useState } from "preact/hooks";

/** Asks for the plan of a query, measured by a run or not. */
export function planOf(names, body, measured, signal) {
  const whole = { vector: [], ...body };
  return api.call(api.ofTable(names, measured ? "analyze_plan" : "explain_plan"), measured ? whole : { query: whole }, { signal });
}

export function PlanPanel({ names, body, onClose }) {
  const [measured, setMeasured] = useState(true);
  const state = useAsync((signal) => planOf(names, body, measured, signal), [JSON.stringify(body), measured]);
  return (
    <Panel title="Plan" onClose={onClose}>
      <Segments label="How the plan is made" value={measured} onChange={setMeasured} options={[[true, "Run and measure"], [false, "Explain only"]]} />
      <Loaded state={state} label={measured ? "Running" : "Planning"}>{(text) => <Plan text={text} />}</Loaded>
    </Panel>
  );
}

/** A plan as a tree. The bars compare times with that of the whole query. */
export function Plan({ text }) {
  const steps = parse(text);
  const whole = Math.max(...steps.map((step) => millis(step.figures.elapsed)), 0);
  return (
    <div class="plan">
      <ul>{steps.map((step, i) => <Step key={i} step={step} whole={whole} />)}</ul>
      <details><summary>As text</summary><pre tabIndex={0}>{text}</pre></details>
    </div>
  );
}

function Step({ step, whole }) {
  const { rows, elapsed, requests, bytes_read: read } = step.figures;
  const took = millis(elapsed);
  return (
    <li>
      <div class="step">
        <strong>{step.name}</strong>
        {elapsed && <span class="took"><meter min={0} max={whole || 1} value={took} aria-hidden="true" /> {took.toFixed(2)} ms</span>}
        {rows && <span class="figure">{number(rows)} rows</span>}
        {requests && <span class="figure">{number(requests)} requests</span>}
        {read && <span class="figure">{bytes(Number(read))} read</span>}
        {step.options && <div class="quiet options">{step.options}</div>}
      </div>
      {step.steps.length > 0 && <ul>{step.steps.map((inner, i) => <Step key={i} step={inner} whole={whole} />)}</ul>}
    </li>
  );
}
