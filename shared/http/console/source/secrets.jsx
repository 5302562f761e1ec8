// The secrets of functions. Their values are written here and never read: no request returns one.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { everywhere } from "./catalog.js";
import { each } from "./each.js";
import { ago } from "./format.js";
import { Choice, Dialog, Field, Loaded, Moment, Problem, Table, say, useAsync } from "./ui.jsx";

const nameOf = (namespace, name) => [...namespace, name].join(" / ");

/** Root are the names of the namespace that the page is about; none are the whole catalog. */
export function Secrets({ root }) {
  const [round, setRound] = useState(0);
  const [asked, ask] = useState(null); // the secret that is replaced or removed, and which of both
  const state = useAsync(async () => {
    const [{ list, spaces, more }, may] = await Promise.all([everywhere(root, "secret", "secrets"), api.allowed(root, "Namespace")]);
    const described = await each(list, async ({ namespace, one }) => ({ namespace, name: one.name, ...await api.call(api.path("secret", [...namespace, one.name], "describe")).catch(() => ({})) }));
    return { described, spaces, more, may };
  }, [root.join("$"), round]);
  const done = (text) => { say(text); ask(null); setRound((n) => n + 1); };
  return <>
    <h1>Secrets</h1>
    <p>A secret is a value that functions receive and nobody can read: neither this page nor any client. A new value applies to jobs that begin after it.</p>
    <Loaded state={state}>{({ described, spaces, more, may }) => <>
      {may.writes && <Create spaces={spaces} then={done} />}
      {described.length === 0 ? <p class="empty">There are no secrets{root.length > 0 && <> in {root.join(" / ")}</>}.</p> :
        <Table caption="Secrets" hideCaption head={["Secret", "Created", "Value last replaced", ...(may.writes ? [""] : [])]} rows={described.map((one) => [
          <b>{nameOf(one.namespace, one.name)}</b>, one.created_at_millis ? <Moment millis={one.created_at_millis}>{ago(one.created_at_millis)}</Moment> : "",
          one.updated_at_millis > one.created_at_millis ? <Moment millis={one.updated_at_millis}>{ago(one.updated_at_millis)}</Moment> : <span class="quiet">never</span>,
          ...(may.writes ? [<span class="buttons">
            <button class="small" aria-label={`Replace the value of ${one.name}`} onClick={() => ask({ ...one, act: "alter" })}>Replace the value</button>
            <button class="small" aria-label={`Delete ${one.name}`} onClick={() => ask({ ...one, act: "drop" })}>Delete</button></span>] : []),
        ])} />}
      {more && <p class="quiet">The catalog has more namespaces than this page walks through. The address #/secrets/NAMESPACE shows one of them.</p>}
    </>}</Loaded>
    {asked && <Asked one={asked} onClose={() => ask(null)} then={done} />}
  </>;
}

/** The value as a field that hides it. It is gone from the page as soon as it is sent. */
const Value = () => <Field label="Value"><input name="value" type="password" required autocomplete="off" /></Field>;

/** The state of a form about a secret, with what went wrong, and a function that sends it. */
function useSend() {
  const [state, set] = useState({});
  const send = async (work) => {
    set({ busy: true });
    try {
      await work();
      set({});
    } catch (error) {
      set({ error });
    }
  };
  return [state, send];
}

function Create({ spaces, then }) {
  const [state, send] = useSend();
  function create(event) {
    event.preventDefault();
    const form = event.currentTarget, { name, value, space } = form.elements;
    const names = [...spaces[space ? Number(space.value) : 0], name.value];
    send(async () => {
      await api.call(api.path("secret", names, "create"), { value: value.value });
      form.reset();
      then(`The secret ${names.join(" / ")} is created.`);
    });
  }
  return (
    <details class="card action">
      <summary>Create a secret</summary>
      <form onSubmit={create}>
        <div class="row">
          {spaces.length > 1 && <Field label="Namespace"><Choice name="space" options={spaces.map((one, i) => [String(i), one.join(" / ") || "none, at the root"])} /></Field>}
          <Field label="Name"><input name="name" required pattern="[A-Za-z0-9_.\-]+" title="letters, digits, _ . and -" autocomplete="off" /></Field><Value />
          <button class="main" disabled={state.busy}>Create</button>
        </div>
        {state.error && <Problem error={state.error} />}
      </form>
    </details>
  );
}

/** Asks for the new value of a secret, or whether it shall be deleted. */
function Asked({ one, onClose, then }) {
  const [state, send] = useSend();
  const name = nameOf(one.namespace, one.name), drop = one.act === "drop";
  function act(event) {
    event.preventDefault();
    const body = drop ? {} : { value: event.currentTarget.elements.value.value };
    send(async () => {
      await api.call(api.path("secret", [...one.namespace, one.name], one.act), body);
      then(drop ? `The secret ${name} is deleted.` : `The secret ${name} has a new value.`);
    });
  }
  return (
    <Dialog title={drop ? `Delete the secret ${name}` : `Replace the value of ${name}`} onClose={onClose}>
      <form onSubmit={act}>
        {drop ? <p>Functions that are bound to it fail until a secret of this name exists again.</p> : <Value />}
        {state.error && <Problem error={state.error} />}
        <button class="main" disabled={state.busy}>{drop ? "Delete" : "Replace"}</button>
      </form>
    </Dialog>
  );
}
