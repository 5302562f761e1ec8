// Points in the plane that people move, enlarge, mark and open, by pointer or by keys.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { pixel, splat } from "./splat.js";

const near = 12, nearCentre = 60, margin = 24, pan = 48; // CSS pixels
const still = 4; // CSS pixels that a click may move
const faintness = 0.22;

/**
 * Mode is move, box or lasso. OnMark gets a 1 for each point that was enclosed, and whether they are added to those before;
 * onOpen gets the number of a point. Card draws a point. View receives { visible, reset } for buttons beside the plot.
 */
export function Plot({ label, places, groups, marked, mode, onMark, onOpen, onEscape, view: shared, Card }) {
  const frame = useRef(), canvas = useRef(), kept = useRef({}), view = useRef(null), pending = useRef(0), drag = useRef(null);
  const [size, setSize] = useState(null);
  const [about, setAbout] = useState(null); // the point that a card is shown of, and where
  const [trail, setTrail] = useState(null); // the outline that is being drawn
  const [centred, setCentred] = useState(false);
  const colours = useColours();
  const ratio = Math.min(2, devicePixelRatio || 1), n = groups.of.length;

  useLayoutEffect(() => {
    const measure = () => setSize({ width: frame.current.clientWidth, height: frame.current.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(frame.current);
    measure();
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (size) view.current = whole(places, size, ratio);
    setAbout(null);
  }, [places, size]);
  useLayoutEffect(draw, [places, size, groups, marked, colours]);
  // As a layout effect it also ends a frame of a plot that goes before it was painted, whose other effects never begin.
  useLayoutEffect(() => () => cancelAnimationFrame(pending.current), []);
  shared.current = { visible: () => enclosed((x, y) => x >= 0 && y >= 0 && x <= size.width && y <= size.height), reset };

  function draw() {
    if (!size || !view.current) return;
    cancelAnimationFrame(pending.current);
    pending.current = requestAnimationFrame(() => {
      const [width, height] = [Math.max(1, Math.round(size.width * ratio)), Math.max(1, Math.round(size.height * ratio))];
      if (canvas.current.width !== width || canvas.current.height !== height) Object.assign(canvas.current, { width, height });
      const base = n < 3000 ? 3.6 : n < 20_000 ? 2.4 : 1.3, radius = Math.round(2 * ratio * Math.min(4.5, base * (view.current.scale / view.current.first) ** 0.3)) / 2;
      splat(canvas.current, kept.current, { places, of: groups.of, marked, view: view.current, radius, ...colours });
    });
  }
  const screen = (i) => [(places[i * 2] * view.current.scale + view.current.x) / ratio, (view.current.y - places[i * 2 + 1] * view.current.scale) / ratio];
  const moveBy = (x, y) => { view.current = { ...view.current, x: view.current.x + x * ratio, y: view.current.y + y * ratio }; draw(); };
  function zoom(factor, x = size.width / 2, y = size.height / 2) {
    const now = view.current, scale = Math.max(now.first / 4, Math.min(now.first * 400, now.scale * factor)), by = scale / now.scale;
    view.current = { ...now, scale, x: x * ratio - (x * ratio - now.x) * by, y: y * ratio - (y * ratio - now.y) * by };
    draw();
  }
  function reset() { view.current = whole(places, size, ratio); setAbout(null); draw(); }
  /** The point that is nearest to a place of the screen. */
  function nearest(x, y, most) {
    const { scale, x: left, y: top } = view.current, [toX, toY] = [x * ratio, y * ratio];
    let found = -1, best = (most * ratio) ** 2;
    for (let i = 0; i < n; i++) {
      const dx = places[i * 2] * scale + left - toX, dy = top - places[i * 2 + 1] * scale - toY, distance = dx * dx + dy * dy;
      if (distance < best) [found, best] = [i, distance];
    }
    return found;
  }
  /** The points whose places on the screen are inside, as 1. */
  function enclosed(inside) {
    const { scale, x, y } = view.current, result = new Uint8Array(n);
    for (let i = 0; i < n; i++) if (inside((places[i * 2] * scale + x) / ratio, (y - places[i * 2 + 1] * scale) / ratio)) result[i] = 1;
    return result;
  }
  const tell = (i) => setAbout(i < 0 ? null : { i, at: screen(i) });
  const placeOf = (event) => { const box = frame.current.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };

  function down(event) {
    if (event.button !== 0) return;
    canvas.current.setPointerCapture(event.pointerId);
    drag.current = { from: placeOf(event), last: placeOf(event), path: [placeOf(event)], moved: false, marks: mode !== "move" || event.shiftKey, lasso: mode === "lasso" };
    setCentred(false);
  }
  function move(event) {
    const at = placeOf(event), now = drag.current;
    if (!now) return tell(nearest(...at, near));
    now.moved ||= Math.hypot(at[0] - now.from[0], at[1] - now.from[1]) > still;
    if (!now.moved) return undefined;
    setAbout(null);
    if (!now.marks) moveBy(at[0] - now.last[0], at[1] - now.last[1]);
    else {
      now.path.push(at);
      setTrail(now.lasso ? [...now.path] : corners(now.from, at));
    }
    now.last = at;
    return undefined;
  }
  function up(event) {
    const now = drag.current;
    drag.current = null;
    if (!now) return;
    if (!now.moved) {
      const i = nearest(...now.from, near);
      if (i >= 0) onOpen(i);
    } else if (now.marks) {
      const outline = now.lasso ? now.path : corners(now.from, now.last);
      onMark(enclosed((x, y) => within(outline, x, y)), event.ctrlKey || event.metaKey);
    }
    setTrail(null);
  }
  useEffect(() => {
    const wheel = (event) => {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * 0.0015), ...placeOf(event));
    };
    canvas.current.addEventListener("wheel", wheel, { passive: false });
    return () => canvas.current?.removeEventListener("wheel", wheel);
  });
  function keys(event) {
    const middle = () => nearest(size.width / 2, size.height / 2, nearCentre);
    switch (event.key) {
      case "ArrowLeft": moveBy(pan, 0); break;
      case "ArrowRight": moveBy(-pan, 0); break;
      case "ArrowUp": moveBy(0, pan); break;
      case "ArrowDown": moveBy(0, -pan); break;
      case "+": case "=": zoom(1.3); break;
      case "-": zoom(1 / 1.3); break;
      case "0": reset(); break;
      case "Enter": if (middle() >= 0) onOpen(middle()); break;
      case "Escape": onEscape(); break;
      default: return;
    }
    event.preventDefault();
    setCentred(true);
    tell(event.key === "Escape" ? -1 : middle());
  }
  return (
    <div class="plot-frame" ref={frame}>
      <canvas ref={canvas} class={`plot ${mode === "move" ? "" : "marking"}`} tabIndex={0} role="application" aria-label={label} aria-describedby="plot-keys"
        onPointerDown={down} onPointerMove={move} onPointerUp={up} onPointerCancel={() => { drag.current = null; setTrail(null); }} onPointerLeave={() => drag.current || setAbout(null)} onKeyDown={keys} onBlur={() => { setCentred(false); setAbout(null); }} />
      <svg class="plot-marks" aria-hidden="true">
        {trail && <polygon class="lasso" points={trail.map((p) => p.join(",")).join(" ")} />}
        {centred && size && <path class="centre" d={`M${size.width / 2 - 8} ${size.height / 2}h16M${size.width / 2} ${size.height / 2 - 8}v16`} />}
        {about && <circle class="near" cx={about.at[0]} cy={about.at[1]} r={7} />}
      </svg>
      {about && size && <div class="point-card" role="status" style={cardAt(about.at, size)}><Card i={about.i} /></div>}
    </div>
  );
}

