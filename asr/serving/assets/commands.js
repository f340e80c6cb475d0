// Commands of one's own: prompts, takes with checked levels, and the training.
import { ask, complain, json, query } from "./api.js";
import { decibels, joined, Microphone, play, wav } from "./audio.js";
import { button, element } from "./timeline.js";

const FIRST = ["yes", "no", "start", "stop", "left", "right", "up", "down", "open", "close"];
const ABOVE_DB = 12; // over the noise, from which on somebody speaks
const FAINTEST_DB = -52; // level of speech at least
const BEFORE_S = 0.3; // kept of the time before and after speech
const QUIET_S = 0.55; // that ends a take
const LONGEST_S = 8;
const PATIENCE_S = 12; // without a word
const $ = (id) => document.getElementById(id);

let studio = { prompts: [], takes: [], lacking: [], heard: [], is_trained: false };
let session = null; // the microphone while takes are recorded
let current = null; // the prompt to say
let skipped = new Set();
let isTraining = false; // when takes stay as they are
let hasFailed = false; // the last training
let onTrained = () => {};

export async function setUpCommands(whenTrained, toTalk) {
  onTrained = whenTrained;
  $("try").addEventListener("click", toTalk);
  $("prompts").addEventListener("input", point);
  $("use-prompts").addEventListener("click", usePrompts);
  $("record").addEventListener("click", () => (session ? stop("") : record()));
  $("skip-prompt").addEventListener("click", skip);
  $("wanted").addEventListener("change", () => next());
  $("train").addEventListener("click", train);
  $("cancel").addEventListener("click", () => json("DELETE", "/api/training").then(showTraining).catch(complain));
  await refresh();
  $("prompts").value = (studio.prompts.length ? studio.prompts : FIRST).join("\n");
  point();
  const state = await json("GET", "/api/training");
  if (state.status === "running") follow(state);
}

async function usePrompts() {
  complain(null);
  const prompts = $("prompts").value.split("\n").map((line) => line.trim()).filter(Boolean);
  try {
    show(await json("PUT", "/api/prompts", { prompts }));
    $("prompts").value = studio.prompts.join("\n");
    next();
    point();
    $("record").focus();
  } catch (error) {
    complain(error);
  }
}

async function refresh() {
  show(await json("GET", "/api/takes"));
  next();
}

function show(found) {
  studio = found;
  const wanted = Number($("wanted").value);
  const n = studio.takes.length;
  const others = [...new Set(studio.takes.map((take) => take.prompt))].filter((prompt) => !studio.prompts.includes(prompt));
  $("n-takes").textContent = n ? `${n}, in the folder ${studio.folder}` : "";
  $("takes").replaceChildren(...studio.prompts.map((prompt) => ofPrompt(prompt)), ...others.map((prompt) => ofPrompt(prompt, false)));
  if (!studio.prompts.length) $("takes").append(element("p", "soft empty", "Nothing is recorded yet. First choose your commands above."));
  $("lacking").textContent = told(wanted);
  $("lacking").hidden = !$("lacking").textContent;
  showResult();
  point();
}

/** What is still to be done before a training, or would better it. */
function told(wanted) {
  if (!studio.prompts.length) return "First choose your commands, and record them.";
  if (studio.lacking.length) return `Still to say: ${studio.lacking.slice(0, 4).join(", ")}${studio.lacking.length > 4 ? " …" : ""}`;
  if (studio.is_trained) return "";
  const isMore = studio.heard.length > 0;
  const count = (prompt) => studio.takes.filter((take) => take.prompt === prompt).length;
  if (isMore) return "Your recordings have changed: train again.";
  return studio.prompts.every((prompt) => count(prompt) >= wanted) ? "Everything is recorded. Training takes about a minute." : "That is enough to train. Saying each more often makes it better.";
}

/** How well takes are recognised by a model that did not know them, and what to record again. */
function showResult() {
  const heard = studio.heard.filter((take) => studio.prompts.includes(take.said));
  $("result").hidden = !heard.length || isTraining;
  if (!heard.length) return;
  const isRight = (take) => take.heard === take.said && take.kept;
  const n = heard.filter(isRight).length;
  const share = (prompt) => {
    const own = heard.filter((take) => take.said === prompt);
    return own.length ? own.filter(isRight).length / own.length : 1;
  };
  const weak = studio.prompts.filter((prompt) => share(prompt) < 0.75).sort((a, b) => share(a) - share(b));
  const verdict = weak.length ? `; ${weak.slice(0, 2).map((prompt) => `“${prompt}”`).join(" and ")} ${weak.length > 1 ? "are" : "is"} weak` : n < heard.length ? ": good" : "";
  $("verdict").textContent = `${n} of ${heard.length} recordings right${verdict}`;
  $("weak").replaceChildren(...weak.slice(0, 3).map((prompt) => {
    const item = element("li");
    const wrong = heard.filter((take) => take.said === prompt && !isRight(take));
    const as = [...new Set(wrong.map((take) => take.heard).filter((word) => word && word !== prompt))];
    const why = as.length ? `“${prompt}” sounds like ${as.map((word) => `“${word}”`).join(", ")}` : `“${prompt}” differs from one time to the next`;
    item.append(button(`Record “${prompt}” again`, "", () => toRecord(prompt)), element("span", "soft", why));
    item.firstChild.className = "quiet again";
    return item;
  }));
}

