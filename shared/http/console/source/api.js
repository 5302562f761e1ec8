// The operations of the service.

import { arrow } from "./arrow.js";
import * as session from "./session.js";

const base = new URL("../", document.baseURI);

/** The address of the service, for texts that people copy. */
export const address = base.href.replace(/\/$/, "");

/** A refusal, in the words of the service. */
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.error || problem.message || problem.title || `The server answered ${status}.`);
    this.status = status;
    this.detail = problem.detail && problem.detail !== this.message ? problem.detail : "";
    this.request = problem.request_id || "";
  }
}

/** The path of an operation on an object with these names, none of which contains the delimiter. */
export const path = (kind, names, operation) => `v1/${kind}/${encodeURIComponent(names.join("$") || "$")}/${operation}`;

/** The path of an operation on a table. */
export const ofTable = (names, operation) => path("table", names, operation);

/** Asks what a table is, with its schema. */
export const describe = (names, more = {}) =>
  call(ofTable(names, "describe"), { load_detailed_metadata: true, vend_credentials: false, check_declared: true, ...more });

/** Yields the tables that meet conditions, page by page; a page may have none. */
export const found = (conditions) => pages("v1/table/find", { limit: 100, ...conditions });

/** Sends a request and returns the response; throws a Refusal unless it is a success. */
export async function send(where, body, { accept = "application/json", type = "application/json", method = "POST", signal } = {}) {
  let answer;
  try {
    answer = await fetch(new URL(where, base), {
      method, signal, cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer",
      headers: { authorization: `Bearer ${session.token()}`, ...(body === undefined ? {} : { "content-type": type }), accept },
      body: body === undefined || type !== "application/json" ? body : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, { error: "The server cannot be reached." });
  }
  if (answer.ok) return answer;
  if (answer.status === 401 && session.signedIn() && session.proven()) session.signOut("The server no longer accepts the token. Sign in again.", false);
  throw new Refusal(answer.status, await answer.json().catch(() => ({})));
}

/** Calls an operation that answers with JSON. */
export async function call(where, body = {}, options) {
  const text = await (await send(where, body, options)).text();
  return text === "" ? {} : JSON.parse(text);
}

export const stream = "application/vnd.apache.arrow.stream";

/** Calls an operation that answers with rows, and returns them as a table of Arrow. */
export async function rows(where, body, signal) {
  const [answer, { tableFromIPC }] = await Promise.all([send(where, body, { accept: stream, signal }), arrow()]);
  return tableFromIPC(new Uint8Array(await answer.arrayBuffer()));
}

/** Sends rows, as a stream of Arrow. */
export const upload = (where, bytes) => call(where, bytes, { type: stream });

/** Yields the pages of a list until it ends. */
export async function* pages(where, body = {}) {
  let page = await call(where, body);
  for (;;) {
    yield page;
    if (!page.page_token) return;
    page = await call(where, { ...body, page_token: page.page_token });
  }
}

/** The tables of the whole catalog, up to a number of them, as lists of names. */
export async function tables(limit) {
  const { tables: list, page_token: more } = await call("v1/table", { limit });
  return { names: list.map((id) => id.split("$")), more: Boolean(more) };
}

/** The versions of the server, which need no token. */
export async function version() {
  const answer = await fetch(new URL("version", base));
  return answer.ok ? answer.json() : {};
}

/** Whether the server can load its sample. */
export async function sampleAvailable() {
  const answer = await send("console/sample", undefined, { method: "GET" }).catch(() => null);
  return answer ? (await answer.json().catch(() => ({}))).available === true : false;
}

const rights = new Map(); // promises by the kind and the names of the object

/**
 * Returns the operations that the caller may do on a table or a namespace, as a function of their names. If the service
 * does not explain them, all are offered. It explains no rights on functions, secrets and events; for these, writes is
 * whether the token may write at all. Where policies decide, writes is true, and the refusal of a policy is shown.
 */
export function allowed(names, kind = "Table") {
  const key = [kind, ...names].join("$");
  if (!rights.has(key)) {
    rights.set(key, call("v1/access/explain", { object_id: names, ...(names.length > 0 ? { kind } : {}) }).then(
      (answer) => {
        const able = new Set(answer.operations.filter((one) => one.allowed).map((one) => one.operation));
        const may = (operation) => able.has(operation);
        may.writes = answer.by_policies || answer.operations.some((one) => one.allowed && one.access === "write");
        return may;
      }, () => Object.assign(() => true, { writes: true })));
  }
  return rights.get(key);
}
session.subscribe(() => rights.clear());
