// Numbers, sizes and moments as people read them.

const units = ["B", "KiB", "MiB", "GiB", "TiB"];

/** A number of bytes. */
export function bytes(count) {
  let unit = 0;
  for (; count >= 1024 && unit < units.length - 1; unit++) count /= 1024;
  return `${unit === 0 ? count : count.toFixed(1)} ${units[unit]}`;
}

/** A number with separators. */
export const number = (count) => Number(count).toLocaleString("en");

/** A number and what it counts. */
export const count = (n, one, more = `${one}s`) => `${number(n)} ${n === 1 ? one : more}`;

/** A part of a whole in percent. */
export const percent = (part, whole) => whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "";

const steps = [[60, "second"], [3600, "minute", 60], [86_400, "hour", 3600], [2_592_000, "day", 86_400]];

/** How long ago a moment is. */
export function ago(millis) {
  const seconds = Math.max(0, Math.round((Date.now() - millis) / 1000));
  if (seconds < 5) return "just now";
  for (const [below, name, per = 1] of steps) {
    if (seconds < below) return `${count(Math.floor(seconds / per), name)} ago`;
  }
  return new Date(millis).toLocaleDateString();
}
