// A grid of any number of rows, of which only the visible ones exist. Rows have one height and cells one line; the first
// column stays in view, and the arrow keys move a cell.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Cell, copyText } from "./cell.jsx";
import { copy } from "./ui.jsx";

const tallest = 15_000_000; // pixels that every browser can scroll; longer grids scroll proportionally
const gutter = 60, headHeight = 44, spare = 300;

/**
 * Columns are { name, type, width, right }. Rows come from source.row(i), after source.need(from, end). Tick changes
 * when rows have come.
 */
export function Grid({ label, columns, total, source, tick, height, selected, order, onOpen, onColumn, onWidth }) {
  const scroller = useRef();
  const [view, setView] = useState({ top: 0, left: 0, width: 1200, height: 600 });
  const [active, setActive] = useState({ row: 0, column: 0 });
  const look = () => {
    const el = scroller.current;
    if (el) setView({ top: el.scrollTop, left: el.scrollLeft, width: el.clientWidth, height: el.clientHeight - headHeight });
  };
  useLayoutEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    scroller.current.scrollTop = 0;
    setActive({ row: 0, column: 0 });
  }, [source]);

  const narrow = view.width < 560;
  const placed = placeColumns(columns, narrow);
  const wide = placed.length === 0 ? 0 : placed.at(-1).left + placed.at(-1).width;
  const whole = Math.min(total * height, tallest), scaled = total * height > tallest;
  const visible = Math.max(1, Math.ceil(view.height / height));
  const first = scaled ? Math.round(view.top / Math.max(1, whole - view.height) * Math.max(0, total - Math.floor(view.height / height))) : Math.floor(view.top / height);
  const from = Math.max(0, first - 8), end = Math.min(total, first + visible + 9);
  const topOf = (i) => scaled ? view.top + (i - first) * height : i * height;

  const soon = useRef();
  useEffect(() => {
    clearTimeout(soon.current);
    soon.current = setTimeout(() => source.need(from, end), source.row(first) ? 0 : 60);
  }, [source, from, end]);

  /** Scrolls so that a cell is in view. */
  function reveal(row, column) {
    const el = scroller.current;
    if (scaled) {
      if (row < first || row >= first + visible - 1) el.scrollTop = row / Math.max(1, total - visible + 1) * (whole - view.height);
    } else if (row * height < el.scrollTop) el.scrollTop = row * height;
    else if ((row + 1) * height > el.scrollTop + view.height) el.scrollTop = (row + 1) * height - view.height;
    const at = placed[column];
    if (!at || column === 0) el.scrollLeft = column === 0 ? 0 : el.scrollLeft;
    else if (at.left - placed[0].width - gutter < el.scrollLeft) el.scrollLeft = at.left - placed[0].width - gutter;
    else if (at.left + at.width > el.scrollLeft + view.width) el.scrollLeft = at.left + at.width - view.width;
  }
  useEffect(() => { if (selected !== undefined && selected !== null) { reveal(selected, active.column); setActive((a) => ({ ...a, row: selected })); } }, [selected]);

  function keys(event) {
    if (event.target !== scroller.current) return;
    const page = Math.max(1, visible - 2), jump = event.ctrlKey || event.metaKey;
    let { row, column } = active;
    switch (event.key) {
      case "ArrowDown": row++; break;
      case "ArrowUp": row--; break;
      case "ArrowRight": column++; break;
      case "ArrowLeft": column--; break;
      case "PageDown": row += page; break;
      case "PageUp": row -= page; break;
      case "Home": if (jump) row = 0; else column = 0; break;
      case "End": if (jump) row = total - 1; else column = columns.length - 1; break;
      case "Enter": onOpen(row); event.preventDefault(); return;
      case "c": if (jump && !getSelection().toString()) copy(copyText(source.row(row)?.[columns[column].name])); return;
      default: return;
    }
    event.preventDefault();
    row = Math.max(0, Math.min(total - 1, row));
    column = Math.max(0, Math.min(columns.length - 1, column));
    setActive({ row, column });
    reveal(row, column);
  }

  const shown = placed.filter((one, i) => i > 0 && one.left + one.width > view.left - spare && one.left < view.left + view.width + spare);
  const cellAt = (column, i, row) => (
    <div key={column.name} id={`cell-${i}-${column.index}`} role="gridcell" aria-colindex={column.index + 2} data-column={column.name}
      class={`cell ${column.right ? "right" : ""} ${active.row === i && active.column === column.index ? "active" : ""}`}
      style={column.index === 0 ? { width: `${column.width}px` } : { left: `${column.left}px`, width: `${column.width}px` }}
      onPointerDown={() => setActive({ row: i, column: column.index })}>
      {row ? <Cell value={row[column.name]} height={height} /> : <span class="skeleton" />}
    </div>
  );
  const rows = [];
  for (let i = from; i < end && placed.length > 0; i++) {
    const row = source.row(i);
    rows.push(
      <div key={i} role="row" aria-rowindex={i + 2} aria-selected={selected === i} class="grid-row" style={{ transform: `translateY(${topOf(i)}px)`, height: `${height}px`, width: `${wide}px` }} onDblClick={() => onOpen(i)}>
        <div class="frozen" role="presentation">
          <div role="rowheader" aria-colindex={1}><button class="row-number" tabIndex={-1} aria-label={`Open row ${i + 1}`} onClick={() => onOpen(i)}>{(i + 1).toLocaleString("en")}</button></div>
          {cellAt(placed[0], i, row)}
        </div>
        {shown.map((column) => cellAt(column, i, row))}
      </div>);
  }
  return (
    <div class="grid" role="grid" aria-label={label} aria-rowcount={total + 1} aria-colcount={columns.length + 1} tabIndex={0} ref={scroller}
      aria-activedescendant={placed.length > 0 && active.row >= from && active.row < end ? `cell-${active.row}-${active.column}` : undefined}
      onScroll={look} onKeyDown={keys} data-tick={tick} style={{ flexBasis: `${headHeight + whole + 18}px` }}>
      <div class="grid-head" role="row" aria-rowindex={1} style={{ width: `${wide}px` }}>
        {placed.length > 0 && <div class="frozen" role="presentation"><div role="columnheader" aria-colindex={1} class="row-number"><span class="unseen">Row</span></div><Head column={placed[0]} order={order} onColumn={onColumn} onWidth={onWidth} /></div>}
        {shown.map((column) => <Head key={column.name} column={column} order={order} onColumn={onColumn} onWidth={onWidth} />)}
      </div>
      <div class="grid-body" role="presentation" style={{ height: `${whole}px`, width: `${wide}px` }}>{rows}</div>
    </div>
  );
}

