"use strict";
// The picture of one utterance: sound, spectrogram, words, phones, posteriors, one above the other on one time axis.

const PIXELS_PER_S = 230;

/** A new element; children that are strings become text, never markup. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const hidden = (text) => element("span", { class: "hidden" }, text);
const twoDigits = (seconds) => seconds.toFixed(2);

/** What became of a word: "right", "wrong" (another word), "gap" (none), "noise". */
function kindOf(word) {
  if (word.noise) return "noise";
  if (word.other === null) return "gap";
  return word.other === word.word ? "right" : "wrong";
}

function spokenOf(word, side) {
  const here = `${twoDigits(word.start)} to ${twoDigits(word.end)} seconds`;
  const sure = word.sure == null ? "" : `, ${Math.round(100 * word.sure)} percent sure`;
  const what = {
    right: "",
    noise: ", noise",
    wrong: side === "said" ? `, heard as ${word.other}` : `, said was ${word.other}`,
    gap: side === "said" ? ", not heard" : ", not said",
  }[kindOf(word)];
  return `${side} ${word.word}${what}${sure}, ${here}`;
}

function placed(item, duration) {
  return `left:${(100 * item.start) / duration}%;width:${(100 * (item.end - item.start)) / duration}%`;
}

function wordButton(word, side, duration, playFrom) {
  const spoken = spokenOf(word, side);
  const button = element(
    "button",
    { type: "button", class: `spoken ${kindOf(word)}`, style: placed(word, duration), title: spoken, "aria-label": `${spoken}; play from here` },
    element("span", {}, word.word),
  );
  if (word.sure != null) button.append(element("i", { style: `width:${100 * word.sure}%`, "aria-hidden": "true" }));
  button.dataset.start = word.start;
  button.addEventListener("click", () => playFrom(word.start));
  return button;
}

/** A row of words; one of them is reached by Tab, the others by arrow keys. */
function wordRow(words, side, duration, playFrom) {
  const row = element("div", { class: "tier words", role: "group", "aria-label": `words ${side}` });
  row.append(...words.map((word) => wordButton(word, side, duration, playFrom)));
  [...row.children].forEach((button, n) => (button.tabIndex = n ? -1 : 0));
  row.addEventListener("keydown", (event) => {
    const buttons = [...row.children];
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (at < 0 || !buttons[to]) return;
    event.preventDefault();
    buttons[at].tabIndex = -1;
    buttons[to].tabIndex = 0;
    buttons[to].focus();
  });
  return row;
}

function phoneRow(phones, duration) {
  const spans = phones.map(([start, end, name]) =>
    element("span", { class: "phone", style: placed({ start, end }, duration), title: `${name} ${twoDigits(start)}–${twoDigits(end)} s` }, name),
  );
  return element("div", { class: "tier phones", role: "img", "aria-label": `phones said: ${phones.map((p) => p[2]).join(" ")}` }, ...spans);
}

function drawWave(canvas, encoded) {
  const bytes = Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0));
  const ends = new Int8Array(bytes.buffer);
  canvas.width = ends.length / 2;
  canvas.height = 128;
  const pen = canvas.getContext("2d");
  pen.fillStyle = color("wave");
  for (let k = 0; k < canvas.width; k++) {
    const [low, high] = [ends[2 * k], ends[2 * k + 1]];
    pen.fillRect(k, 64 - high / 2, 1, Math.max(1, (high - low) / 2));
  }
}

/** Draw a picture in levels of grey in the colours of the theme. */
function drawHeat(canvas, url) {
  const image = new Image();
  image.onload = () => {
    [canvas.width, canvas.height] = [image.width, image.height];
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.drawImage(image, 0, 0);
    const pixels = pen.getImageData(0, 0, image.width, image.height);
    const palette = Array.from({ length: 256 }, (_, level) => heat(level / 255));
    for (let k = 0; k < pixels.data.length; k += 4) {
      [pixels.data[k], pixels.data[k + 1], pixels.data[k + 2]] = palette[pixels.data[k]];
    }
    pen.putImageData(pixels, 0, 0);
    canvas.dataset.drawn = "yes";
  };
  image.src = url;
}

const mel = (hz) => 1127 * Math.log1p(hz / 700);

function frequencies(topHz) {
  const marks = [500, 1000, 2000, 4000, 8000].filter((hz) => hz < 0.95 * topHz);
  return marks.map((hz) => element("span", { style: `bottom:${(100 * mel(hz)) / mel(topHz)}%` }, hz < 1000 ? "0.5" : `${hz / 1000}`));
}

