// The panel of one column: how it is filled. Nulls and the least and greatest value are exact; the rest is of a sample,
// and says so.

import * as api from "./api.js";
import { countOf, sample } from "./find.js";
import { count, number, percent } from "./format.js";
import { Panel } from "./panel.jsx";
import { isDateType, isNumberType, isOrderedType, isTextType, isVectorType, quoted, typeText } from "./schema.js";
import { Bar, Loaded, useAsync } from "./ui.jsx";
import { isNull, numbersOf, records, textOf } from "../static/console/values.js";

const mostValues = 8, bins = 16;

/** Body is the scan without order, as the rows have it; total is how many rows it has, if that is known. */
export function ColumnPanel({ names, field, body, total, order, onOrder, onHide, onWiden, onFilter, onClose }) {
  const state = useAsync(() => statistics(names, field, body, total), [names.join("$"), field.name, JSON.stringify(body), total]);
  return (
    <Panel title={field.name} onClose={onClose}>
      <p class="quiet"><code>{typeText(field.type)}</code>{field.nullable ? "" : ", never null"}</p>
      <div class="row close">
        {isOrderedType(field.type) && <>
          <button class="small" aria-pressed={order?.column === field.name && !order.desc} onClick={() => onOrder(field.name, false)}>Ascending ↑</button>
          <button class="small" aria-pressed={order?.column === field.name && order.desc} onClick={() => onOrder(field.name, true)}>Descending ↓</button>
          {order?.column === field.name && <button class="small" onClick={() => onOrder("", false)}>As stored</button>}
        </>}
        <button class="small" onClick={onHide}>Hide</button>
        <button class="small" aria-label="Make the column narrower" onClick={() => onWiden(-40)}>−</button>
        <button class="small" aria-label="Make the column wider" onClick={() => onWiden(40)}>+</button>
      </div>
      <Loaded state={state} label="Reading the column">{(s) => <Statistics s={s} onFilter={onFilter} field={field} />}</Loaded>
    </Panel>
  );
}

function Statistics({ s, field, onFilter }) {
  const { total } = s, all = s.sampled === total;
  return <>
    <dl class="facts stacked">
      <div><dt>Nulls</dt><dd>{number(s.nulls)}{s.nulls > 0 && <small class="quiet"> {percent(s.nulls, total)}</small>}</dd></div>
      {s.least !== undefined && <><div><dt>Least</dt><dd>{s.least}</dd></div><div><dt>Greatest</dt><dd>{s.greatest}</dd></div></>}
      {s.dimensions && <><div><dt>Dimensions</dt><dd>{s.dimensions}</dd></div><div><dt>Norms</dt><dd>{s.norms}</dd></div></>}
      {s.distinct !== undefined && <div><dt>Distinct</dt><dd>{number(s.distinct)}</dd></div>}
    </dl>
    <p class="quiet">{all ? `All ${count(total, "row")} were read.` : `Distinct values and the chart are of a sample of ${number(s.sampled)} of ${number(total)} rows; nulls, least and greatest are of all.`}</p>
    {s.histogram && <Histogram {...s.histogram} name={field.name} />}
    {s.values?.length > 0 && <ul class="tops" aria-label="Most frequent values">{s.values.map(({ text, count: n, condition }) => (
      <li key={text}>
        {condition ? <button class="plain" title={condition} onClick={() => onFilter(condition)}>{text || "(empty)"}</button> : <span>{text}</span>}
        <Bar value={n} max={s.values[0].count} /><span class="right">{number(n)}</span>
      </li>))}</ul>}
  </>;
}

async function statistics(names, field, body, known) {
  const total = known ?? await countOf(names, body);
  const column = quoted(field.name), only = { column_names: [field.name] };
  const and = (condition) => body.filter ? `(${body.filter}) AND ${condition}` : condition;
  const end = async (ascending) => {
    const [row] = records(await api.rows(api.ofTable(names, "query"), { ...body, columns: only, filter: and(`${column} IS NOT NULL`), k: 1, order_by: [{ column_name: field.name, ascending }] }));
    return row && textOf(row[field.name]).slice(0, 200);
  };
  const ordered = isOrderedType(field.type) && total > 0;
  const [nulls, least, greatest, rows] = await Promise.all([
    countOf(names, { ...body, filter: and(`${column} IS NULL`) }), ordered ? end(true) : undefined, ordered ? end(false) : undefined,
    total > 0 ? sample(names, body, [field.name], total) : [],
  ]);
  const values = rows.map((row) => row[field.name]).filter((value) => value && !isNull(value));
  const result = { total, nulls, least, greatest, sampled: rows.length };
  if (isVectorType(field.type)) {
    const norms = values.map((value) => Math.hypot(...numbersOf(value)));
    const range = norms.length > 0 ? `${Math.min(...norms).toPrecision(4)} to ${Math.max(...norms).toPrecision(4)}` : "none";
    return { ...result, dimensions: number(field.type.length), norms: range };
  }
  const counts = new Map();
  for (const value of values) {
    const text = textOf(value);
    counts.set(text, (counts.get(text) || 0) + 1);
  }
  result.distinct = counts.size;
  const numeric = isNumberType(field.type);
  if (numeric && counts.size > mostValues) result.histogram = histogram(values.map((value) => Number(textOf(value))));
  else if (counts.size < values.length || counts.size <= mostValues) {
    result.values = [...counts].sort((a, b) => b[1] - a[1]).slice(0, mostValues)
      .map(([text, n]) => ({ text: text.slice(0, 80), count: n, condition: conditionFor(field, text) }));
  }
  return result;
}

/** The filter for one value of a column, or nothing where the page cannot write one. */
export function conditionFor(field, text) {
  const column = quoted(field.name);
  if (text.length > 200) return "";
  if (isTextType(field.type) || field.type.type === "dictionary") return `${column} = '${text.replaceAll("'", "''")}'`;
  if (isDateType(field.type)) return `${column} = date '${text}'`;
  return isNumberType(field.type) || /^bool/.test(field.type.type) ? `${column} = ${text}` : "";
}

function histogram(values) {
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return null;
  const low = Math.min(...finite), high = Math.max(...finite), heights = new Array(bins).fill(0);
  for (const v of finite) heights[Math.min(bins - 1, Math.floor(bins * (v - low) / (high - low || 1)))]++;
  return { low, high, heights };
}

function Histogram({ low, high, heights, name }) {
  const most = Math.max(...heights);
  return (
    <figure class="histogram">
      <svg viewBox={`0 0 ${bins * 10} 60`} role="img" aria-label={`Histogram of ${name} from ${low.toPrecision(4)} to ${high.toPrecision(4)}`} preserveAspectRatio="none">
        {heights.map((h, i) => <rect key={i} x={i * 10 + 1} y={60 - 58 * h / most} width={8} height={58 * h / most}><title>{count(h, "row")}</title></rect>)}
      </svg>
      <figcaption><span>{low.toPrecision(4)}</span><span>{high.toPrecision(4)}</span></figcaption>
    </figure>
  );
}
