// A worker that lays vectors out in the plane: along their principal components, or by their neighbours (UMAP). It gets
// { matrix, n, size } first, then the name of a layout, and answers with { kind, places } and with { kind, progress }.

import { UMAP } from "umap-js";

const components = 32; // by which neighbours are found
const landmarks = 4000; // vectors that UMAP lays out; others are placed between the nearest of them
const rounds = 12, learned = 4000; // of the iteration that finds the components, and vectors that it looks at

let given = null, reduced = null;

addEventListener("message", ({ data }) => {
  if (data.matrix) {
    given = data;
    reduced = null;
    return;
  }
  reduced ||= reduce(given);
  const tell = (progress) => postMessage({ kind: data.kind, progress });
  const places = data.kind === "umap" ? byNeighbours(reduced, given.n, tell) : firstTwo(reduced, given.n);
  postMessage({ kind: data.kind, places }, [places.buffer]);
});

/** Random numbers that are the same each time, so that a layout is. */
function seeded(seed) {
  return () => {
    seed = seed + 0x6d2b79f5 | 0;
    let t = Math.imul(seed ^ seed >>> 15, 1 | seed);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
  };
}

/** The vectors in their first principal components, found by orthogonal iteration over some of them: { width, rows }. */
function reduce({ matrix, n, size }) {
  const width = Math.min(components, size), step = Math.max(1, Math.ceil(n / learned)), random = seeded(1);
  const mean = new Float64Array(size);
  let seen = 0;
  for (let i = 0; i < n; i += step, seen++) for (let d = 0; d < size; d++) mean[d] += matrix[i * size + d];
  for (let d = 0; d < size; d++) mean[d] /= Math.max(1, seen);
  let basis = Array.from({ length: width }, () => Float64Array.from({ length: size }, () => random() - 0.5));
  orthonormal(basis);
  for (let round = 0; round < rounds; round++) {
    const next = basis.map(() => new Float64Array(size));
    for (let i = 0; i < n; i += step) {
      for (let c = 0; c < width; c++) {
        const along = dot(matrix, i * size, mean, basis[c]), into = next[c];
        for (let d = 0; d < size; d++) into[d] += along * (matrix[i * size + d] - mean[d]);
      }
    }
    orthonormal(next);
    basis = next;
  }
  const rows = new Float32Array(n * width);
  for (let i = 0; i < n; i++) for (let c = 0; c < width; c++) rows[i * width + c] = dot(matrix, i * size, mean, basis[c]);
  return { width, rows };
}

function dot(matrix, from, mean, vector) {
  let sum = 0;
  for (let d = 0; d < vector.length; d++) sum += (matrix[from + d] - mean[d]) * vector[d];
  return sum;
}

/** Makes vectors of length one at right angles to those before them. One that has nothing left becomes zero. */
function orthonormal(vectors) {
  vectors.forEach((vector, c) => {
    for (let other = 0; other < c; other++) {
      let along = 0;
      for (let d = 0; d < vector.length; d++) along += vector[d] * vectors[other][d];
      for (let d = 0; d < vector.length; d++) vector[d] -= along * vectors[other][d];
    }
    const length = Math.hypot(...vector);
    for (let d = 0; d < vector.length; d++) vector[d] = length > 1e-12 ? vector[d] / length : 0;
  });
}

function firstTwo({ width, rows }, n) {
  const places = new Float32Array(n * 2);
  for (let i = 0; i < n; i++) {
    places[i * 2] = rows[i * width];
    places[i * 2 + 1] = width > 1 ? rows[i * width + 1] : 0;
  }
  return places;
}

/** UMAP over all vectors, or over evenly spread ones between which the others are placed. */
function byNeighbours({ width, rows }, n, tell) {
  const step = Math.max(1, Math.ceil(n / landmarks)), chosen = [];
  for (let i = 0; i < n; i += step) chosen.push(i);
  const whole = step === 1, share = whole ? 1 : 0.5; // of the work that the fit is
  if (chosen.length < 4) return firstTwo({ width, rows }, n);
  const umap = new UMAP({ nNeighbors: Math.min(15, chosen.length - 1), minDist: 0.3, random: seeded(2) });
  const epochs = umap.initializeFit(chosen.map((i) => Array.from(rows.subarray(i * width, (i + 1) * width))));
  for (let epoch = 0; epoch < epochs; epoch++) {
    umap.step();
    if (epoch % 10 === 0) tell(share * epoch / epochs);
  }
  const laid = umap.getEmbedding(), places = new Float32Array(n * 2);
  chosen.forEach((i, c) => places.set(laid[c], i * 2));
  for (let i = 0; i < n && !whole; i++) {
    if (i % step !== 0) between(rows, width, i, chosen, laid, places);
    if (i % 2000 === 0) tell(share + (1 - share) * i / n);
  }
  return places;
}

/** Places a vector between the three nearest ones that are laid out, nearer to the nearer. */
function between(rows, width, i, chosen, laid, places) {
  const near = [-1, -1, -1], far = [Infinity, Infinity, Infinity], from = i * width;
  for (let c = 0; c < chosen.length; c++) {
    const other = chosen[c] * width;
    let sum = 0;
    for (let d = 0; d < width && sum < far[2]; d++) {
      const difference = rows[from + d] - rows[other + d];
      sum += difference * difference;
    }
    if (sum >= far[2]) continue;
    let at = 2;
    for (; at > 0 && far[at - 1] > sum; at--) {
      far[at] = far[at - 1];
      near[at] = near[at - 1];
    }
    far[at] = sum;
    near[at] = c;
  }
  let x = 0, y = 0, weights = 0;
  near.forEach((c, k) => {
    const weight = 1 / (far[k] + 1e-9);
    x += weight * laid[c][0];
    y += weight * laid[c][1];
    weights += weight;
  });
  places[i * 2] = x / weights;
  places[i * 2 + 1] = y / weights;
}
