// The operations of the service. The token lives here, and ends with the page.

let token = "";

/** Sets the token of all requests; an empty one signs out. */
export function signIn(text) { token = text; }

/** Whether somebody is signed in. */
export const signedIn = () => token !== "";

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

/** Asks what a table is, with its schema. */
export const describe = (names, more = {}) =>
  call(path("table", names, "describe"), { load_detailed_metadata: true, vend_credentials: false, check_declared: true, ...more });

/** Yields the tables that meet conditions, page by page; a page may have none. */
export const found = (conditions) => pages("v1/table/find", { limit: 100, ...conditions });

async function send(where, body, accept) {
  let answer;
  try {
    answer = await fetch(new URL(where, base), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", accept },
      body: JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      referrerPolicy: "no-referrer",
    });
  } catch {
    throw new Refusal(0, { error: "The server cannot be reached." });
  }
  if (answer.ok) return answer;
  throw new Refusal(answer.status, await answer.json().catch(() => ({})));
}

/** Calls an operation that answers with JSON. */
export async function call(where, body = {}) {
  const answer = await send(where, body, "application/json");
  const text = await answer.text();
  return text === "" ? {} : JSON.parse(text);
}

/** Calls an operation that answers with rows, and returns them as a table of Arrow. */
export async function rows(where, body) {
  const answer = await send(where, body, "application/vnd.apache.arrow.stream");
  return window.Arrow.tableFromIPC(new Uint8Array(await answer.arrayBuffer()));
}

/** Yields the pages of a list until it ends. */
export async function* pages(where, body = {}) {
  let page = await call(where, body);
  for (;;) {
    yield page;
    if (!page.page_token) return;
    page = await call(where, { ...body, page_token: page.page_token });
  }
}

/** The versions of the server, which need no token. */
export async function version() {
  const answer = await fetch(new URL("version", base));
  return answer.ok ? answer.json() : {};
}
