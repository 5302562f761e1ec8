// How much a hybrid search goes by meaning, and how much by words.

import { useEffect, useState } from "preact/hooks";
import { evenly } from "./search.js";

/** Value is the percentage of the words' weight; onChange takes another one when the slider is released. */
export function Balance({ value, onChange }) {
  const [now, setNow] = useState(value);
  useEffect(() => setNow(value), [value]);
  const text = now === evenly ? "meaning and words count alike" : `meaning ${100 - now} %, words ${now} %`;
  return (
    <label class="balance" title={`Weights of the ranks: ${text}`}>
      <span aria-hidden="true">meaning {100 - now}</span>
      <input type="range" name="balance" min={0} max={100} step={5} value={now} aria-label="Weights of meaning and words" aria-valuetext={text}
        onInput={(event) => setNow(Number(event.currentTarget.value))} onChange={(event) => onChange(Number(event.currentTarget.value))} />
      <span aria-hidden="true">{now} words</span>
    </label>
  );
}
