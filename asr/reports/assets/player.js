"use strict";
// One sound at a time; whoever shows it is told where it is.

const player = {
  audio: document.getElementById("audio"),
  shown: null, // function of seconds and of whether it plays

  /** Play a sound from a time on; `show(seconds, plays)` is called while it does. */
  play(source, at, show) {
    const { audio } = this;
    if (this.shown && this.shown !== show) this.shown(null, false);
    this.shown = show;
    const start = () => {
      audio.currentTime = at;
      audio.play().catch(() => this.tell()); // stopped before it began
    };
    if (audio.dataset.source !== source) {
      audio.dataset.source = source;
      audio.src = source;
      audio.addEventListener("loadedmetadata", start, { once: true });
      audio.load();
    } else start();
  },

  pause() {
    this.audio.pause();
  },

  tell() {
    if (this.shown) this.shown(this.audio.currentTime, !this.audio.paused && !this.audio.ended);
  },

  follow() {
    player.tell();
    if (!player.audio.paused) requestAnimationFrame(player.follow);
  },
};

player.audio.addEventListener("playing", player.follow);
for (const event of ["pause", "ended", "seeked"]) player.audio.addEventListener(event, () => player.tell());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") player.pause();
});
