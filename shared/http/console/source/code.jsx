// The panel of a search as programs write it. The token is read from the variable TOKEN.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { Panel } from "./panel.jsx";
import { inLanguage } from "./snippets.js";
import { Segments, Snippet } from "./ui.jsx";

export function CodePanel({ names, body, onClose }) {
  const [language, setLanguage] = useState(localStorage.getItem("tiltyard.language") || "Python");
  const text = inLanguage(language, api.address, names, body);
  return (
    <Panel title="Code" onClose={onClose}>
      <Segments label="Language" value={language} onChange={(next) => { setLanguage(next); localStorage.setItem("tiltyard.language", next); }} options={["Python", "Node", "curl"].map((name) => [name, name])} />
      <Snippet text={text} label={`The search in ${language}`} />
      <p class="quiet">The program reads the token from the variable <code>TOKEN</code>.</p>
    </Panel>
  );
}
