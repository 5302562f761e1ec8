// The tables that were dropped and can still be restored.

import { useState } from "preact/hooks";
import * as api from "./api.js";
import { ago } from "./format.js";
import { Moment, Table, say, useAsync } from "./ui.jsx";

const most = 50;

/** Shows nothing where nothing was dropped, or the caller may not see it. */
export function Dropped({ listChanged }) {
  const [round, setRound] = useState(0);
  const state = useAsync(async () => {
    const [list, may] = await Promise.all([api.call(api.path("namespace", [], "dropped/list"), { limit: most }), api.allowed([])]);
    return may("UndropNamespace") ? list.dropped.filter((one) => one.kind === "table" && !one.with_drop_id) : [];
  }, [round]);
  if (!state.value || state.value.length === 0) return null;
  const undrop = (one) => api.call(api.ofTable(one.id, "undrop"), { drop_id: one.drop_id }).then(() => {
    say(`${one.id.join(" / ")} is restored.`);
    listChanged();
    setRound((n) => n + 1);
  }, (error) => say(error.message, true));
  return <Table caption="Dropped tables" head={["Table", "Dropped", "By", "Can be restored until", ""]} rows={state.value.map((one) => [
    one.id.join(" / "), <Moment millis={one.dropped_at_millis}>{ago(one.dropped_at_millis)}</Moment>, one.dropped_by || "", one.restorable_until_millis ? <Moment millis={one.restorable_until_millis} /> : "",
    <button class="small" onClick={() => undrop(one)}>Restore</button>,
  ])} />;
}
