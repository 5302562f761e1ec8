// How programs reach this server: snippets with its address. The token is in the variable TOKEN; it is shown on request.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import * as session from "./session.js";
import { Segments, Snippet, copy } from "./ui.jsx";

const snippets = {
  Python: `# pip install lancedb
import os
import lancedb

db = lancedb.connect("db://local", api_key=os.environ["TOKEN"], host_override="${api.address}")
table = db.create_table("points", [{"id": 1, "vector": [0.1, 0.2]}, {"id": 2, "vector": [0.3, 0.4]}])
print(table.search([0.3, 0.3]).limit(1).to_list())`,
  Node: `// npm install @lancedb/lancedb
import * as lancedb from "@lancedb/lancedb";

const db = await lancedb.connect("db://local", { apiKey: process.env.TOKEN, hostOverride: "${api.address}" });
const table = await db.createTable("points", [{ id: 1, vector: [0.1, 0.2] }, { id: 2, vector: [0.3, 0.4] }]);
console.log(await table.search([0.3, 0.3]).limit(1).toArray());`,
  "Command line": `export TILTYARD_URL=${api.address} TILTYARD_TOKEN="$TOKEN"
tiltyard insert points points.parquet --create
tiltyard query points --limit 5

# tables in folders NAME.lance, which LanceDB keeps in a directory or a bucket
tiltyard import --root ~/lancedb --dry-run`,
  Go: `c, err := client.New("${api.address}", client.Options{Token: os.Getenv("TOKEN")})
if err != nil {
	return err
}
rows, err := c.QueryTable(ctx, &queryapi.Request{Common: client.ID("points"), K: new(int64(5))})`,
  curl: `curl -s '${api.address}/v1/table' -H "Authorization: Bearer $TOKEN"`,
};

export function Connect() {
  const [language, setLanguage] = useState("Python");
  const [shown, setShown] = useState(false);
  return (
    <section class="connect" aria-label="Connect a client">
      <Segments label="Client" value={language} onChange={setLanguage} options={Object.keys(snippets).map((name) => [name, name])} />
      <Snippet text={snippets[language]} label={`Code for ${language}`} />
      <p class="row tight"><span class="quiet">The token is read from the variable <code>TOKEN</code>.</span>
        <button class="small" aria-pressed={shown} onClick={() => setShown(!shown)}>{shown ? "Hide the token" : "Show the token"}</button>
        {shown && <Token />}</p>
      {shown && session.byLink() && <p class="note" role="note">A link signed you in, so this token ends with your session: after 30 minutes without a request, or when you sign out. Programs need the token of the server:
        the one that the server printed at its start, or was given as <code>--token</code> or <code>TILTYARD_TOKEN</code>.</p>}
    </section>
  );
}

const Token = () => <><code class="token">{session.token()}</code><button class="small" onClick={() => copy(`export TOKEN='${session.token()}'`)}>Copy as export</button></>;