/** Go to where one command is recorded, and record it. */
function toRecord(prompt) {
  $("recorder").scrollIntoView({ behavior: "smooth", block: "center" });
  record(prompt);
}

/** Fill just one button: the next step. */
function point() {
  for (const each of document.querySelectorAll("#commands .next")) each.classList.remove("next");
  const wish = $("prompts").value.split("\n").map((line) => line.trim().replace(/\s+/g, " ")).filter(Boolean);
  const isChanged = wish.join("\n") !== studio.prompts.join("\n");
  const weak = document.querySelector("#result:not([hidden]) .again");
  $("try").hidden = isTraining || hasFailed || !studio.heard.length;
  $("train").disabled = isTraining || Boolean(session) || studio.lacking.length > 0;
  $("train").textContent = studio.heard.length ? "Train again" : "Train";
  let chosen = $("train");
  if (session) chosen = $("record");
  else if (isTraining) chosen = null;
  else if (isChanged || !studio.prompts.length) chosen = $("use-prompts");
  else if (studio.lacking.length || (current && !studio.heard.length)) chosen = $("record");
  else if (studio.is_trained) chosen = weak ?? $("try");
  if (chosen && !chosen.disabled) chosen.classList.add("next");
}

function ofPrompt(prompt, isListed = true) {
  const row = element("div", "of-prompt");
  const takes = studio.takes.filter((take) => take.prompt === prompt);
  const name = element("strong", "", prompt);
  name.append(element("small", "", isListed ? `${takes.length} of ${$("wanted").value}` : "no longer in your list"));
  const chips = element("div", "chips");
  chips.append(...takes.map((take, n) => chip(take, n + 1)));
  row.append(name, chips);
  return row;
}

function chip(take, number) {
  const heard = studio.heard.find((each) => each.id === take.name);
  const isOther = heard && heard.said === take.prompt && heard.heard && heard.heard !== heard.said;
  const box = element("span", isOther ? "chip wrong" : "chip");
  const label = `recording ${number} of “${take.prompt}”`;
  const make = (text, what, kind, onClick) => {
    const found = element("button", kind, text);
    found.type = "button";
    found.setAttribute("aria-label", `${what} ${label}`);
    found.title = found.getAttribute("aria-label");
    found.addEventListener("click", onClick);
    return found;
  };
  const url = `/api/takes/${encodeURIComponent(take.name)}`;
  const remove = () => ask("DELETE", url).then(refresh);
  const played = make(`▶ ${number}${isOther ? ` sounds like “${heard.heard}”` : ""}`, "Play", "", () => play(url));
  played.title = `${label}: ${take.duration_s.toFixed(1)} s, loudest ${take.peak_db} dB, ${take.snr_db} dB above the noise`;
  const again = make("↻", "Record again", "", () => remove().then(() => record(take.prompt)).catch(complain));
  box.append(played, again, make("✕", "Delete", "gone", () => remove().catch(complain)));
  return box;
}

/** Choose the prompt with the fewest takes, in their order. */
function next(chosen = null) {
  const counts = new Map(studio.prompts.map((prompt) => [prompt, 0]));
  for (const take of studio.takes) counts.set(take.prompt, counts.get(take.prompt) + 1);
  const open = studio.prompts.filter((prompt) => !skipped.has(prompt) && counts.get(prompt) < Number($("wanted").value));
  if (!open.length && skipped.size) {
    skipped = new Set();
    return next(chosen);
  }
  current = chosen ?? (open.length ? open.reduce((best, prompt) => (counts.get(prompt) < counts.get(best) ? prompt : best)) : null);
  $("prompt").textContent = current ?? (studio.prompts.length ? "Everything is recorded" : "");
  $("prompt").classList.toggle("soft", !current);
  const nth = current ? counts.get(current) + 1 : 0;
  $("say").textContent = current ? `Say (${nth}${nth <= Number($("wanted").value) ? ` of ${$("wanted").value}` : ""})` : studio.prompts.length ? "" : "First choose your commands above.";
  $("record").disabled = isTraining || (!current && !session);
  $("skip-prompt").disabled = !current;
  point();
}

function skip() {
  skipped.add(current);
  next();
  if (session) begin(session);
}

async function record(prompt = null) {
  complain(null);
  if (session) await stop("");
  if (prompt) next(prompt);
  if (!current || isTraining) return;
  const now = { microphone: new Microphone(), isSending: false };
  session = now;
  $("meter").hidden = false;
  point();
  begin(now);
  try {
    await now.microphone.open((samples) => hear(now, samples));
  } catch (error) {
    complain(error);
    return stop("");
  }
  $("record").textContent = "Stop";
  $("record").setAttribute("aria-pressed", "true");
  verdict("Speak after a moment of quiet", "");
}

