"use strict";
// Light or dark: as the system has it, until the button says otherwise. Who draws listens to "themechange".

const THEMES = ["auto", "light", "dark"];
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function keptTheme() {
  try {
    return localStorage.getItem("asr-report-theme") || "auto";
  } catch {
    return "auto"; // some browsers keep nothing for files
  }
}

function setTheme(name) {
  const root = document.documentElement;
  if (name === "auto") delete root.dataset.theme;
  else root.dataset.theme = name;
  document.getElementById("theme").textContent = `Theme: ${name}`;
  try {
    localStorage.setItem("asr-report-theme", name);
  } catch {
    // it lasts as long as the page
  }
  document.dispatchEvent(new Event("themechange"));
}

function isDark() {
  const name = document.documentElement.dataset.theme;
  return name ? name === "dark" : systemIsDark.matches;
}

/** The value of a colour of page.css, such as "text". */
function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

document.getElementById("theme").addEventListener("click", () => {
  const now = document.documentElement.dataset.theme || "auto";
  setTheme(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
});
systemIsDark.addEventListener("change", () => document.dispatchEvent(new Event("themechange")));
setTheme(THEMES.includes(keptTheme()) ? keptTheme() : "auto");