/** Where each column stands. */
function placeColumns(columns, narrow) {
  let left = narrow ? 44 : gutter;
  return columns.map((column, index) => {
    const width = index === 0 && narrow ? Math.min(column.width, 96) : column.width;
    const placed = { ...column, index, left, width };
    left += width;
    return placed;
  });
}

/** The head of a column: its name and type. It opens what is known of the column, and its edge changes the width. */
function Head({ column, order, onColumn, onWidth }) {
  const sorted = order?.column === column.name ? order.desc ? "descending" : "ascending" : undefined;
  function drag(event) {
    event.preventDefault();
    const start = event.clientX, width = column.width, edge = event.currentTarget;
    edge.setPointerCapture(event.pointerId);
    edge.onpointermove = (e) => onWidth(column.name, Math.max(48, width + e.clientX - start));
    edge.onpointerup = () => { edge.onpointermove = edge.onpointerup = null; };
  }
  return (
    <div role="columnheader" aria-colindex={column.index + 2} aria-sort={sorted} class={`head ${column.right ? "right" : ""}`}
      style={column.index === 0 ? { width: `${column.width}px` } : { left: `${column.left}px`, width: `${column.width}px` }}>
      <button class="head-name" onClick={() => onColumn(column.name)} title={`${column.name}: ${column.type}`}>
        <b>{column.name}{sorted && <span aria-hidden="true">{sorted === "ascending" ? " ↑" : " ↓"}</span>}</b><small>{column.type}</small>
      </button>
      <span class="edge" onPointerDown={drag} />
    </div>
  );
}
