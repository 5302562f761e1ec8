// Who is signed in. The token is kept in the tab's session storage, so it survives a reload, holds on the page of the API
// too, and ends with the tab. Without use it ends earlier, and signing out reaches the other tabs.

const kept = "tiltyard.session", idleKept = "tiltyard.idle";
const base = new URL("../", document.baseURI);
const channel = "BroadcastChannel" in window ? new BroadcastChannel("tiltyard") : null;
const listeners = new Set();

/** The minutes without use after which a session may end; 0 is never. */
export const idleChoices = [15, 30, 120, 480];
export const idleMinutes = () => Number(localStorage.getItem(idleKept)) || 30;
export const setIdleMinutes = (minutes) => localStorage.setItem(idleKept, String(minutes));

/** After how many minutes without use the session ends; that of a link ends on the server at the latest then. */
const minutes = (of) => Math.min(idleMinutes(), of.life ? of.life / 60 : Infinity);

let state = read();
let used = Date.now();

function read() {
  try {
    const found = JSON.parse(sessionStorage.getItem(kept)) || {};
    const ended = found.used + minutes(found) * 60_000 < Date.now();
    return ended ? { token: "", why: "You were signed out, because the page was not used or the session has expired." } : { token: "", ...found };
  } catch {
    return { token: "" };
  }
}

function set(next) {
  state = next;
  if (next.token) sessionStorage.setItem(kept, JSON.stringify({ ...next, used }));
  else sessionStorage.removeItem(kept);
  for (const listener of listeners) listener();
}

/** Calls a function whenever somebody signs in or out. Returns how to stop that. */
export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const token = () => state.token;
export const signedIn = () => state.token !== "";
/** Whether the server has accepted the token before. */
export const proven = () => state.proven === true;
/** Whether a link began the session, so that its token ends with it. */
export const byLink = () => state.fromCode === true;
/** Why the form is shown, if something ended a session. */
export const why = () => state.why || "";

/** Begins a session with a token that the user typed, or with one that a link brought. */
export function signIn(text, more = {}) {
  used = Date.now();
  set({ token: text, ...more });
}

/** Ends the session in this tab, and with everywhere also in the others and on the server. */
export function signOut(reason = "", everywhere = true) {
  if (!state.token) return;
  if (everywhere) {
    channel?.postMessage("signed out");
    if (state.fromCode) {
      fetch(new URL("console/session", base), { method: "DELETE", headers: { authorization: `Bearer ${state.token}` }, keepalive: true, credentials: "omit" }).catch(() => {});
    }
  }
  set({ token: "", why: reason });
}

/** Exchanges the code of a link for a token. Returns an error text, or nothing. */
export async function exchange(code) {
  let answer;
  try {
    answer = await fetch(new URL("console/session", base), {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code }), cache: "no-store", credentials: "omit",
    });
  } catch {
    return "The server cannot be reached.";
  }
  if ([404, 405, 501].includes(answer.status)) return "This server does not sign in by links. Enter a token or an API key.";
  if (!answer.ok) return "The link has been used or has expired. Take the newest link that the server printed, or enter a token.";
  const found = await answer.json();
  signIn(found.token, { life: found.expires_in, fromCode: true, proven: true });
  return "";
}

/** Notes that the page is used. */
export function touch() {
  const now = Date.now();
  if (now - used < 5_000) return;
  used = now;
  if (state.token) sessionStorage.setItem(kept, JSON.stringify({ ...state, used }));
}

channel?.addEventListener("message", () => signOut("You signed out in another tab.", false));
for (const kind of ["pointerdown", "keydown", "wheel"]) addEventListener(kind, touch, { passive: true, capture: true });
setInterval(() => {
  if (!state.token) return;
  if (Date.now() - used > minutes(state) * 60_000) signOut(`You were signed out after ${minutes(state)} minutes without use.`, false);
}, 5_000);
