// The groups of rows in the plot of vectors. Each has a colour and a sign, so that no one needs to see colours.

const groups = 8; // that have a sign of their own; the rest share one

/** The signs, as shapes around a place. The plot draws the same ones as pixels. */
export const signs = [
  (x, y) => <circle cx={x} cy={y} r={3.2} />, (x, y) => <rect x={x - 3} y={y - 3} width={6} height={6} />,
  (x, y) => <path d={`M${x} ${y - 4}l4 7h-8z`} />, (x, y) => <path d={`M${x} ${y - 4}l4 4-4 4-4-4z`} />,
  (x, y) => <path d={`M${x - 4} ${y}h8M${x} ${y - 4}v8`} class="line" />, (x, y) => <path d={`M${x - 3} ${y - 3}l6 6m0-6l-6 6`} class="line" />,
  (x, y) => <path d={`M${x} ${y + 4}l4-7h-8z`} />, (x, y) => <circle cx={x} cy={y} r={3} class="line" />,
];

/** Whether a pixel at a distance from the middle belongs to a sign of a radius. */
export const inSign = [
  (x, y, r) => x * x + y * y <= r * r + 0.5, (x, y, r) => Math.max(Math.abs(x), Math.abs(y)) <= r * 0.85,
  (x, y, r) => y <= r && Math.abs(x) * 2 <= y + r, (x, y, r) => Math.abs(x) + Math.abs(y) <= r,
  (x, y, r) => Math.min(Math.abs(x), Math.abs(y)) <= r / 4, (x, y, r) => Math.abs(Math.abs(x) - Math.abs(y)) <= r / 3,
  (x, y, r) => y >= -r && Math.abs(x) * 2 <= r - y, (x, y, r) => Math.abs(Math.hypot(x, y) - r * 0.8) <= Math.max(0.6, r / 4),
];

/** Divides values into groups: numbers of many values by their size, others by what they are. Returns { names, of, counts }. */
export function grouping(values, n) {
  const of = new Uint8Array(n);
  if (values.length === 0) return { names: [""], of, counts: [n] };
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
  if (counts.size > groups && values.every((v) => v !== "" && Number.isFinite(Number(v)))) {
    const sorted = values.map(Number).sort((a, b) => a - b);
    const bounds = Array.from({ length: 5 }, (_, i) => sorted[Math.floor(i * (sorted.length - 1) / 4)]);
    values.forEach((value, i) => { of[i] = Math.max(0, Math.min(3, bounds.findLastIndex((low) => Number(value) >= low))); });
    return counted([0, 1, 2, 3].map((i) => `${Number(bounds[i].toPrecision(6))} to ${Number(bounds[i + 1].toPrecision(6))}`), of);
  }
  const kept = [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const names = kept.length > groups ? [...kept.slice(0, groups - 1), "others"] : kept, place = new Map(kept.slice(0, names.length).map((name, i) => [name, i]));
  values.forEach((value, i) => { of[i] = place.get(value) ?? names.length - 1; });
  return counted(names, of);
}

function counted(names, of) {
  const counts = new Array(names.length).fill(0);
  for (const group of of) counts[group]++;
  return { names, of, counts };
}