/** Wait for the next take; the noise is known already if the microphone is open. */
function begin(now) {
  now.pieces = [];
  now.waited_s = 0;
  now.spoken_s = 0;
  now.quiet_s = 0;
  now.floor ??= [];
}

function hear(now, samples) {
  if (session !== now) return;
  const { level, peak } = decibels(samples);
  const step_s = samples.length / now.microphone.rate;
  now.floor.push(level);
  if (now.floor.length > 3 / step_s) now.floor.shift();
  const noise = Math.max([...now.floor].sort((a, b) => a - b)[Math.floor(now.floor.length / 10)], -80);
  const threshold = Math.max(noise + ABOVE_DB, FAINTEST_DB);
  meter(level, peak, noise, threshold);
  if (now.isSending || !current) return;
  const isSpeech = now.floor.length * step_s > 0.3 && level > threshold;
  now.pieces.push(samples);
  if (isSpeech) {
    now.spoken_s += step_s;
    now.quiet_s = 0;
  } else if (now.spoken_s) {
    now.quiet_s += step_s;
  } else {
    now.waited_s += step_s;
    while (now.pieces.length * step_s > BEFORE_S) now.pieces.shift();
  }
  if (now.spoken_s && (now.quiet_s > QUIET_S || now.pieces.length * step_s > LONGEST_S)) send(now);
  else if (now.waited_s > PATIENCE_S) stop("No word was heard. Check the microphone, or speak louder.", "bad");
}

function meter(level, peak, noise, threshold) {
  const place = (db) => `${Math.max(0, Math.min(100, (100 * (db + 70)) / 70)).toFixed(1)}%`;
  $("level").style.width = place(level);
  $("level").classList.toggle("loud", peak > -1);
  $("threshold").style.left = place(threshold);
  $("levels").textContent = peak > -1 ? "too loud" : noise > -35 ? "it is noisy here" : level > threshold ? "good" : "listening";
}

async function send(now) {
  now.isSending = true;
  const prompt = current;
  const extra = Math.max(0, now.quiet_s - BEFORE_S);
  const all = joined(now.pieces);
  const body = wav(all.subarray(0, all.length - Math.round(extra * now.microphone.rate)), now.microphone.rate);
  begin(now);
  let isKept = false;
  try {
    const take = await (await ask("POST", query("/api/takes", { prompt }), body)).json();
    verdict(`Kept “${take.prompt}”${take.snr_db < 15 ? ", though there is much noise in it" : ""}`, "good");
    isKept = true;
  } catch (error) {
    verdict(`“${prompt}” was not kept: ${error.message}`, "bad");
  }
  try {
    await refresh();
  } catch (error) {
    complain(error);
  }
  now.isSending = false;
  if (session !== now) return;
  if (!current) await stop($("take-status").textContent, "good");
  else if (isKept && !$("by-itself").checked) await stop($("take-status").textContent, "good");
}

function verdict(text, kind) {
  $("take-status").textContent = text;
  $("take-status").className = `verdict ${kind}`;
}

async function stop(text, kind = "") {
  const now = session;
  session = null;
  $("record").textContent = "Record";
  $("meter").hidden = true;
  $("record").setAttribute("aria-pressed", "false");
  $("level").style.width = "0";
  verdict(text, kind);
  next();
  await now?.microphone.close();
}

/** Close the microphone, because the page shows something else. */
export function leaveCommands() {
  if (session) stop("");
}

async function train() {
  complain(null);
  if (session) await stop("");
  try {
    follow(await json("POST", "/api/training"));
  } catch (error) {
    complain(error);
  }
}

async function follow(state) {
  showTraining(state);
  while (state.status === "running") {
    await new Promise((resolve) => setTimeout(resolve, 500));
    try {
      state = await json("GET", "/api/training");
      showTraining(state);
    } catch (error) {
      complain(error);
      return;
    }
  }
  if (state.status === "done") {
    await onTrained();
    await refresh();
    $("result").scrollIntoView({ behavior: "smooth", block: "center" });
  }
}

function showTraining(state) {
  const isRunning = state.status === "running";
  const said = { done: `Learned in ${state.seconds.toFixed(0)} seconds`, failed: `That did not work: ${state.message}`, cancelled: "Cancelled" };
  hasFailed = state.status === "failed";
  $("training").hidden = state.status === "idle";
  $("share").hidden = !isRunning;
  $("cancel").hidden = !isRunning;
  if (isRunning !== isTraining) {
    isTraining = isRunning;
    verdict(isRunning ? "Recording waits until the training has ended" : "", "");
    next(current);
    showResult();
  }
  $("share").value = state.share;
  $("training-step").textContent = isRunning ? `${state.step}, ${state.seconds.toFixed(0)} s` : said[state.status] || "";
  $("training-lines").textContent = state.lines.join("\n");
}
