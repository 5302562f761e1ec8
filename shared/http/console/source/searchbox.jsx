// The search box: one line of text, completed with the names of columns, examples and earlier searches.

import { useEffect, useRef, useState } from "preact/hooks";
import { quoted, typeText } from "./schema.js";
import { searchesOf } from "./searches.js";

const most = 9;

/** Text is what is asked now; onSearch takes the new one, and onSaved the parameters of a saved search. */
export function SearchBox({ names, schema, text, hint, onSearch, onSaved }) {
  const [now, setNow] = useState(text);
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const input = useRef();
  useEffect(() => setNow(text), [text]);
  const offers = open ? suggestions(now, input.current?.selectionStart ?? now.length, names, schema) : [];
  const chosen = offers[at];

  function take(offer) {
    setNow(offer.text);
    setAt(-1);
    input.current.focus();
    if (offer.whole) {
      setOpen(false);
      if (offer.saved) onSaved(offer.saved);
      else onSearch(offer.text);
    } else requestAnimationFrame(() => input.current?.setSelectionRange(offer.caret, offer.caret));
  }
  function keys(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      if (offers.length > 0) setAt((i) => event.key === "ArrowDown" ? (i + 1) % offers.length : (i <= 0 ? offers.length : i) - 1);
    } else if ((event.key === "Enter" || event.key === "Tab") && chosen && open) {
      event.preventDefault();
      take(chosen);
    } else if (event.key === "Escape" && open) {
      event.stopPropagation();
      setOpen(false);
    }
  }
  return (
    <form class="search-box" role="search" onSubmit={(event) => { event.preventDefault(); setOpen(false); onSearch(now.trim()); }}>
      <span class="search-sign" aria-hidden="true">⌕</span>
      <input ref={input} id="query" type="text" role="combobox" aria-expanded={open && offers.length > 0} aria-controls="offers" aria-autocomplete="list" autocomplete="off" spellcheck={false}
        aria-activedescendant={chosen ? `offer-${at}` : undefined} aria-label="Search rows" value={now} placeholder={hint}
        onInput={(event) => { setNow(event.currentTarget.value); setOpen(true); setAt(-1); }} onFocus={() => setOpen(true)} onBlur={() => setTimeout(() => setOpen(false), 150)} onKeyDown={keys} />
      {now && <button type="button" class="plain small" aria-label="Clear the search" onClick={() => { setNow(""); onSearch(""); }}>✕</button>}
      <button class="main">Search</button>
      <ul id="offers" role="listbox" aria-label="Suggestions" hidden={offers.length === 0}>
        {offers.map((offer, i) => (
          <li key={offer.kind + offer.shown} id={`offer-${i}`} role="option" aria-selected={i === at} onPointerDown={(event) => { event.preventDefault(); take(offer); }}>
            <span>{offer.shown}</span><small>{offer.kind}</small>
          </li>))}
      </ul>
    </form>
  );
}

/** What could come at the caret: columns whose names begin with the word there, and searches that were made before. */
function suggestions(text, caret, names, schema) {
  const { recent, saved } = searchesOf(names);
  if (text.trim() === "") {
    return [
      ...saved.slice(0, 4).map((one) => ({ shown: one.name, text: one.parameters.q || "", kind: "saved", whole: true, saved: one.parameters })),
      ...recent.slice(0, 5).map((one) => ({ shown: one, text: one, kind: "recent", whole: true })),
    ];
  }
  const before = text.slice(0, caret), word = /[A-Za-z_]\w*$/.exec(before)?.[0] ?? "";
  if (!word) return [];
  const start = before.length - word.length, after = text.slice(caret);
  const inside = /'[^']*$/.test(before.replace(/'[^']*'/g, ""));
  if (inside) return [];
  const like = /like:$/.test(before.slice(0, start));
  return schema.fields.filter((f) => f.name.toLowerCase().startsWith(word.toLowerCase()) && f.name !== word).slice(0, most).map((f) => {
    const put = `${quoted(f.name)}${like ? "=" : " "}`;
    return { shown: f.name, kind: typeText(f.type), text: before.slice(0, start) + put + after, caret: start + put.length };
  });
}
