// The form that makes an old version of a table the latest again.

import { useEffect, useState } from "preact/hooks";
import { Action } from "./action.jsx";
import { Field } from "./ui.jsx";

/** Version is the proposed one; opened counts the requests to open the form. Then gets the text of the success. */
export function Restore({ names, latest, version: proposed, opened = 0, then }) {
  const [version, setVersion] = useState(proposed);
  useEffect(() => setVersion(proposed), [proposed, opened]);
  return (
    <Action names={names} title="Restore a version" button="Restore" opened={opened} then={() => then(`Version ${version} is restored, as a new version.`)} change={{
      operation: "restore", body: { version }, python: `table.restore(${version})`,
    }}><Field label="Version"><input type="number" name="version" min={1} max={latest} required value={version} onInput={(event) => setVersion(Number(event.currentTarget.value))} /></Field></Action>
  );
}
