// Draws many points as pixels. A sign is a list of pixels around the middle, so a point costs a few writes, and 100,000
// points are drawn within a frame without a graphics card.

import { inSign } from "./groups.jsx";

/** The pixels of the signs of a radius, as offsets in a picture of a width. */
function stamps(radius, width) {
  const r = Math.ceil(radius);
  return inSign.map((inside) => {
    const offsets = [];
    for (let y = -r; y <= r; y++) for (let x = -r; x <= r; x++) if (inside(x, y, radius) && Math.max(Math.abs(x), Math.abs(y)) <= r) offsets.push(y * width + x);
    return Int32Array.from(offsets);
  });
}

/** A colour of the page as a pixel of ImageData, mixed into the ground by how opaque it is. */
export function pixel(color, ground, opacity = 1) {
  const part = (text, i) => parseInt(text.trim().slice(1 + 2 * i, 3 + 2 * i), 16);
  const [r, g, b] = [0, 1, 2].map((i) => Math.round(part(color, i) * opacity + part(ground, i) * (1 - opacity)));
  return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
}

/**
 * Draws places onto a canvas. View is { x, y, scale } in pixels of the canvas, of is the group of each point, and marked,
 * if there is a selection, has a 1 for each point in it; the others are faint.
 */
export function splat(canvas, kept, { places, of, marked, view, radius, colours, faint }) {
  const { width, height } = canvas, context = canvas.getContext("2d");
  if (!kept.image || kept.image.width !== width || kept.image.height !== height) {
    kept.image = context.createImageData(width, height);
    kept.pixels = new Uint32Array(kept.image.data.buffer);
  }
  if (kept.radius !== radius || kept.width !== width) Object.assign(kept, { radius, width, stamps: stamps(radius, width) });
  const { pixels } = kept, edge = Math.ceil(radius) + 1, n = of.length;
  pixels.fill(0);
  for (let pass = marked ? 0 : 1; pass < 2; pass++) {
    const ink = marked && pass === 0 ? faint : colours;
    for (let i = 0; i < n; i++) {
      if (marked && marked[i] !== pass) continue;
      const x = places[i * 2] * view.scale + view.x | 0, y = view.y - places[i * 2 + 1] * view.scale | 0;
      if (x < edge || y < edge || x >= width - edge || y >= height - edge) continue;
      const at = y * width + x, group = of[i], stamp = kept.stamps[group], color = ink[group];
      for (let k = 0; k < stamp.length; k++) pixels[at + stamp[k]] = color;
    }
  }
  context.putImageData(kept.image, 0, 0);
}
