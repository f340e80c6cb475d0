"use strict";
// Charts as SVG, drawn when they come near the screen, in the colours of the theme. A plot has series in `data`
// (scatter, bar along x, heatmap) and axes in `layout`; only what the report's own charts need is understood.

const SVG = "http://www.w3.org/2000/svg";
const TEXT_PX = 6.6; // of a letter of 12 px, about
const LONGEST = 40; // letters of a name beside a map, by feel
const cut = (name, most) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

function shape(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return parent.appendChild(made);
}

/** Numbers at even steps of 1, 2 or 5 times a power of ten. */
function ticksBetween(low, high, most) {
  const rough = (high - low) / Math.max(most, 1) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough);
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n++) ticks.push(Number((n * step).toPrecision(10)));
  return ticks;
}

/** Round numbers on a logarithmic axis between powers of ten; even steps where these are too few. */
function logTicksBetween(low, high, most) {
  let ticks;
  for (const digits of [[1, 2, 5], [1, 3], [1]]) {
    ticks = [];
    for (let p = Math.floor(low); p <= high; p++) ticks.push(...digits.map((n) => Number((n * 10 ** p).toPrecision(3))));
    ticks = ticks.filter((t) => Math.log10(t) >= low && Math.log10(t) <= high);
    if (ticks.length > 2 && ticks.length <= most) return ticks;
  }
  return ticks.length > 2 ? ticks : ticksBetween(10 ** low, 10 ** high, most);
}

const said = (value) => String(value).replace("-", "−");

/** Values of a series along an axis, with the ends of its error bars. */
function extent(trace, key) {
  const bars = trace[`error_${key}`];
  return trace[key].flatMap((value, n) =>
    bars ? [value - bars.arrayminus[n], value + bars.array[n]] : [value],
  );
}

/** An axis: `at(value)` in pixels between two ends, and `ticks` with their names. */
function axisOf(given, key, data, from, to) {
  const length = Math.abs(to - from);
  const place = (share) => from + share * (to - from);
  if (given.type === "category") {
    const names = [...new Set(data.flatMap((trace) => trace[key]))];
    const turned = given.autorange === "reversed" ? (n) => names.length - 1 - n : (n) => n;
    const at = (name, shift = 0) => place((turned(names.indexOf(name)) + 0.5 + shift) / names.length);
    return { at, ticks: names.map((name) => [name, name]), step: length / names.length, isCategory: true };
  }
  const isLog = given.type === "log";
  const scale = isLog ? Math.log10 : (value) => value;
  const values = data.flatMap((trace) => extent(trace, key)).filter((value) => value !== null && (!isLog || value > 0));
  let [low, high] = given.range || [Math.min(...values), Math.max(...values)];
  [low, high] = [scale(low), scale(high)];
  if (!given.range && key === "x" && data.some((trace) => trace.type === "bar")) low = Math.min(low, 0);
  if (!given.range) {
    const margin = (high - low || (isLog ? 1 : Math.abs(high)) || 1) * 0.06;
    [low, high] = [low === 0 ? 0 : low - margin, high + margin];
    if (given.most !== undefined) high = Math.min(high, scale(given.most));
    if (given.least !== undefined) low = Math.max(low, scale(given.least));
  }
  const at = (value, shift = 0) => place((scale(value) - low) / (high - low)) + shift;
  let ticks = given.tickvals;
  if (!ticks && isLog) ticks = logTicksBetween(low, high, length / 46);
  ticks ||= ticksBetween(low, high, length / (key === "x" ? 60 : 34));
  const named = ticks.map((t, n) => [t, given.ticktext ? given.ticktext[n] : said(t.toLocaleString("en"))]);
  return { at, ticks: named, step: length };
}

/** Text for a mark: {x} {y} {z} {text} in the words of its series. */
function hoverOf(trace, n, values) {
  const found = { text: trace.text ? trace.text[n] : "", ...values };
  return (trace.hover || "").replace(/\{(\w+)\}/g, (_, key) => found[key] ?? "");
}

