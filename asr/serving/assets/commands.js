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
const LEAST_COMMANDS = 2;
const GOOD_TAKES = 5; // of a command
const COUNTED = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
const $ = (id) => document.getElementById(id);

let studio = { prompts: [], takes: [], lacking: [], least_of_each: 0, heard: [], is_trained: false };
let session = null; // the microphone while takes are recorded
let current = null; // the prompt to say
let skipped = new Set();
let replaced = []; // takes to be recorded again, each of which stays until its new one is kept
let limits = null;
let isTraining = false; // when takes stay as they are
let hasFailed = false; // the last training
let onTrained = () => {};

export async function setUpCommands(bounds, whenTrained, toTalk) {
  limits = bounds;
  onTrained = whenTrained;
  $("try").addEventListener("click", toTalk);
  $("prompts").addEventListener("input", point);
  $("use-prompts").addEventListener("click", usePrompts);
  $("record").addEventListener("click", () => (session ? leaveCommands() : record()));
  $("skip-prompt").addEventListener("click", skip);
  $("wanted").addEventListener("change", () => {
    show(studio);
    next();
  });
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
  const prompts = wished();
  try {
    if (prompts.length < LEAST_COMMANDS) throw new Error("Write at least two commands, one a line.");
    if (prompts.length > limits.most_prompts) throw new Error(`These are ${prompts.length} commands: write at most ${limits.most_prompts}.`);
    const long = prompts.find((prompt) => prompt.length > limits.longest_prompt);
    if (long) throw new Error(`“${long.slice(0, 20)}…” is too long: a command has at most ${limits.longest_prompt} characters.`);
    replaced = [];
    show(await json("PUT", "/api/prompts", { prompts }));
    $("prompts").value = studio.prompts.join("\n");
    next();
    point();
    $("record").focus();
  } catch (error) {
    complain(error);
  }
}

/** How often each command is to be said: as chosen, and not less than a training needs. */
function wantedOfEach() {
  return Math.max(Number($("wanted").value), studio.least_of_each);
}

/** The commands in the field, one a line. */
function wished() {
  return $("prompts").value.split("\n").map((line) => line.trim().replace(/\s+/g, " ")).filter(Boolean);
}

async function refresh() {
  show(await json("GET", "/api/takes"));
  next();
}

function show(found) {
  studio = found;
  replaced = replaced.flatMap((old) => studio.takes.filter((take) => take.name === old.name));
  const n = studio.takes.length;
  const others = [...new Set(studio.takes.map((take) => take.prompt))].filter((prompt) => !studio.prompts.includes(prompt));
  $("n-takes").textContent = n ? `${n}, in the folder ${studio.folder}` : "";
  $("takes").replaceChildren(...studio.prompts.map((prompt) => ofPrompt(prompt)), ...others.map((prompt) => ofPrompt(prompt, false)));
  if (!studio.prompts.length) $("takes").append(element("p", "soft empty", "Nothing is recorded yet. First choose your commands above."));
  showAside();
  $("lacking").textContent = told(wantedOfEach());
  $("lacking").hidden = !$("lacking").textContent;
  showResult();
  point();
}

/** What lies in the folder and is no recording of a command, and what to do about it. */
function showAside() {
  const rows = studio.aside ?? [];
  $("aside").hidden = !rows.length;
  $("aside").querySelector("summary").textContent = `Left aside in the folder ${studio.folder}`;
  $("aside").querySelector("ul").replaceChildren(...rows.map((row) => element("li", "", row)));
}

/** What is still to be done before a training, or would better it. */
function told(wanted) {
  if (!studio.prompts.length) return "First choose your commands, and record them.";
  if (studio.prompts.length < LEAST_COMMANDS) return "Write at least two commands.";
  const isRaised = wanted > Number($("wanted").value);
  const needed = isRaised ? `, ${wanted} of each` : "";
  if (studio.n_lacking) return `${studio.n_lacking} more before it can be trained${needed}${wanted === GOOD_TAKES && isRaised ? "" : `; ${Math.max(wanted, GOOD_TAKES)} of each are better`}.`;
  if (studio.is_trained) return "";
  const isMore = studio.heard.length > 0;
  const count = (prompt) => studio.takes.filter((take) => take.prompt === prompt).length;
  if (isMore) return "Your recordings or commands have changed: train again.";
  return studio.prompts.every((prompt) => count(prompt) >= wanted) ? "Everything is recorded. Training takes about a minute." : "That is enough to train. Saying each more often makes it better.";
}

