// The menu that saves what a search found as a file, and how far the file is.

import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { download } from "./download.js";
import { bytes } from "./format.js";
import { shell } from "./snippets.js";
import { Menu, Snippet, say } from "./ui.jsx";

const choices = [["csv", "CSV"], ["parquet", "Parquet"], ["arrow", "Arrow file"], ["json", "JSON lines"]];

/** Body is the query; whole tells whether it is a scan, whose rows the command line exports too. */
export function Download({ names, body, whole }) {
  const [loaded, setLoaded] = useState(null); // the bytes of the file that is on its way
  const control = useRef();
  useEffect(() => () => control.current?.abort(), []);
  async function start(format) {
    control.current = new AbortController();
    setLoaded(0);
    try {
      await download(format, names, body, setLoaded, control.current.signal);
    } catch (error) {
      if (error.name === "AbortError") say("The download is cancelled, and nothing is saved.");
      else say(error.message, true);
      control.current.abort(); // of an answer that is refused, the rest is not sent
    }
    setLoaded(null);
  }
  if (loaded !== null) return <button class="small" onClick={() => control.current.abort()}>Cancel the download <span class="quiet">{bytes(loaded)}</span></button>;
  return (
    <Menu label="Download" right>
      {choices.map(([format, name]) => <button key={format} class="plain" disabled={!body} onClick={() => start(format)}>{name}</button>)}
      {body && whole && <div class="save-sheet" onClick={(event) => event.stopPropagation()}>
        <p class="quiet">The file has all rows, and appears when it is whole. Browsers may not save files of more than some hundred megabytes. The command line does:</p>
        <Snippet text={command(names, body)} label="The download as a command" />
      </div>}
    </Menu>
  );
}

/** The command that writes the same rows. It has no order. */
function command(names, body) {
  const options = [["where", body.filter], ["columns", body.columns?.column_names.join(",")], ["version", body.version], ["branch", body.branch]];
  const words = options.filter(([, value]) => value).map(([name, value]) => ` --${name} ${shell(String(value))}`);
  return `export TILTYARD_URL=${api.address} TILTYARD_TOKEN="$TOKEN"\ntiltyard export ${shell(names.join("/"))} ${shell(`${names.at(-1)}.parquet`)}${words.join("")}`;
}
