// A query as people write it in their own programs. LanceDB's clients cannot weight the parts of a hybrid search, so
// programs send such a query themselves.

const quote = JSON.stringify;

/** A text as a word of a shell. */
export const shell = (text) => /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The query in a language. The token stays out of it. */
export function inLanguage(language, address, names, body) {
  switch (language) {
    case "curl": return curl(address, names, body);
    case "Python": return body.rerank ? pythonRequest(address, names, body) : python(address, names, body);
    default: return body.rerank ? nodeRequest(address, names, body) : node(address, names, body);
  }
}

const arrow = "application/vnd.apache.arrow.stream";

const urlOf = (address, names) => `${address}/v1/table/${names.map(encodeURIComponent).join("$")}/query`;

function curl(address, names, body) {
  return `curl -s '${urlOf(address, names)}' -H "Authorization: Bearer $TOKEN" \\\n` +
    `  -H 'Content-Type: application/json' -H 'Accept: ${arrow}' \\\n  -d ${shell(JSON.stringify({ vector: [], ...body }))} -o rows.arrows`;
}

function pythonRequest(address, names, body) {
  return `import os\nimport urllib.request\n\nimport pyarrow as pa\n\n` +
    `query = r'''${JSON.stringify(body).replaceAll("'", "\\u0027")}'''\n` +
    `headers = {"Authorization": "Bearer " + os.environ["TOKEN"], "Content-Type": "application/json", "Accept": ${quote(arrow)}}\n` +
    `request = urllib.request.Request(${quote(urlOf(address, names))}, query.encode(), headers)\n` +
    `with urllib.request.urlopen(request) as answer:\n    rows = pa.ipc.open_stream(answer).read_pandas()\nprint(rows)`;
}

function nodeRequest(address, names, body) {
  return `import { tableFromIPC } from "apache-arrow";\n\nconst query = ${JSON.stringify(body)};\n` +
    `const headers = { Authorization: \`Bearer \${process.env.TOKEN}\`, "Content-Type": "application/json", Accept: ${quote(arrow)} };\n` +
    `const rows = await tableFromIPC(fetch(${quote(urlOf(address, names))}, { method: "POST", headers, body: JSON.stringify(query) }));\nconsole.table(rows.toArray());`;
}

/** A call of a builder for each part of a body, by the names that a language has for them. */
function parts(body, say) {
  const calls = [];
  if (body.filter) calls.push(say.filter(body.filter, body.prefilter));
  if (body.columns) calls.push(`select(${quote(body.columns.column_names)})`);
  if (body.distance_type) calls.push(say.metric(body.distance_type));
  if (body.nprobes) calls.push(`nprobes(${body.nprobes})`);
  if (body.refine_factor) calls.push(say.refine(body.refine_factor));
  calls.push(`limit(${body.k})`);
  if (body.offset) calls.push(`offset(${body.offset})`);
  return calls;
}

function python(address, names, body) {
  const text = body.full_text_query?.string_query, vector = body.vector?.single_vector;
  const words = { filter: (sql, pre) => `where(${quote(sql)}${pre ? ", prefilter=True" : ""})`, metric: (m) => `distance_type(${quote(m)})`, refine: (n) => `refine_factor(${n})` };
  const columns = text?.columns ? `, fts_columns=${quote(text.columns[0])}` : "";
  let search = "search()";
  if (text && vector) search = `search(query_type="hybrid", vector_column_name=${quote(body.vector_column)}${columns}).vector(${quote(vector)}).text(${quote(text.query)})`;
  else if (text) search = `search(${quote(text.query)}, query_type="fts"${columns})`;
  else if (vector) search = `search(${quote(vector)}, vector_column_name=${quote(body.vector_column)})`;
  const opened = names.length > 1 ? `${quote(names.at(-1))}, namespace_path=${quote(names.slice(0, -1))}` : quote(names[0]);
  return `import os\nimport lancedb\n\n` +
    `db = lancedb.connect("db://local", api_key=os.environ["TOKEN"], host_override=${quote(address)})\n` +
    `table = db.open_table(${opened})\n` +
    `rows = (\n    table.${search}\n${parts(body, words).map((call) => `    .${call}\n`).join("")}    .to_pandas()\n)\nprint(rows)`;
}

function node(address, names, body) {
  const text = body.full_text_query?.string_query, vector = body.vector?.single_vector;
  const words = { filter: (sql) => `where(${quote(sql)})`, metric: (m) => `distanceType(${quote(m)})`, refine: (n) => `refineFactor(${n})` };
  let search = "query()";
  if (vector) search = `query().nearestTo(${quote(vector)}).column(${quote(body.vector_column)})`;
  if (text) search += `.fullTextSearch(${quote(text.query)}${text.columns ? `, { columns: ${quote(text.columns)} }` : ""})`;
  const opened = names.length > 1 ? `${quote(names.at(-1))}, ${quote(names.slice(0, -1))}` : quote(names[0]);
  return `import * as lancedb from "@lancedb/lancedb";\n\n` +
    `const db = await lancedb.connect("db://local", { apiKey: process.env.TOKEN, hostOverride: ${quote(address)} });\n` +
    `const table = await db.openTable(${opened});\n` +
    `const rows = await table.${search}\n${parts(body, words).map((call) => `  .${call}\n`).join("")}  .toArray();\nconsole.log(rows);`;
}