/** Whether a take was heard as another command than was said. */
function isOther(take) {
  return take.heard && take.heard !== take.said;
}

/** How well takes are recognised by a model that did not know them, and what to record again; nothing once they have changed. */
function showResult() {
  const heard = studio.is_trained ? studio.heard.filter((take) => studio.prompts.includes(take.said)) : [];
  $("result").hidden = !heard.length || isTraining;
  if (!heard.length) return;
  const isRight = (take) => take.heard === take.said && take.kept;
  const n = heard.filter(isRight).length;
  const share = (prompt) => {
    const own = heard.filter((take) => take.said === prompt);
    return own.length ? own.filter(isRight).length / own.length : 1;
  };
  const weak = studio.prompts.filter((prompt) => share(prompt) < 0.75).sort((a, b) => share(a) - share(b));
  const others = heard.filter(isOther);
  const many = others.length > 1;
  const confused = `; ${COUNTED[others.length] ?? others.length} ${many ? "sound like another command: record them again" : "sounds like another command: record it again"}`;
  const verdict = others.length ? confused : weak.length ? `; ${weak.slice(0, 2).map((prompt) => `“${prompt}”`).join(" and ")} ${weak.length > 1 ? "are" : "is"} weak` : n < heard.length ? ": good" : "";
  $("verdict").textContent = `${n} of ${heard.length} recordings right${verdict}`;
  const again = (text, rows) => {
    const found = button(text, "", () => recordAgain(studio.takes.filter((take) => rows.some((row) => row.id === take.name))));
    found.classList.add("again");
    return found;
  };
  const all = element("li");
  if (others.length) all.append(again(many ? "Record them again" : "Record it again", others));
  $("weak").replaceChildren(...(others.length ? [all] : []), ...weak.slice(0, 3).map((prompt) => {
    const item = element("li");
    const wrong = heard.filter((take) => take.said === prompt && !isRight(take));
    const as = [...new Set(wrong.filter(isOther).map((take) => take.heard))];
    const why = as.length ? `“${prompt}” sounds like ${as.map((word) => `“${word}”`).join(", ")}` : `“${prompt}” differs from one time to the next`;
    if (!others.length) item.append(again(`Record “${prompt}” again`, wrong));
    item.append(element("span", "soft", why));
    return item;
  }));
}

/** Go to where takes are recorded, and record some again in turn. */
async function recordAgain(takes) {
  if (session) await stop("");
  $("recorder").scrollIntoView({ behavior: "smooth", block: "center" });
  if (isTraining) return;
  replaced = takes;
  next();
  await record();
}

/** Fill just one button: the next step. */
function point() {
  for (const each of document.querySelectorAll("#commands .next")) each.classList.remove("next");
  const isChanged = wished().join("\n") !== studio.prompts.join("\n");
  $("prompts").rows = Math.max(8, Math.min($("prompts").value.split("\n").length, 16));
  const weak = document.querySelector("#result:not([hidden]) .again");
  $("try").hidden = isTraining || hasFailed || !studio.heard.length;
  $("train").disabled = isTraining || Boolean(session) || studio.lacking.length > 0;
  $("train").textContent = studio.heard.length ? "Train again" : "Train";
  let chosen = $("train");
  if (session) chosen = $("record");
  else if (isTraining) chosen = null;
  else if (isChanged || studio.prompts.length < LEAST_COMMANDS) chosen = $("use-prompts");
  else if (studio.lacking.length || replaced.length || (current && !studio.heard.length)) chosen = $("record");
  else if (studio.is_trained) chosen = weak ?? $("try");
  if (chosen && !chosen.disabled) chosen.classList.add("next");
}

function ofPrompt(prompt, isListed = true) {
  const row = element("div", "of-prompt");
  const takes = studio.takes.filter((take) => take.prompt === prompt);
  const name = element("strong", "", prompt);
  name.append(element("small", "", isListed ? `${takes.length} of ${wantedOfEach()}` : "no longer in your list"));
  const chips = element("div", "chips");
  chips.append(...takes.map((take, n) => chip(take, n + 1)));
  row.append(name, chips);
  return row;
}

