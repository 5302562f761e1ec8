// The way in: a token or an API key, or the code of a link that the server printed.

import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import * as session from "./session.js";
import { Choice, Field, Problem } from "./ui.jsx";

/** The code in the address, which is taken out of it at once. */
function takeCode() {
  const code = /^#code=(.+)$/.exec(location.hash)?.[1];
  if (code) history.replaceState(null, "", `${location.pathname}${location.search}`);
  return code && decodeURIComponent(code);
}
const codeAtStart = takeCode();
let codeUsed = false;

export function SignIn() {
  const [state, set] = useState({ note: session.why(), busy: Boolean(codeAtStart) && !codeUsed });
  const input = useRef();
  useEffect(() => {
    if (!codeAtStart || codeUsed) return;
    codeUsed = true;
    session.exchange(codeAtStart).then((note) => note && set({ note, busy: false }));
  }, []);
  useEffect(() => { if (!state.busy) input.current?.focus(); }, [state.busy]);

  async function enter(event) {
    event.preventDefault();
    const token = input.current.value.trim();
    set({ busy: false, checking: true });
    const answer = await fetch(new URL(`../${api.path("namespace", [], "list")}`, document.baseURI), {
      method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: '{"limit":1}', credentials: "omit", cache: "no-store",
    }).catch(() => null);
    if (!answer) return set({ error: new Error("The server cannot be reached.") });
    // Whoever may not list the root is signed in all the same.
    if (answer.ok || answer.status === 403) return session.signIn(token, { proven: true });
    set({ error: new api.Refusal(answer.status, await answer.json().catch(() => ({}))) });
    return input.current?.select();
  }
  if (state.busy) return <p class="sign-in quiet" role="status">Signing in by the link …</p>;
  return (
    <form class="card sign-in" onSubmit={enter}>
      <h1>Sign in</h1>
      {state.note && <p class="note" role="status">{state.note}</p>}
      <Field label="Token or API key"><input ref={input} type="password" name="token" autocomplete="off" required aria-describedby="kept" /></Field>
      <p class="quiet" id="kept">It is kept in this tab, and forgotten when you sign out or close the tab.</p>
      <Field label="Sign out without use after"><Choice name="idle" options={session.idleChoices.map((m) => [String(m), m < 60 ? `${m} minutes` : `${m / 60} hours`])}
        value={String(session.idleMinutes())} onChange={(event) => { session.setIdleMinutes(Number(event.currentTarget.value)); set({ ...state }); }} /></Field>
      {state.error && <Problem error={state.error} />}
      <button class="main" disabled={state.checking}>Sign in</button>
    </form>
  );
}
