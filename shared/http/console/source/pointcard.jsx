// The card of a point: its picture and its texts, read when the point is looked at.

import { useEffect, useState } from "preact/hooks";
import * as api from "./api.js";
import { Cell } from "./cell.jsx";
import { isTextType, isVectorType } from "./schema.js";
import { bytesOf, isNull, records } from "../static/console/values.js";

const wait = 60, mostKept = 200, texts = 3; // milliseconds; cards; columns of texts
const cards = new Map(); // by what is asked for

/** Group is what the row has in the column of the colours. */
export function PointCard({ names, at, schema, id, by, group }) {
  const key = JSON.stringify([names, at, id]);
  const [row, setRow] = useState(cards.get(key));
  useEffect(() => {
    setRow(cards.get(key));
    if (cards.has(key)) return undefined;
    const control = new AbortController();
    const timer = setTimeout(async () => {
      const columns = schema.fields.filter((f) => isTextType(f.type) || /binary/.test(f.type.type)).filter((f) => !isVectorType(f.type)).map((f) => f.name);
      if (columns.length === 0) return;
      try {
        const [found] = records(await api.rows(api.ofTable(names, "query"), { ...at, filter: `_rowid = ${id}`, k: 1, columns: { column_names: columns } }, control.signal));
        cards.set(key, found || {});
        if (cards.size > mostKept) cards.delete(cards.keys().next().value);
        setRow(found || {});
      } catch { /* the row's number is shown */ }
    }, wait);
    return () => { control.abort(); clearTimeout(timer); };
  }, [key]);
  const values = Object.entries(row || {}).filter(([, value]) => !isNull(value)), pictures = values.filter(([, value]) => bytesOf(value)), words = values.filter(([, value]) => !bytesOf(value));
  return <>
    <p><b>_rowid {id}</b>{by && <span class="quiet"> {by}: {group}</span>}</p>
    {pictures.slice(0, 1).map(([name, value]) => <div key={name}><Cell value={value} height={96} /></div>)}
    {words.filter(([name]) => name !== by).slice(0, texts).map(([name, value]) => <p key={name}><Cell value={value} /></p>)}
  </>;
}
