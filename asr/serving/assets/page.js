// The page: tabs, theme, and what model is in use.
import { complain, json } from "./api.js";
import { leaveCommands, setUpCommands } from "./commands.js";
import { setUpFiles } from "./files.js";
import { leaveTalk, setUpTalk } from "./talk.js";
import { setModel } from "./sentence.js";
import { redraw } from "./timeline.js";

const $ = (id) => document.getElementById(id);
const TABS = ["talk", "files", "commands"];
const THEMES = ["auto", "light", "dark"];

function choose(name, focus = false) {
  if (name !== "talk") leaveTalk();
  if (name !== "commands") leaveCommands();
  for (const each of TABS) {
    const isChosen = each === name;
    $(each).hidden = !isChosen;
    $(`tab-${each}`).setAttribute("aria-selected", String(isChosen));
    $(`tab-${each}`).tabIndex = isChosen ? 0 : -1;
  }
  if (focus) $(`tab-${name}`).focus();
  history.replaceState(null, "", `#${name}`);
}

function setUpTabs() {
  for (const [n, name] of TABS.entries()) {
    $(`tab-${name}`).addEventListener("click", () => choose(name));
    $(`tab-${name}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) choose(TABS[(n + step + TABS.length) % TABS.length], true);
    });
  }
}

function setUpTheme() {
  let theme = localStorage.getItem("theme") || "auto";
  const use = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    $("theme").textContent = `Theme: ${theme}`;
    redraw();
  };
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  $("theme").addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    localStorage.setItem("theme", theme);
    use();
  });
  use();
}

async function showModel() {
  const model = await json("GET", "/api/model");
  const known = model.commands.length ? model.commands : model.words;
  const n = model.commands.length || model.n_words;
  const kind = model.commands.length ? "commands" : "words";
  $("model").textContent = model.ready ? `${model.experiment}: ${n} ${kind}` : "nothing learned yet";
  $("model").title = model.ready ? `model ${model.model}, grammar ${model.grammar}` : "";
  $("listen").disabled = !model.ready;
  $("file").disabled = !model.ready;
  $("talk-status").textContent = model.ready ? "Press the microphone and speak" : "It knows no words yet: record your commands first";
  $("to-commands").hidden = model.ready;
  $("reject").checked = model.rejects;
  $("only-commands").hidden = !model.ready;
  $("only-commands").lastElementChild.textContent = model.commands.length ? "Ignore what is none of my commands" : "Ignore what is probably none of its words";
  setModel(model);
  $("aligned").textContent = model.has_phones ? "words and phones are" : "the words are";
  const [summary, words] = $("vocabulary").children;
  const more = n - known.length;
  $("vocabulary").hidden = !model.ready;
  summary.textContent = `The ${n} ${kind} it knows`;
  words.textContent = known.join(" · ") + (more > 0 ? ` and ${more} more` : "");
  return model;
}

async function begin() {
  setUpTheme();
  setUpTabs();
  try {
    const model = await showModel();
    const asked = location.hash.slice(1);
    setUpTalk();
    setUpFiles(model);
    const talk = () => {
      choose("talk");
      $("listen").focus();
    };
    $("to-commands").addEventListener("click", () => choose("commands", true));
    await setUpCommands(model.limits, () => showModel().catch(complain), talk);
    choose(TABS.includes(asked) && model.ready ? asked : model.ready ? "talk" : "commands");
  } catch (error) {
    complain(error);
  }
  document.body.dataset.ready = "true";
}

begin();
