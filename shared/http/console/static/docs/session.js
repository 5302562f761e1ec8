// Who is signed in. The token lives here, and ends with the page.

let token = "";

/** Sets the token of all requests; an empty one signs out. */
export function signIn(text) { token = text; }

/** Whether there is a token. */
export const signedIn = () => token !== "";

/** Sends a request of these parts, and returns the answer and how many milliseconds it took. */
export async function send({ url, method, headers, body }) {
  const began = performance.now();
  try {
    const answer = await fetch(url, {
      method, body, cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer",
      headers: { ...headers, authorization: `Bearer ${token}` },
    });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    return { answer, bytes, millis: performance.now() - began };
  } catch {
    throw new Error("The server cannot be reached, or broke the answer off.");
  }
}
