// The parts that all pages are made of.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/**
 * Does something asynchronous whenever its inputs change, and returns { value, error, busy }. Outdated results are left
 * alone; the last value stays while the next one is awaited, so that the page does not jump. It is busy from the first
 * render with other inputs on, before the effect that begins the work.
 */
export function useAsync(work, inputs) {
  const [state, set] = useState({});
  const turn = useRef(0);
  useLayoutEffect(() => { // which asks before the page is painted
    const mine = ++turn.current;
    const control = new AbortController();
    Promise.resolve().then(() => work(control.signal)).then(
      (value) => mine === turn.current && set({ value, inputs }),
      (error) => mine === turn.current && error.name !== "AbortError" && set({ error, inputs }));
    return () => control.abort();
  }, inputs);
  return { value: state.value, error: state.error, busy: !state.inputs?.every((one, i) => Object.is(one, inputs[i])) };
}

/** Shows what a promise brought, or how it failed. */
export function Loaded({ state, children, label = "Loading" }) {
  if (state.error) return <Problem error={state.error} />;
  if (state.value === undefined) return <p class="quiet waiting" aria-busy="true">{label} …</p>;
  return <div class="loaded" aria-busy={state.busy ? "true" : undefined}>{children(state.value)}</div>;
}

/** What went wrong. */
export function Problem({ error }) {
  return (
    <div class="problem" role="alert">
      <strong>{error.message}</strong>
      {error.detail && <p>{error.detail}</p>}
      {error.request && <p class="quiet">Request <code>{error.request}</code></p>}
    </div>
  );
}

/** A table of a head and rows of cells. Columns of numbers are named in the set right. */
export function Table({ caption, head, rows, right = [], hideCaption = false }) {
  const side = (i) => right.includes(i) ? "right" : undefined;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class={hideCaption ? "unseen" : undefined}>{caption}</caption>
        <thead><tr>{head.map((name, i) => <th key={i} scope="col" class={side(i)}>{name || <span class="unseen">More</span>}</th>)}</tr></thead>
        <tbody>{rows.map((cells, r) => <tr key={r}>{cells.map((cell, i) => <td key={i} class={side(i)}>{cell}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

/** A field with its label. */
export function Field({ label, hint, children }) {
  return <label class="field"><span>{label}</span>{children}{hint && <small>{hint}</small>}</label>;
}

/** A choice among texts, or pairs of a value and a text. */
export function Choice({ options, ...rest }) {
  return (
    <select {...rest}>
      {options.map((option) => {
        const [value, text] = Array.isArray(option) ? option : [option, option];
        return <option key={value} value={value}>{text}</option>;
      })}
    </select>
  );
}

export function Moment({ millis, children }) {
  const at = new Date(millis);
  return <time datetime={at.toISOString()} title={at.toLocaleString()}>{children || at.toLocaleString()}</time>;
}

/** Part of a whole, as a bar without words. */
export const Bar = ({ value, max = 1 }) => <meter min={0} max={max || 1} value={value} aria-hidden="true" />;

/** Tells something in passing, also to screen readers. */
export function say(text, isError = false) {
  const said = document.getElementById("said");
  said.className = isError ? "error" : "";
  said.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { said.textContent = ""; }, isError ? 8_000 : 2_500);
}

/** Copies a text. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    say("The browser does not allow it; copy the text by hand.", true);
  }
}

/** Lets the browser save bytes or a text as a file. */
export function save(name, parts, type) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** A text of a program, with a button that copies it. */
export function Snippet({ text, label = "Code" }) {
  return (
    <div class="snippet-box">
      <pre class="snippet" tabIndex={0} aria-label={label}>{text}</pre>
      <button class="small" onClick={() => copy(text)}>Copy</button>
    </div>
  );
}

/** Buttons of which one is pressed: a choice without a list. */
export function Segments({ label, options, value, onChange }) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {options.map(([key, text, title]) => (
        <button key={key} type="button" aria-pressed={key === value} title={title} onClick={() => onChange(key)}>{text}</button>
      ))}
    </div>
  );
}

/** A dialog above the page, closed by Escape, its button, or a click beside it. */
export function Dialog({ title, onClose, children }) {
  const element = useRef();
  useEffect(() => {
    element.current.showModal();
    return () => element.current?.close();
  }, []);
  return (
    <dialog ref={element} aria-labelledby="dialog-title" onClose={onClose} onClick={(event) => event.target === element.current && onClose()}>
      <h2 id="dialog-title">{title}</h2>
      {children}
      <div class="row end"><button type="button" onClick={onClose}>Close</button></div>
    </dialog>
  );
}

/** A button that opens a sheet of choices, closed by Escape, a choice, or a click elsewhere. */
export function Menu({ label, children, right = false }) {
  const element = useRef();
  const close = (event) => {
    if (event.key === "Escape" && element.current.open) {
      element.current.open = false;
      element.current.querySelector("summary").focus();
      event.stopPropagation();
    }
  };
  useEffect(() => {
    const outside = (event) => { if (!element.current?.contains(event.target)) element.current.open = false; };
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, []);
  return (
    <details class={`menu ${right ? "to-right" : ""}`} ref={element} onKeyDown={close}>
      <summary class="button">{label}</summary>
      <div class="sheet" onClick={(event) => { if (event.target.closest("button, a")) event.currentTarget.parentElement.open = false; }}>{children}</div>
    </details>
  );
}
