// A waveform with the words, and perhaps the phones, below it.

const PER_SECOND = 110; // least pixels of a second
const shown = new WeakMap(); // samples by canvas

/** Draw all waveforms again, in the colours of now. */
export function redraw() {
  for (const canvas of document.querySelectorAll(".lanes canvas")) draw(canvas, shown.get(canvas));
}

export function timeline(samples, rate, words, phones) {
  const seconds = samples.length / rate;
  const box = element("div", "timeline");
  const lanes = element("div", "lanes");
  lanes.style.width = `max(100%, ${Math.round(seconds * PER_SECOND)}px)`;
  const canvas = element("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Waveform of ${seconds.toFixed(1)} seconds`);
  lanes.append(canvas, tier("words", words.map((w) => ({ ...w, label: w.word })), seconds));
  if (phones) lanes.append(tier("phones", phones.map((p) => ({ ...p, label: p.phone.split("~").pop() })), seconds));
  const head = element("i", "playhead");
  head.hidden = true;
  lanes.append(head);
  box.append(lanes);
  shown.set(canvas, samples);
  new ResizeObserver(() => draw(canvas, samples)).observe(canvas);
  box.at = (time) => {
    head.hidden = time === null;
    head.style.left = `${(100 * time) / seconds}%`;
  };
  return box;
}

function tier(name, intervals, seconds) {
  const row = element("div", `tier ${name}`);
  for (const each of intervals) {
    const part = element("span", "", each.label);
    part.style.left = `${(100 * each.start_s) / seconds}%`;
    part.style.width = `${(100 * (each.end_s - each.start_s)) / seconds}%`;
    part.title = `${each.label}: ${each.start_s.toFixed(2)} to ${each.end_s.toFixed(2)} s`;
    row.append(part);
  }
  return row;
}

function draw(canvas, samples) {
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth * scale, canvas.clientHeight * scale];
  canvas.width = width;
  canvas.height = height;
  const pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(canvas).getPropertyValue("--wave");
  const top = samples.reduce((most, x) => Math.max(most, Math.abs(x)), 0.05);
  for (let x = 0; x < width; x++) {
    const [first, last] = [x, x + 1].map((n) => Math.floor((n * samples.length) / width));
    let low = 0, high = 0;
    for (let n = first; n < last; n++) {
      low = Math.min(low, samples[n]);
      high = Math.max(high, samples[n]);
    }
    const half = height / 2;
    pen.fillRect(x, half - (high / top) * half * 0.95, 1, Math.max(((high - low) / top) * half * 0.95, scale));
  }
}

export function element(kind, name = "", text = "") {
  const found = document.createElement(kind);
  if (name) found.className = name;
  if (text) found.textContent = text;
  return found;
}

export function button(text, label, onClick) {
  const found = element("button", "quiet", text);
  found.type = "button";
  if (label) found.setAttribute("aria-label", label);
  found.addEventListener("click", onClick);
  return found;
}