function timeAxis(duration) {
  const step = duration > 8 ? 1 : 0.5;
  const axis = element("div", { class: "tier seconds", "aria-hidden": "true" });
  for (let s = 0; s < duration - 0.1; s += step) axis.append(element("span", { style: `left:${(100 * s) / duration}%` }, s ? String(s) : "0 s"));
  return axis;
}

/** The picture of an utterance, drawn again when the theme changes as long as it is in the page. */
function pictureOf(data, playFrom) {
  const { duration } = data;
  const wave = element("canvas", { class: "wave", role: "img", "aria-label": `waveform, ${twoDigits(duration)} seconds` });
  const spectrum = element("canvas", { class: "spectrogram", role: "img", "aria-label": `spectrogram up to ${data.topHz / 1000} kilohertz` });
  const names = data.posteriors.names;
  const strip = element("canvas", { class: "strip", role: "img", "aria-label": `how probable each phone is in each frame; phones in order of time: ${names.join(" ")}` });
  strip.style.width = `${(100 * data.posteriors.end) / duration}%`;
  strip.style.height = `${names.length * 14}px`;
  const line = element("div", { class: "playhead", "aria-hidden": "true" }, element("i", { hidden: true }));
  const label = (text, ...more) => element("div", { class: "label", "aria-hidden": "true" }, text, ...more);
  const lanes = element(
    "div",
    { class: "lanes", style: `--picture:${Math.round(duration * PIXELS_PER_S)}px` },
    label("sound"), wave,
    element("div", { class: "label kilohertz", "aria-hidden": "true" }, "kHz", ...frequencies(data.topHz)), spectrum,
    label("said"), wordRow(data.said, "said", duration, playFrom),
    label("phones"), phoneRow(data.phones, duration),
    label("heard"), wordRow(data.heard, "heard", duration, playFrom),
    element("div", { class: "label rows", "aria-hidden": "true" }, ...names.map((name) => element("span", {}, name))), strip,
    label(""), timeAxis(duration),
    line,
  );
  for (const canvas of [wave, spectrum, strip]) {
    const end = canvas === strip ? data.posteriors.end : duration;
    canvas.addEventListener("click", (event) => playFrom((end * event.offsetX) / canvas.clientWidth));
  }
  const draw = () => {
    if (!lanes.isConnected) return document.removeEventListener("themechange", draw);
    drawWave(wave, data.wave);
    drawHeat(spectrum, data.spectrogram);
    drawHeat(strip, data.posteriors.picture);
  };
  document.addEventListener("themechange", draw);
  queueMicrotask(draw);
  const scroller = element("div", { class: "scroll picture", role: "region", tabindex: "0", "aria-label": "Sound, words and phones over time; scrolls sideways" }, lanes);
  const show = (seconds) => {
    line.firstChild.hidden = seconds === null;
    if (seconds !== null) line.firstChild.style.left = `${Math.min(100, (100 * seconds) / duration)}%`;
  };
  return { scroller, show };
}

/** What opens below a line of the list. */
function viewOf(entry, data) {
  const source = (data && data.audio) || entry.audio;
  const button = element("button", { type: "button", class: "play" }, "▶ Play");
  const clock = element("span", { class: "clock", role: "timer" });
  let picture = { show: () => {} };
  const show = (seconds, plays) => {
    button.textContent = plays ? "❚❚ Pause" : "▶ Play";
    clock.textContent = seconds === null ? "" : `${twoDigits(seconds)} s`;
    picture.show(seconds);
  };
  const playFrom = (seconds) => source && player.play(source, seconds, show);
  button.addEventListener("click", () => (button.textContent.includes("Pause") ? player.pause() : playFrom(0)));
  const box = element("div", { class: "view" });
  const controls = element("div", { class: "controls" });
  if (source) controls.append(button, clock);
  else controls.append(element("span", { class: "remark" }, "without sound"));
  if (data) {
    picture = pictureOf(data, playFrom);
    box.append(controls, picture.scroller);
    if (!data.said.length) box.append(element("p", { class: "remark" }, "The transcript cannot be aligned with the sound."));
  } else {
    box.append(controls, element("p", { class: "remark" }, "No picture: only the worst utterances have one (asr report --utterances N)."));
  }
  for (const [model, pairs] of Object.entries(entry.others || {})) {
    box.append(element("p", { class: "other" }, element("span", { class: "model" }, model), " ", ...wordsOf(pairs)));
  }
  return box;
}
