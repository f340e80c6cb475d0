"use strict";
// The list of utterances: filtered, ordered, and written as far as someone reads it.

const AT_ONCE = 12;
const lines = JSON.parse(document.getElementById("lines").textContent);
const [list, status, more] = ["list", "status", "more"].map((id) => document.getElementById(id));
const fields = Object.fromEntries(["word", "speaker", "order", "only-errors"].map((id) => [id, document.getElementById(id)]));
if (!fields.speaker) delete fields.speaker; // one speaker, or nobody knows whom
const isRight = (pair) => typeof pair === "string";
let found = [];
let written = 0;

lines.forEach((line, place) => {
  line.place = place;
  line.errors = line.pairs.filter((pair) => !isRight(pair)).length;
  line.words = line.pairs.filter((pair) => isRight(pair) || pair[0] !== null).length;
  const sides = line.pairs.flatMap((pair) => (isRight(pair) ? [pair] : pair.filter((word) => word !== null)));
  line.vocabulary = new Set(sides.map((word) => word.toLowerCase()));
});
const vocabulary = new Set(lines.flatMap((line) => [...line.vocabulary]));

/** Aligned words as elements: right ones as they are, others with what was said and what was heard. */
function wordsOf(pairs) {
  return pairs.flatMap((pair) => {
    if (isRight(pair)) return [pair, " "];
    const [said, heard] = pair;
    const parts = [];
    if (said !== null) parts.push(hidden(heard === null ? "deleted: " : "said: "), element("del", {}, said));
    if (heard !== null) parts.push(hidden(said === null ? "inserted: " : ", heard: "), element("ins", {}, heard));
    return [element("span", { class: said === null ? "pair inserted" : heard === null ? "pair deleted" : "pair substituted" }, ...parts, hidden("; ")), " "];
  });
}

const ORDERS = {
  errors: (a, b) => a.place - b.place,
  share: (a, b) => b.errors / Math.max(b.words, 1) - a.errors / Math.max(a.words, 1) || a.place - b.place,
  name: (a, b) => (a.id < b.id ? -1 : 1),
  speaker: (a, b) => (a.speaker < b.speaker ? -1 : a.speaker > b.speaker ? 1 : a.place - b.place),
  words: (a, b) => b.words - a.words || a.place - b.place,
};

/** A word that occurs is itself; anything else is a part of words. */
function hasWord(line, asked) {
  return vocabulary.has(asked) ? line.vocabulary.has(asked) : [...line.vocabulary].some((word) => word.includes(asked));
}

function refresh() {
  const asked = fields.word.value.trim().toLowerCase();
  const speaker = fields.speaker?.value;
  found = lines
    .filter((line) => !asked || hasWord(line, asked))
    .filter((line) => !speaker || line.speaker === speaker)
    .filter((line) => !fields["only-errors"].checked || line.errors)
    .sort(ORDERS[fields.order.value]);
  status.textContent = `${found.length} of ${lines.length} utterances`;
  player.pause();
  list.replaceChildren();
  written = 0;
  writeMore();
}

function writeMore() {
  list.append(...found.slice(written, written + AT_ONCE).map(itemOf));
  written = Math.min(found.length, written + AT_ONCE);
  more.hidden = written === found.length;
  more.textContent = `Show more (${found.length - written} left)`;
}

function itemOf(line) {
  const errors = line.errors === 1 ? "1 error" : `${line.errors} errors`;
  const button = element(
    "button",
    { type: "button", class: "opener", "aria-expanded": "false" },
    element("span", { class: line.errors ? "count bad" : "count good" }, line.errors ? errors : "right"),
    element("span", { class: "id" }, line.id),
    element("span", { class: "speaker" }, line.speaker),
  );
  const item = element("li", {}, element("h3", {}, button), element("p", { class: "words-of" }, ...wordsOf(line.pairs)));
  button.addEventListener("click", () => toggle(item, button, line));
  item.querySelector(".words-of").addEventListener("click", () => button.click());
  return item;
}

function toggle(item, button, line) {
  const isOpen = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!isOpen));
  if (isOpen) {
    player.pause();
    item.querySelector(".view").remove();
    return;
  }
  const data = line.view ? JSON.parse(document.getElementById(`view-data-${line.place}`).textContent) : null;
  item.append(viewOf(line, data));
}

function showWord(word) {
  document.getElementById("filters").reset();
  fields.word.value = word;
  refresh();
  document.getElementById("utterances").scrollIntoView();
  status.focus({ preventScroll: true });
}

for (const field of Object.values(fields)) field.addEventListener("input", refresh);
document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("filters").addEventListener("reset", () => setTimeout(refresh));
document.querySelectorAll("button.word").forEach((button) => button.addEventListener("click", () => showWord(button.dataset.word)));
more.addEventListener("click", () => {
  const first = written;
  writeMore();
  list.children[first].querySelector("button").focus();
});
refresh();