function drawChart(box) {
  const plot = JSON.parse(document.getElementById(box.id.replace("chart-", "plot-")).textContent);
  const { data, layout } = plot;
  const isMap = data[0]?.type === "heatmap";
  const width = Math.max(box.clientWidth, 200);
  const names = (axis, key) => (axis.type === "category" ? data.flatMap((t) => t[key]) : axis.ticktext || ["100,0"]);
  const longest = (list) => Math.min(Math.max(...list.map((name) => String(name).length), 1), LONGEST) * TEXT_PX;
  const legend = data.map((trace, n) => [trace.name, n]).filter(([name]) => name !== undefined && !isMap);
  const left = Math.min(longest(names(layout.yaxis, "y")) * (isMap ? 0.85 : 1), width * 0.4) + (layout.yaxis.title ? 30 : 14);
  const right = 16;
  const top = isMap ? longest(names(layout.xaxis, "x")) * 0.85 + (layout.xaxis.title ? 30 : 14) : 8;
  const bottom = isMap ? 30 : layout.xaxis.title ? 44 : 26;
  let height = Number(box.dataset.height);
  if (isMap) height = Math.min(width - left - right, 18 * data[0].y.length) + top + bottom; // squares
  const inner = { left, right: width - right, top, bottom: height - bottom };
  if (isMap) inner.right = Math.min(inner.right, left + (inner.bottom - top));

  box.replaceChildren();
  box.style.height = "auto";
  if (legend.length > 1) {
    const row = box.appendChild(document.createElement("div"));
    row.className = "legend";
    const shown = layout.legend?.traceorder === "reversed" ? legend.reverse() : legend;
    for (const [name, n] of shown) {
      const entry = row.appendChild(document.createElement("span"));
      entry.className = `series-${(n % 6) + 1}`;
      entry.textContent = name;
    }
  }
  const svg = shape(box, "svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  const x = axisOf(layout.xaxis, "x", data, inner.left, inner.right);
  // Categories are listed from below unless they are reversed, as numbers are.
  const y = axisOf(layout.yaxis, "y", data, inner.bottom, inner.top);
  drawAxes(svg, layout, { x, y }, inner, isMap, height);
  for (const line of layout.shapes || []) {
    const at = x.at(line.x0);
    shape(svg, "line", { x1: at, x2: at, y1: inner.top, y2: inner.bottom, class: "faint" });
  }
  for (const note of layout.annotations || []) {
    shape(svg, "text", { x: x.at(note.x), y: inner.bottom - 4, class: "tick" }, note.text);
  }
  data.forEach((trace, n) => {
    const group = shape(svg, "g", { class: trace.faint ? "faint" : `series-${(n % 6) + 1}` });
    if (isMap) drawMap(svg, trace, layout.coloraxis, { x, y }, inner, height);
    else if (trace.type === "bar") drawBars(group, trace, n, data.length, { x, y });
    else drawPoints(group, trace, { x, y });
  });
  box.dataset.width = box.clientWidth;
  box.dataset.drawn = Math.round(performance.now()); // milliseconds after the page was asked for
}

function drawAxes(svg, layout, { x, y }, inner, isMap, height) {
  const middle = { x: (inner.left + inner.right) / 2, y: (inner.top + inner.bottom) / 2 };
  for (const [value, name] of x.ticks) {
    const at = x.at(value);
    if (isMap) {
      shape(svg, "text", { transform: `translate(${at + 3} ${inner.top - 5}) rotate(-90)`, class: "tick" }, cut(name, LONGEST));
      continue;
    }
    shape(svg, "line", { x1: at, x2: at, y1: inner.top, y2: inner.bottom, class: "grid" });
    shape(svg, "text", { x: at, y: inner.bottom + 16, class: "tick", "text-anchor": "middle" }, name);
  }
  const most = Math.round((inner.left - 12) / TEXT_PX);
  for (const [value, name] of y.ticks) {
    const at = y.at(value);
    if (!y.isCategory) shape(svg, "line", { x1: inner.left, x2: inner.right, y1: at, y2: at, class: "grid" });
    const short = cut(name, isMap ? LONGEST : most);
    shape(svg, "text", { x: inner.left - 7, y: at + 4, class: "tick", "text-anchor": "end" }, short);
  }
  const below = isMap ? 12 : inner.bottom + 36;
  shape(svg, "text", { x: middle.x, y: below, class: "title", "text-anchor": "middle" }, layout.xaxis.title || "");
  const turned = `translate(12 ${middle.y}) rotate(-90)`;
  shape(svg, "text", { transform: turned, class: "title", "text-anchor": "middle" }, layout.yaxis.title || "");
}

function drawErrorBars(group, trace, n, at, { x, y }) {
  for (const [key, axis] of [["x", x], ["y", y]]) {
    const bars = trace[`error_${key}`];
    if (!bars) continue;
    const value = trace[key][n];
    const [low, high] = [axis.at(value - bars.arrayminus[n]), axis.at(value + bars.array[n])];
    const along = key === "x";
    const line = along ? { x1: low, x2: high, y1: at.y, y2: at.y } : { x1: at.x, x2: at.x, y1: low, y2: high };
    shape(group, "line", { ...line, class: "error" });
    for (const end of [low, high]) {
      const cap = along ? { x1: end, x2: end, y1: at.y - 3, y2: at.y + 3 } : { x1: at.x - 3, x2: at.x + 3, y1: end, y2: end };
      shape(group, "line", { ...cap, class: "error" });
    }
  }
}

function drawPoints(group, trace, axes) {
  const at = trace.x.map((value, n) => ({ x: axes.x.at(value), y: axes.y.at(trace.y[n]) }));
  if (trace.mode.includes("lines")) {
    shape(group, "polyline", { points: at.map((p) => `${p.x},${p.y}`).join(" "), class: "curve" });
  }
  at.forEach((p, n) => {
    drawErrorBars(group, trace, n, p, axes);
    if (!trace.mode.includes("markers")) return;
    const size = trace.marker?.size ?? 8;
    const r = (Array.isArray(size) ? size[n] : size) / 2;
    const text = hoverOf(trace, n, { x: said(trace.x[n]), y: said(trace.y[n]) });
    shape(group, "circle", { cx: p.x, cy: p.y, r, class: "mark", "data-text": text });
    if (!trace.label) return;
    const isLeft = p.x + 60 > group.ownerSVGElement.clientWidth;
    const beside = { x: p.x + (isLeft ? -r - 4 : r + 4), y: p.y + 4, "text-anchor": isLeft ? "end" : "start" };
    shape(group, "text", { ...beside, class: "label" }, trace.label[n]);
  });
}

function drawBars(group, trace, series, nSeries, axes) {
  const thick = (axes.y.step * 0.76) / nSeries;
  trace.x.forEach((value, n) => {
    const middle = axes.y.at(trace.y[n]) + ((nSeries - 1) / 2 - series) * thick;
    const [from, to] = [axes.x.at(0), axes.x.at(value)];
    const text = hoverOf(trace, n, { x: said(value), y: trace.y[n] });
    const box = { x: Math.min(from, to), y: middle - thick / 2, width: Math.max(Math.abs(to - from), 1), height: thick - 1 };
    shape(group, "rect", { ...box, class: "mark bar", "data-text": text });
    drawErrorBars(group, trace, n, { x: to, y: middle }, axes);
  });
}

function drawMap(svg, trace, { cmin, cmax }, { x, y }, inner, height) {
  const side = { width: Math.max(x.step - 1, 0.5), height: Math.max(y.step - 1, 0.5) };
  trace.z.forEach((row, i) =>
    row.forEach((value, j) => {
      if (value === null) return;
      const at = { x: x.at(trace.x[j]) - side.width / 2, y: y.at(trace.y[i]) - side.height / 2 };
      const text = hoverOf(trace, 0, { x: trace.x[j], y: trace.y[i], z: value });
      const fill = cssColor(heat((value - cmin) / (cmax - cmin)));
      shape(svg, "rect", { ...at, ...side, fill, "data-text": text });
    }),
  );
  for (let n = 0; n < 40; n++) {
    const at = { x: inner.left + 3 * n, y: height - 22, width: 3.2, height: 8 };
    shape(svg, "rect", { ...at, fill: cssColor(heat(n / 39)) });
  }
  shape(svg, "text", { x: inner.left, y: height - 2, class: "tick" }, said(cmin));
  shape(svg, "text", { x: inner.left + 120, y: height - 2, class: "tick", "text-anchor": "end" }, `${cmax} %`);
}

// Colours of maps: from nothing (the page itself) to much.
const HEAT = {
  light: [[255, 255, 255], [196, 216, 243], [104, 146, 214], [44, 76, 160], [18, 24, 72]],
  dark: [[22, 26, 34], [50, 48, 110], [136, 62, 130], [232, 116, 92], [253, 236, 168]],
};

/** The colour [r, g, b] of a share between 0 and 1. */
function heat(share) {
  const stops = HEAT[isDark() ? "dark" : "light"];
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const below = Math.min(Math.floor(place), stops.length - 2);
  return stops[below].map((c, k) => Math.round(c + (place - below) * (stops[below + 1][k] - c)));
}

function cssColor([r, g, b]) {
  return `rgb(${r},${g},${b})`;
}

// What a finger or the mouse is on says itself beside it.
const tip = document.body.appendChild(document.createElement("div"));
tip.id = "tip";
tip.hidden = true;
for (const kind of ["pointerover", "pointerdown"]) {
  document.addEventListener(kind, ({ target, clientX, clientY }) => {
    const text = target.dataset?.text;
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    tip.style.left = `${Math.max(4, Math.min(clientX + 12, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${clientY + 16}px`;
  });
}

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    const shown = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(shown.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(shown); // where a page may not write there, Ctrl+C does
      button.textContent = "Selected";
    }
  });
}

const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        near.unobserve(target);
        drawChart(target);
        sizes.observe(target);
      }
    }
  },
  { rootMargin: "200px" },
);
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) if (Number(target.dataset.width) !== target.clientWidth) drawChart(target);
});
// The text is on the screen before charts are drawn.
requestAnimationFrame(() => setTimeout(() => document.querySelectorAll(".chart").forEach((box) => near.observe(box))));
document.addEventListener("themechange", () => document.querySelectorAll(".chart[data-drawn]").forEach(drawChart));
