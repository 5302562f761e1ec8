// Who is signed in: the session of the console in this tab, which either page begins and ends.

import { base } from "./document.js";

const kept = "tiltyard.session", pause = 5_000;
const channel = "BroadcastChannel" in window ? new BroadcastChannel("tiltyard") : null;

/** The session, or an empty object. One that the console would end by now is over. */
function session() {
  try {
    const found = JSON.parse(sessionStorage.getItem(kept)) || {};
    const idle = Math.min((Number(localStorage.getItem("tiltyard.idle")) || 30) * 60, found.life || Infinity);
    return found.used + idle * 1000 < Date.now() ? {} : found;
  } catch {
    return {};
  }
}

/** Begins a session with a token. */
export const signIn = (token) => sessionStorage.setItem(kept, JSON.stringify({ token, used: Date.now() }));

/** Ends the session in this tab; unless the token was wrong, also in the others and on the server. */
export function signOut(wrong = false) {
  const { token, fromCode } = session();
  sessionStorage.removeItem(kept);
  if (wrong || !token) return;
  channel?.postMessage("signed out");
  if (fromCode) fetch(new URL("console/session", base), { method: "DELETE", headers: { authorization: `Bearer ${token}` }, keepalive: true, credentials: "omit" }).catch(() => {});
}

/** Whether there is a token. */
export const signedIn = () => Boolean(session().token);

/** Calls a function when another tab signs out. */
export const onSignOut = (listener) => channel?.addEventListener("message", () => { sessionStorage.removeItem(kept); listener(); });

/** Notes that the page is used. */
function touch() {
  const now = session();
  if (now.token && Date.now() - now.used > pause) sessionStorage.setItem(kept, JSON.stringify({ ...now, used: Date.now() }));
}
for (const kind of ["pointerdown", "keydown", "wheel"]) addEventListener(kind, touch, { passive: true, capture: true });

/** Sends a request of these parts, and returns the answer and how many milliseconds it took. */
export async function send({ url, method, headers, body }) {
  const began = performance.now();
  try {
    const answer = await fetch(url, {
      method, body, cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer",
      headers: { ...headers, authorization: `Bearer ${session().token || ""}` },
    });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    return { answer, bytes, millis: performance.now() - began };
  } catch {
    throw new Error("The server cannot be reached, or broke the answer off.");
  }
}
