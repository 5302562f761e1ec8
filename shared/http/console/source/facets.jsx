// The columns that have few values, and how many rows have each: a click narrows the rows to one value.

import { conditionFor } from "./column.jsx";
import { sample } from "./find.js";
import { number } from "./format.js";
import { mayHaveFew } from "./schema.js";
import { Bar, Loaded, useAsync } from "./ui.jsx";
import { isNull, textOf } from "../static/console/values.js";

const mostColumns = 8, mostValues = 12;

/** Total is how many rows a scan has; found are the rows of a search. Chosen values are marked in the filter. */
export function Facets({ names, schema, body, total, found, filter, onToggle }) {
  const fields = schema.fields.filter((f) => mayHaveFew(f.type));
  const state = useAsync(async () => {
    if (fields.length === 0) return { facets: [], rows: 0 };
    const rows = found || await sample(names, body, fields.map((f) => f.name), total);
    return { facets: fields.map((f) => facet(f, rows)).filter(Boolean).slice(0, mostColumns), rows: rows.length };
  }, [names.join("$"), JSON.stringify(body), total, found]);
  return (
    <section class="facets" aria-label="Facets" tabIndex={0} role="region">
      <Loaded state={state} label="Sampling">{({ facets, rows }) => <>
        <p class="quiet">{facets.length === 0 ? "No column has few values." : found ? `The ${number(rows)} rows that were found.` : rows === total ? `All ${number(rows)} rows.` : `In a sample of ${number(rows)} of ${number(total)} rows.`}</p>
        {facets.map(({ field, values }) => (
          <fieldset key={field.name}><legend>{field.name}</legend>
            {values.map(({ text, count, condition }) => (
              <label key={text} class="facet"><input type="checkbox" checked={filter.includes(condition)} onChange={() => onToggle(condition)} />
                <span class="facet-name" title={text}>{text || "(empty)"}</span><Bar value={count} max={rows} /><span class="right">{number(count)}</span></label>))}
          </fieldset>))}
      </>}</Loaded>
    </section>
  );
}

function facet(field, rows) {
  const counts = new Map();
  for (const row of rows) {
    const value = row[field.name];
    if (!value || isNull(value)) continue;
    const text = textOf(value);
    counts.set(text, (counts.get(text) || 0) + 1);
    if (counts.size > mostValues) return null;
  }
  const repeated = counts.size > 0 && counts.size <= Math.max(1, rows.length / 2);
  const values = [...counts].sort((a, b) => b[1] - a[1]).map(([text, count]) => ({ text, count, condition: conditionFor(field, text) }));
  return repeated && values.every((one) => one.condition) ? { field, values } : null;
}
