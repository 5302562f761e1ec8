// One change of a table or a view: its fields, the request as code, and the button that does it.

import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { Problem, Segments, Snippet } from "./ui.jsx";

const quote = JSON.stringify;

/** The change in a language. Python is the call on the table, and cli the command behind the program's name. */
function codeOf(language, names, { kind = "table", operation, body, python, imports = "", cli }) {
  if (language === "curl") {
    return `curl -s '${api.address}/v1/${kind}/${names.map(encodeURIComponent).join("$")}/${operation}' -H "Authorization: Bearer $TOKEN" \\\n  -H 'Content-Type: application/json' -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`;
  }
  if (language === "Command line") return `export TILTYARD_URL=${api.address} TILTYARD_TOKEN="$TOKEN"\ntiltyard ${cli}`;
  const opened = names.length > 1 ? `${quote(names.at(-1))}, namespace_path=${quote(names.slice(0, -1))}` : quote(names[0]);
  return `import os\nimport lancedb\n${imports}\ndb = lancedb.connect("db://local", api_key=os.environ["TOKEN"], host_override=${quote(api.address)})\ntable = db.open_table(${opened})\n${python}`;
}

/**
 * Change is { kind, operation, body, python, imports, cli }, without python where Python's client has no such call. Then
 * gets the answer of the service. The form opens by a click, and whenever the count opened grows.
 */
export function Action({ names, title, button, change, children, opened = 0, then }) {
  const [state, set] = useState({});
  const element = useRef();
  useEffect(() => {
    if (opened === 0) return;
    element.current.open = true;
    element.current.scrollIntoView({ block: "nearest" });
    element.current.querySelector("input, select, button").focus();
  }, [opened]);
  const languages = [...(change.python ? ["Python"] : []), ...(change.cli ? ["Command line"] : []), "curl"];
  const [language, setLanguage] = useState(languages[0]);
  async function act(event) {
    event.preventDefault();
    set({ busy: true });
    try {
      const answer = await api.call(api.path(change.kind || "table", names, change.operation), change.body);
      set({});
      then(answer);
    } catch (error) {
      set({ error });
    }
  }
  return (
    <details class="card action" ref={element}>
      <summary>{title}</summary>
      <form onSubmit={act}>
        <div class="row">{children}<button class="main" disabled={state.busy}>{button}</button></div>
        {state.error && <Problem error={state.error} />}
      </form>
      {languages.length > 1 && <Segments label="The same as code" value={language} onChange={setLanguage} options={languages.map((name) => [name, name])} />}
      <Snippet text={codeOf(language, names, change)} label={`The change as ${language}`} />
    </details>
  );
}
