// The form that sends a request, and what came back.

import { choice, copy, field, h, problem, show } from "./dom.js";
import { answerOf } from "./answer.js";
import { base, resolve } from "./document.js";
import { streamOf } from "./rows.js";
import { send, signedIn } from "./session.js";

const arrowStream = "application/vnd.apache.arrow.stream";
const lastIds = new Map(); // by kind, so that the next operation begins with the object of the last one

/** The form of an operation. */
export function tryIt(operation, askToken) {
  const form = h("form", { class: "card try", "aria-label": `Try ${operation.name}` });
  const outcome = h("div", { class: "outcome", "aria-live": "polite" });
  const method = operation.methods.size > 1 ? choice([...operation.methods.keys()], operation.method, { name: "method" }) : null;
  const parameters = operation.parameters.map((one) => ({ ...resolve(one).value, kind: resolve(one).name }));
  const usual = parameters.filter((one) => one.in !== "header" && one.name !== "delimiter");
  const rare = parameters.filter((one) => !usual.includes(one));
  const body = operation.methods.get("POST")?.requestBody;
  const input = body ? bodyInput(body) : null;
  const read = () => request(operation, method?.value ?? operation.method, parameters, form, input);

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!signedIn()) return askToken(outcome);
    const sending = form.querySelector("button.main");
    sending.disabled = true;
    show(outcome, h("p", { class: "quiet" }, "Waiting …"));
    try {
      show(outcome, answerOf(await send(await read())));
    } catch (error) {
      show(outcome, problem(error));
    }
    sending.disabled = false;
  });

  async function copyAsCurl() {
    try {
      copy(curl(await read()));
    } catch (error) {
      show(outcome, problem(error));
    }
  }

  return show(form, h("h2", {}, "Try it"),
    h("div", { class: "row" }, method ? field("method", method) : null, usual.map(parameterInput)),
    h("details", {}, h("summary", {}, "Delimiter and headers"), h("div", { class: "row" }, rare.map(parameterInput))),
    input?.element,
    h("div", { class: "row" },
      h("button", { class: "main" }, "Send"), h("button", { type: "button", onclick: copyAsCurl }, "Copy as curl"),
      operation["x-access"] === "write" ? h("span", { class: "quiet" }, "This operation changes what is stored.") : null),
    outcome);
}

/** An input for a parameter. What is left empty is not sent. */
function parameterInput(parameter) {
  const schema = resolve(parameter.schema ?? {}).value;
  const properties = { name: `${parameter.in}:${parameter.name}`, required: parameter.required, autocomplete: "off", spellcheck: "false" };
  const label = parameter.name + (parameter.required ? " *" : "");
  if (schema.type === "boolean" || schema.enum) return field(label, choice([["", "–"], ...(schema.enum ?? ["true", "false"])], "", properties));
  if (schema.type === "array") return field(label, h("textarea", { ...properties, rows: 2 }), "one a line");
  return field(label, h("input", {
    ...properties, type: "text", inputmode: schema.type === "integer" ? "numeric" : null,
    value: parameter.name === "id" ? lastIds.get(parameter.kind) ?? "" : "",
    oninput: ({ target }) => { if (parameter.name === "id") lastIds.set(parameter.kind, target.value); },
  }), hint(parameter, schema));
}

function hint({ content, example }, schema) {
  if (content) return "a JSON object";
  if (example) return `such as ${example}`;
  return schema.default ? `default ${schema.default}` : null;
}

/** The inputs of a body: JSON with examples, or rows, or a file. read returns the content type and the body. */
function bodyInput({ content, required }) {
  const json = content["application/json"];
  return json ? jsonInput(json, required) : rowsInput();
}

function jsonInput({ examples = {} }, required) {
  const text = h("textarea", { name: "body", rows: 8, class: "code", spellcheck: "false" });
  const names = Object.keys(examples);
  const write = (name) => { text.value = JSON.stringify(examples[name]?.value ?? {}, null, 2); };
  const chosen = names.length > 1 ? choice(names.map((name) => [name, examples[name].summary]), names[0], { onchange: () => write(chosen.value) }) : null;
  write(names[0]);
  return {
    element: h("div", { class: "body" }, chosen ? field("example", chosen) : null, field(`body, JSON${required ? " *" : ""}`, text)),
    read() {
      if (text.value.trim() === "") return {};
      try {
        JSON.parse(text.value);
      } catch (error) {
        throw new Error(`The body is not JSON: ${error.message}`);
      }
      return { type: "application/json", body: text.value };
    },
  };
}

function rowsInput() {
  const text = h("textarea", { name: "rows", rows: 5, class: "code", spellcheck: "false" });
  const file = h("input", { type: "file", name: "file" });
  text.value = '[{"id": 1, "name": "one", "vector": [0.1, 0.2]},\n {"id": 2, "name": "two", "vector": [0.3, 0.4]}]';
  return {
    element: h("div", { class: "body" },
      field("rows, a JSON list of objects", text, "The page sends them as an Arrow stream. Lists of numbers of one length become vectors."),
      field("or a file with an Arrow IPC stream", file)),
    async read() {
      const [given] = file.files;
      if (given) return { type: arrowStream, body: new Uint8Array(await given.arrayBuffer()), file: given.name };
      return { type: arrowStream, body: streamOf(text.value), file: "rows.arrows" };
    },
  };
}

/** The request that a form says. */
async function request(operation, method, parameters, form, input) {
  const query = new URLSearchParams();
  const headers = {};
  let path = operation.path;
  for (const parameter of parameters) {
    const { value } = form.elements[`${parameter.in}:${parameter.name}`];
    if (value === "") continue;
    const isList = resolve(parameter.schema ?? {}).value.type === "array";
    if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (parameter.in === "header") headers[parameter.name] = value;
    else for (const one of isList ? value.split("\n").filter(Boolean) : [value]) query.append(parameter.name, one);
  }
  const types = Object.keys(operation.responses["200"]?.content ?? {});
  headers.accept = types.includes(arrowStream) ? arrowStream : types[0] ?? "application/json";
  const { type, body, file } = method === "GET" || !input ? {} : await input.read();
  if (type) headers["content-type"] = type;
  const url = new URL(path.slice(1), base);
  url.search = query;
  return { url, method, headers, body, file };
}

/** The request for a shell. The token stays out of it. */
function curl({ url, method, headers, body, file }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = [`curl -X ${method} ${quoted(url.href)}`, '-H "Authorization: Bearer $TOKEN"'];
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (file) lines.push(`--data-binary ${quoted(`@${file}`)}`);
  else if (body) lines.push(`-d ${quoted(body)}`);
  return lines.join(" \\\n  ");
}