const corners = ([a, b], [c, d]) => [[a, b], [c, b], [c, d], [a, d]];

/** Whether a place is inside an outline. */
function within(outline, x, y) {
  let inside = false;
  for (let i = 0, j = outline.length - 1; i < outline.length; j = i++) {
    const [ax, ay] = outline[i], [bx, by] = outline[j];
    if (ay > y !== by > y && x < (bx - ax) * (y - ay) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

/** The view that has all places in it. */
function whole(places, { width, height }, ratio) {
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < places.length; i += 2) {
    left = Math.min(left, places[i]);
    right = Math.max(right, places[i]);
    low = Math.min(low, places[i + 1]);
    high = Math.max(high, places[i + 1]);
  }
  const scale = ratio * Math.min((width - 2 * margin) / (right - left || 1), (height - 2 * margin) / (high - low || 1));
  return { scale, first: scale, x: ratio * width / 2 - scale * (left + right) / 2, y: ratio * height / 2 + scale * (low + high) / 2 };
}

/** Beside the point, on the side where there is room. */
function cardAt([x, y], { width, height }) {
  return { ...(x < width / 2 ? { left: `${x + 14}px` } : { right: `${width - x + 14}px` }), ...(y < height / 2 ? { top: `${Math.max(4, y - 8)}px` } : { bottom: `${Math.max(4, height - y - 8)}px` }) };
}

/** The colours of the groups as pixels, which follow light and dark. */
function useColours() {
  const read = () => {
    const style = getComputedStyle(document.documentElement), of = (name) => style.getPropertyValue(name).trim(), ground = of("--panel");
    const all = (opacity) => Uint32Array.from({ length: 8 }, (_, i) => pixel(of(`--g${i}`), ground, opacity));
    return { colours: all(1), faint: all(faintness) };
  };
  const [colours, set] = useState(read);
  useEffect(() => {
    const again = () => set(read()), scheme = matchMedia("(prefers-color-scheme: dark)"), observer = new MutationObserver(again);
    scheme.addEventListener("change", again);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => { scheme.removeEventListener("change", again); observer.disconnect(); };
  }, []);
  return colours;
}
