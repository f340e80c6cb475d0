// The page: tabs, theme, and what model is in use.
import { complain, json } from "./api.js";
import { leaveCommands, setUpCommands } from "./commands.js";
import { setUpFiles } from "./files.js";
import { leaveTalk, setUpTalk } from "./talk.js";
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
  $("model").textContent = model.ready ? `${model.experiment}: ${model.model}, ${model.n_words} words` : "no model yet";
  $("listen").disabled = !model.ready;
  $("file").disabled = !model.ready;
  $("talk-status").textContent = model.ready ? "Press the microphone and speak" : "There is no model yet: record your commands first";
  const [summary, words] = $("vocabulary").children;
  const more = model.n_words - model.words.length;
  $("vocabulary").hidden = !model.ready;
  summary.textContent = `The ${model.n_words} words it knows`;
  words.textContent = model.words.join(" · ") + (more > 0 ? ` and ${more} more` : "");
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
    await setUpCommands(async () => {
      await showModel().catch(complain);
      choose("talk");
      $("listen").focus();
    });
    choose(TABS.includes(asked) && model.ready ? asked : model.ready ? "talk" : "commands");
  } catch (error) {
    complain(error);
  }
  document.body.dataset.ready = "true";
}

begin();
