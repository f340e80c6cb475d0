// A sentence or recording: its words, how sure they are, its sound, and where they lie in it.
import { ask, complain, keep, query } from "./api.js";
import { play, wav } from "./audio.js";
import { button, element, timeline } from "./timeline.js";

let hasPhones = false; // words are of phones that somebody wrote down; else there is nothing below words to show
let ignored = ""; // what is said of speech that was ignored

export function setModel(model) {
  hasPhones = model.has_phones;
  ignored = model.commands.length ? "not one of your commands" : "none of its words";
}

/** A sentence that was ignored: what it was nearest to is said where one looks for it. */
export function other(words, sound, about, options) {
  const item = sentence([], sound, about, options);
  item.className = "rejected";
  item.querySelector("p.words").textContent = ignored;
  item.title = `nearest: ${textOf(words)}`;
  return item;
}

/** Show words; sound is {samples, rate} at whose beginning the words' times are 0, or null. */
export function sentence(words, sound, about, { phones = null, open = false } = {}) {
  if (!hasPhones) phones = null;
  const item = element("li");
  item.append(spoken(words));
  const line = element("div", "about");
  line.append(...about);
  item.append(line);
  if (sound) attachSound(item, line, words, sound, phones, open);
  return item;
}

function spoken(words) {
  const line = element("p", "words");
  for (const word of words) {
    const part = element("span", "", word.word);
    const isKnown = word.confidence !== null && word.confidence !== undefined;
    part.style.setProperty("--sure", isKnown ? word.confidence : 1);
    part.title = `${word.start_s.toFixed(2)} to ${word.end_s.toFixed(2)} s${isKnown ? `, ${Math.round(100 * word.confidence)} % sure` : ""}`;
    line.append(part, " ");
  }
  if (!words.length) line.append(element("em", "soft", "no words"));
  return line;
}

function attachSound(item, line, words, sound, phones, open) {
  let view = null, url = null;
  const show = (found) => {
    view?.remove();
    view = timeline(sound.samples, sound.rate, words, found);
    item.append(view);
  };
  const player = button("▶ Play", "", () => {
    url ||= URL.createObjectURL(wav(sound.samples, sound.rate));
    play(url, (time) => view?.at(time));
  });
  const toggle = button("Alignment", "", async () => {
    const isOpen = toggle.getAttribute("aria-expanded") === "true";
    toggle.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) {
      view.remove();
      view = null;
      return;
    }
    show(phones);
    if (phones || !words.length || !hasPhones) return;
    try {
      phones = (await aligned(sound, textOf(words))).phones;
      if (view) show(phones);
    } catch (error) {
      complain(error);
    }
  });
  toggle.setAttribute("aria-expanded", String(open));
  line.append(player, toggle);
  if (open) show(phones);
}

export function textOf(words) {
  return words.map((w) => w.word).join(" ");
}

export async function aligned(sound, text) {
  return (await ask("POST", query("/api/align", { text }), wav(sound.samples, sound.rate))).json();
}

/** Keep words as a file of a format. */
export async function keepWords(words, duration_s, name, format) {
  const rows = words.map(({ word, start_s, end_s, confidence }) => ({ word, start_s, end_s, confidence: confidence ?? null }));
  const body = JSON.stringify({ name, duration_s, words: rows });
  await keep(await ask("POST", query("/api/words", { format }), body, "application/json"));
}

