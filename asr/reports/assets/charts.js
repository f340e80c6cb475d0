"use strict";
// Charts are drawn by Plotly when they come near the screen, in the colours of the theme.

function loadPlotly() {
  if (window.Plotly) return;
  const script = document.createElement("script");
  script.textContent = document.getElementById("plotly").textContent;
  document.head.append(script); // runs at once
}

function axisStyle(axis, isMap) {
  return {
    ...axis,
    showgrid: !isMap,
    zeroline: false,
    fixedrange: true, // a finger on it scrolls the page
    gridcolor: color("grid"),
    linecolor: color("grid"),
    tickfont: { size: isMap ? 10 : 11 },
  };
}

function layoutOf(plot, box) {
  const isMap = Boolean(plot.layout.coloraxis);
  const isNarrow = box.clientWidth < 420;
  const layout = {
    ...plot.layout,
    autosize: true,
    height: isMap && isNarrow ? 1.25 * box.clientWidth : Number(box.dataset.height),
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: color("soft-text") },
    colorway: [1, 2, 3, 4, 5, 6].map((n) => color(`series-${n}`)),
    margin: { l: 56, r: isMap ? 8 : 16, t: isMap ? 56 : 34, b: isMap ? 12 : 48 },
    hoverlabel: {
      bgcolor: color("surface"),
      bordercolor: color("line"),
      font: { color: color("text"), family: getComputedStyle(document.body).fontFamily },
    },
    dragmode: false,
    xaxis: axisStyle(plot.layout.xaxis, isMap),
    yaxis: axisStyle(plot.layout.yaxis, isMap),
    bargap: 0.25,
  };
  if (isMap) {
    const scale = [0, 0.25, 0.5, 0.75, 1].map((at) => [at, cssColor(heat(at))]);
    layout.coloraxis = { ...plot.layout.coloraxis, colorscale: scale };
    if (isNarrow) {
      layout.coloraxis.colorbar = { ...plot.layout.coloraxis.colorbar, orientation: "h", y: 0, yanchor: "top" };
      layout.margin.b = 48;
    } else {
      Object.assign(layout.xaxis, { dtick: 1, tickangle: -90 });
      layout.yaxis.dtick = 1;
    }
  }
  return layout;
}

function drawChart(box) {
  loadPlotly();
  const plot = JSON.parse(document.getElementById(box.id.replace("chart-", "plot-")).textContent);
  for (const trace of plot.data) {
    for (const bars of [trace.error_x, trace.error_y]) if (bars) bars.color = color("soft-text");
  }
  const layout = layoutOf(plot, box);
  box.style.height = `${layout.height}px`;
  Plotly.react(box, plot.data, layout, { displayModeBar: false, responsive: true });
  box.dataset.drawn = Math.round(performance.now()); // milliseconds after the page was asked for
}

// Colours of maps: from nothing (the page itself) to much.
const HEAT = {
  light: [[255, 255, 255], [196, 216, 243], [104, 146, 214], [44, 76, 160], [18, 24, 72]],
  dark: [[22, 26, 34], [50, 48, 110], [136, 62, 130], [232, 116, 92], [253, 236, 168]],
};

/** The colour [r, g, b] of a share between 0 and 1. */
function heat(share) {
  const stops = HEAT[isDark() ? "dark" : "light"];
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const below = Math.min(Math.floor(place), stops.length - 2);
  return stops[below].map((c, k) => Math.round(c + (place - below) * (stops[below + 1][k] - c)));
}

function cssColor([r, g, b]) {
  return `rgb(${r},${g},${b})`;
}

const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        near.unobserve(target);
        drawChart(target);
      }
    }
  },
  { rootMargin: "200px" },
);
// The text is on the screen before the library is read.
requestAnimationFrame(() => setTimeout(() => document.querySelectorAll(".chart").forEach((box) => near.observe(box))));
document.addEventListener("themechange", () => document.querySelectorAll(".chart[data-drawn]").forEach(drawChart));
