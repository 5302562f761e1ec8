// Light or dark: the system's, unless a person has chosen.

import { useState } from "preact/hooks";

const kept = "tiltyard.theme";
const names = { "": "as the system", light: "light", dark: "dark" }, signs = { "": "◐", light: "☀", dark: "☾" };
const order = ["", "light", "dark"];

/** Sets the colours that were chosen. */
export function applyTheme(theme = localStorage.getItem(kept) || "") {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

export function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem(kept) || "");
  function next() {
    const to = order[(order.indexOf(theme) + 1) % order.length];
    localStorage.setItem(kept, to);
    applyTheme(to);
    setTheme(to);
  }
  return <button id="theme" class="plain" aria-label={`Colours: ${names[theme]}. Change`} title={`Colours: ${names[theme]}`} onClick={next}>{signs[theme]}</button>;
}
