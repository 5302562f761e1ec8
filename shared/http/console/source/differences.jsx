// The rows that differ between two versions, cell by cell, a page at a time.

import { useEffect, useState } from "preact/hooks";
import { Cell } from "./cell.jsx";
import { differences } from "./difference.js";
import { number } from "./format.js";
import { Problem } from "./ui.jsx";

const pageLines = 50, mostColumns = 6; // that are shown of a row which the other version lacks

/** Versions are two numbers. Rows are matched by the column field, and without it by their ids. */
export function Differences({ names, at, versions, field }) {
  const [state, set] = useState({ busy: true, pages: [] });
  const [page, setPage] = useState(0);
  useEffect(() => {
    let gone = false;
    const began = differences(names, at, versions, field).then(async (reader) => ({ reader, ...await reader.next(pageLines) }));
    began.then(({ reader, lines, last }) => gone || set({ reader, pages: [lines], last, text: reader.told() }), (error) => gone || set({ error, pages: [] }));
    return () => { gone = true; };
  }, []);
  async function next() {
    if (page + 1 < state.pages.length) return setPage(page + 1);
    set({ ...state, busy: true });
    try {
      const { lines, last } = await state.reader.next(pageLines);
      set({ ...state, busy: false, pages: lines.length > 0 ? [...state.pages, lines] : state.pages, last, text: state.reader.told() });
      if (lines.length > 0) setPage(page + 1);
    } catch (error) {
      set({ ...state, busy: false, error });
    }
    return undefined;
  }
  if (state.error?.status === 501) return <p>Which rows differ is not known: {state.error.message}.</p>;
  if (state.error) return <Problem error={state.error} />;
  if (state.pages.length === 0) return <p class="quiet waiting" aria-busy="true">Comparing …</p>;
  const lines = state.pages[page], atEnd = state.last && page === state.pages.length - 1, before = page * pageLines;
  return (
    <div aria-busy={state.busy ? "true" : undefined}>
      {lines.length === 0 ? <p>No rows differ.</p> : <Lines caption={`Rows that differ: ${number(before + 1)} to ${number(before + lines.length)}${atEnd ? ", the last" : ""}`} lines={lines} by={field?.name || "_rowid"} versions={versions} />}
      {(page > 0 || !atEnd) && <p class="row tight pager">
        <button disabled={page === 0} onClick={() => setPage(page - 1)}>Previous</button><button disabled={state.busy || atEnd} onClick={next}>{state.busy ? "Comparing …" : "Next"}</button></p>}
      {state.text && <p class="quiet" role="status">{state.text}</p>}
    </div>
  );
}

function Lines({ caption, lines, by, versions }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table class="differing">
        <caption>{caption}</caption>
        <thead><tr><th scope="col"><span class="unseen">Kind</span></th><th scope="col">{by}</th><th scope="col">Column</th>{versions.map((version, i) => <th key={i} scope="col">Version {number(version)}</th>)}</tr></thead>
        <tbody>{lines.flatMap((line, i) => line.sign.startsWith("±") ? line.cells.map((cell, c) => (
          <tr key={`${i} ${c}`} class={c === 0 ? "row-begins" : ""}>
            {c === 0 && <><td rowSpan={line.cells.length} class="sign">{line.sign}</td><td rowSpan={line.cells.length}>{line.name}</td></>}
            <td>{cell.column}</td><td class="was"><Cell value={cell.was} /></td><td class="is"><Cell value={cell.is} /></td>
          </tr>)) : [
          <tr key={i} class="row-begins"><td class="sign">{line.sign}</td><td>{line.name}</td><td class="quiet">all</td><td class="was"><Alone cells={line.cells} side="was" /></td><td class="is"><Alone cells={line.cells} side="is" /></td></tr>])}</tbody>
      </table>
    </div>
  );
}

/** The values of a row that one version has. */
const Alone = ({ cells, side }) => cells.filter((cell) => cell[side]).slice(0, mostColumns)
  .map((cell) => <span key={cell.column} class="difference"><strong>{cell.column}</strong> <Cell value={cell[side]} /> </span>);
