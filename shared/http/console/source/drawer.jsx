// The panel of one row: every value at full length, and the way to rows that are like it.

import { useEffect, useRef } from "preact/hooks";
import { Whole, copyText, rowJSON } from "./cell.jsx";
import { Panel } from "./panel.jsx";
import { copy } from "./ui.jsx";
import { isNull, textOf } from "../static/console/values.js";

/** Row is the record at a place of all; onMove goes to another place, and onSimilar searches by a vector column. */
export function RowPanel({ row, at, total, columns, types, vectors, onMove, onSimilar, onClose }) {
  const body = useRef();
  useEffect(() => { body.current?.focus({ preventScroll: true }); }, []);
  function keys(event) {
    if (event.target.closest("input, textarea, audio, pre")) return;
    if (["ArrowDown", "ArrowRight"].includes(event.key)) onMove(Math.min(total - 1, at + 1));
    else if (["ArrowUp", "ArrowLeft"].includes(event.key)) onMove(Math.max(0, at - 1));
    else return;
    event.preventDefault();
  }
  const near = vectors.filter((name) => row && row[name] && !isNull(row[name]));
  return (
    <Panel title={`Row ${(at + 1).toLocaleString("en")}`} onClose={onClose} actions={<>
      <button class="small" aria-label="Previous row" disabled={at === 0} onClick={() => onMove(at - 1)}>↑</button>
      <button class="small" aria-label="Next row" disabled={at >= total - 1} onClick={() => onMove(at + 1)}>↓</button>
      <button class="small" disabled={!row} onClick={() => copy(rowJSON(row, columns))}>Copy as JSON</button>
    </>}>
      <div class="row-values" ref={body} tabIndex={-1} onKeyDown={keys}>
        {near.length > 0 && <p class="similar">{near.map((name) => (
          <button key={name} onClick={() => onSimilar(name, row._rowid ? textOf(row._rowid) : "")}>{near.length > 1 ? `Similar by ${name}` : "Similar rows"}</button>))}</p>}
        {row ? <dl>{columns.map((name) => (
          <div key={name} class="value">
            <dt><b>{name}</b> <small>{types.get(name) || ""}</small><button class="small plain" aria-label={`Copy ${name}`} onClick={() => copy(copyText(row[name]))}>Copy</button></dt>
            <dd><Whole value={row[name]} /></dd>
          </div>))}</dl> : <p class="quiet">Loading …</p>}
      </div>
    </Panel>
  );
}