function placeOf(take) {
  return `/api/takes/${encodeURIComponent(take.name)}`;
}

function chip(take, number) {
  const heard = studio.heard.find((each) => each.id === take.name);
  const isWrong = heard && heard.said === take.prompt && isOther(heard);
  const box = element("span", isWrong ? "chip wrong" : "chip");
  const label = `recording ${number} of “${take.prompt}”`;
  const make = (text, what, kind, onClick) => {
    const found = element("button", kind, text);
    found.type = "button";
    found.setAttribute("aria-label", `${what} ${label}`);
    found.title = found.getAttribute("aria-label");
    found.addEventListener("click", onClick);
    return found;
  };
  const url = placeOf(take);
  const remove = () => ask("DELETE", url).then(refresh);
  const played = make(`▶ ${number}${isWrong ? ` sounds like “${heard.heard}”` : ""}`, "Play", "", () => play(url));
  played.title = `${label}: ${take.duration_s.toFixed(1)} s, loudest ${take.peak_db} dB, ${take.snr_db} dB above the noise`;
  const again = make("↻", "Record again", "", () => recordAgain([take]).catch(complain));
  box.append(played, again, make("✕", "Delete", "gone", () => remove().catch(complain)));
  return box;
}

/** Choose what is to be recorded again, else the prompt with the fewest takes, in their order. */
function next(chosen = null) {
  const wanted = wantedOfEach();
  const counts = new Map(studio.prompts.map((prompt) => [prompt, 0]));
  for (const take of studio.takes) counts.set(take.prompt, counts.get(take.prompt) + 1);
  const open = studio.prompts.filter((prompt) => !skipped.has(prompt) && counts.get(prompt) < wanted);
  if (!open.length && skipped.size) {
    skipped = new Set();
    return next(chosen);
  }
  const old = chosen ? null : replaced[0];
  current = chosen ?? old?.prompt ?? (open.length ? open.reduce((best, prompt) => (counts.get(prompt) < counts.get(best) ? prompt : best)) : null);
  $("prompt").textContent = current ?? (studio.prompts.length ? "Everything is recorded" : "");
  $("prompt").classList.toggle("soft", !current);
  const nth = current ? counts.get(current) + 1 : 0;
  if (old) $("say").textContent = "Say it again; the old recording stays until the new one is good";
  else $("say").textContent = current ? `Say (${nth}${nth <= wanted ? ` of ${wanted}` : ""})` : studio.prompts.length ? "" : "First choose your commands above.";
  $("record").disabled = isTraining || (!current && !session);
  $("skip-prompt").disabled = !current;
  point();
}

function skip() {
  if (replaced.length) replaced.shift();
  else skipped.add(current);
  next();
  if (session) begin(session);
}

async function record() {
  complain(null);
  if (session) await stop("");
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
  const old = replaced[0];
  const extra = Math.max(0, now.quiet_s - BEFORE_S);
  const all = joined(now.pieces);
  const body = wav(all.subarray(0, all.length - Math.round(extra * now.microphone.rate)), now.microphone.rate);
  begin(now);
  let isKept = false;
  try {
    const take = await (await ask("POST", query("/api/takes", { prompt }), body)).json();
    verdict(`Kept “${take.prompt}”${old ? " in place of the old recording" : ""}${take.snr_db < 15 ? ", though there is much noise in it" : ""}`, "good");
    isKept = true;
  } catch (error) {
    verdict(`“${prompt}” was not kept: ${error.message}`, "bad");
  }
  try {
    if (old && isKept) {
      replaced = replaced.filter((take) => take !== old);
      await ask("DELETE", placeOf(old)).catch(complain);
    }
    await refresh();
  } catch (error) {
    complain(error);
  }
  now.isSending = false;
  if (session !== now) return;
  if (!current) await stop($("take-status").textContent, "good");
  else if (isKept && (!$("by-itself").checked || (old && !replaced.length))) await stop($("take-status").textContent, "good");
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
  replaced = [];
  if (session) stop("");
}

async function train() {
  complain(null);
  replaced = [];
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
