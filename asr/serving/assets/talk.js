// Words while one speaks.
import { complain } from "./api.js";
import { decibels, joined, Microphone, sixteenBits } from "./audio.js";
import { keepWords, other, sentence, textOf } from "./sentence.js";
import { element } from "./timeline.js";

const KEPT_S = 300; // of sound, to be played and aligned
const BEHIND_S = 15; // that may wait in this page
const $ = (id) => document.getElementById(id);

let talk = null; // what is under way
let said = []; // words of all sentences, at times from the first
let before_s = 0; // sound of earlier talks

export function setUpTalk() {
  $("listen").addEventListener("click", () => (talk ? stop() : start()));
  $("reject").addEventListener("change", () => talk && stop()); // what it says counts from the next press
  $("clear").addEventListener("click", clear);
  for (const format of ["textgrid", "ctm"]) {
    $(`talk-${format}`).addEventListener("click", () => keepWords(said, before_s + (talk?.heard_s || 0), "talk", format).catch(complain));
  }
  window.addEventListener("pagehide", () => talk?.socket.close());
}

async function start() {
  complain(null);
  const now = { pieces: [], n: 0, heard_s: 0, isOver: false, microphone: new Microphone() };
  talk = now;
  status("Opening the microphone");
  try {
    await now.microphone.open((samples) => hear(now, samples));
    now.socket = await connected(now);
  } catch (error) {
    complain(error);
    return ended(now, "Press the microphone and speak");
  }
  $("listen").setAttribute("aria-pressed", "true");
  $("listen").setAttribute("aria-label", "Stop listening");
  status("Listening");
}

function connected(now) {
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/listen`);
  socket.binaryType = "arraybuffer";
  return new Promise((resolve, reject) => {
    socket.onopen = () => socket.send(JSON.stringify({ sample_rate: now.microphone.rate, encoding: "pcm_s16le", reject: $("reject").checked }));
    socket.onclose = () => {
      reject(new Error("The server does not listen. Is asr serve still running?"));
      if (now.socket) lost(now, "The connection to the server was lost.");
    };
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.type === "ready") {
        resolve(socket);
        if (message.warning) complain(new Error(message.warning));
      }
      else if (message.type === "partial") partial(now, message);
      else if (message.type === "final" || message.type === "rejected") final(now, message);
      else if (message.type === "slow") status(`The server is ${message.behind_s.toFixed(0)} s behind`);
      else if (message.type === "done") ended(now, "Press the microphone and speak");
      else if (message.type === "error") {
        reject(new Error(message.error));
        lost(now, message.error);
      }
    };
  });
}

function hear(now, samples) {
  const { level } = decibels(samples);
  $("listen").style.setProperty("--level", Math.max(0, Math.min(1, (level + 60) / 45)).toFixed(2));
  if (now.isOver || !now.socket || now.socket.readyState !== WebSocket.OPEN) return;
  if (!now.n) {
    // Microphones begin with zeros that are no sound of the room, by which loudness would be judged.
    const first = samples.findIndex((x) => x !== 0);
    if (first < 0) return;
    samples = samples.subarray(first);
  }
  if (now.n < KEPT_S * now.microphone.rate) now.pieces.push(samples);
  now.n += samples.length;
  now.socket.send(sixteenBits(samples));
  if (now.socket.bufferedAmount > 2 * BEHIND_S * now.microphone.rate) lost(now, "The server is too slow to follow; nothing more is sent.");
}

function partial(now, message) {
  now.heard_s = message.heard_s;
  $("partial").textContent = textOf(message.words);
  if (!now.isOver) status(`Listening, ${message.heard_s.toFixed(0)} s`);
}

function final(now, message) {
  now.heard_s = message.heard_s;
  $("partial").textContent = "";
  if (!message.words.length) return;
  const from = Math.max(0, message.words[0].start_s - 0.3);
  const to = message.words.at(-1).end_s + 0.3;
  const shifted = message.words.map((w) => ({ ...w, start_s: w.start_s - from, end_s: w.end_s - from }));
  const isRejected = message.type === "rejected";
  if (!isRejected) said.push(...message.words.map((w) => ({ ...w, start_s: w.start_s + before_s, end_s: w.end_s + before_s })));
  const time = element("span", "", `${(before_s + message.words[0].start_s).toFixed(1)} s`);
  const item = isRejected ? other(shifted, piece(now, from, to), [time]) : sentence(shifted, piece(now, from, to), [time]);
  $("sentences").prepend(item);
  offer();
}

/** The sound between two times, if it is kept. */
function piece(now, from, to) {
  const rate = now.microphone.rate;
  const [first, last] = [from, to].map((time) => Math.round(time * rate));
  let n = 0;
  const parts = [];
  for (const each of now.pieces) {
    if (n < last && n + each.length > first) parts.push(each.subarray(Math.max(0, first - n), Math.min(each.length, last - n)));
    n += each.length;
  }
  return n >= first + rate / 10 ? { samples: joined(parts), rate } : null;
}

function stop() {
  if (talk.isOver) return;
  talk.isOver = true;
  talk.microphone.close();
  status("Finishing");
  if (talk.socket?.readyState === WebSocket.OPEN) talk.socket.send(JSON.stringify({ type: "finish" }));
  else ended(talk, "Press the microphone and speak");
}

function lost(now, line) {
  if (talk !== now) return;
  complain(new Error(line));
  ended(now, "Press the microphone and speak");
}

function ended(now, line) {
  if (talk !== now) return;
  talk = null;
  now.isOver = true;
  before_s += now.n ? now.n / now.microphone.rate : 0;
  if (now.socket) {
    now.socket.onclose = null;
    now.socket.close();
  }
  now.microphone.close();
  $("partial").textContent = "";
  $("listen").setAttribute("aria-pressed", "false");
  $("listen").setAttribute("aria-label", "Start listening");
  $("listen").style.setProperty("--level", 0);
  status(line);
}

function clear() {
  said = [];
  $("sentences").replaceChildren();
  offer();
}

function offer() {
  const n = $("sentences").childElementCount;
  for (const id of ["talk-textgrid", "talk-ctm"]) $(id).disabled = !said.length;
  $("talk-save").hidden = !said.length;
  $("clear").disabled = !n;
  $("clear").hidden = !n;
  $("nothing-yet").hidden = n > 0;
}

function status(text) {
  $("talk-status").textContent = text;
}

/** End what is under way, because the page shows something else. */
export function leaveTalk() {
  if (talk) stop();
}
