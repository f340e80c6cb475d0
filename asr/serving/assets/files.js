// Recordings that are dropped: their words, or the alignment of a transcript.
import { ask, complain, keep, query } from "./api.js";
import { decoded, wav } from "./audio.js";
import { keepWords, other, sentence } from "./sentence.js";
import { button, element } from "./timeline.js";

const $ = (id) => document.getElementById(id);
let limits = null;

export function setUpFiles(model) {
  limits = model.limits;
  $("file").addEventListener("change", async () => {
    const files = [...$("file").files];
    $("file").value = "";
    await take(files);
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    $("drop").addEventListener(kind, (event) => {
      event.preventDefault();
      $("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop") take([...event.dataTransfer.files]);
    });
  }
}

async function take(files) {
  complain(null);
  const text = $("transcript").value.trim();
  for (const [n, file] of files.entries()) {
    $("files-status").textContent = `Listening to ${file.name}${files.length > 1 ? ` (${n + 1} of ${files.length})` : ""}`;
    const about = [element("span", "name", file.name)];
    try {
      $("results").prepend(await heard(file, text, about));
    } catch (error) {
      const item = element("li");
      item.append(...about, element("p", "refused", error.message));
      $("results").prepend(item);
    }
  }
  $("files-status").textContent = "";
}

async function heard(file, text, about) {
  if (file.size > limits.upload_bytes) throw tooLarge(file);
  const sound = await decoded(file); // to be played and drawn: it has another rate than the file
  if (text) {
    const found = await (await sent(query("/api/align", { text }), file, sound)).json();
    about.push(...downloads((format) => sent(query("/api/align", { text, format, name: file.name }), file, sound).then(keep)));
    about.push(...remarks(found, sound));
    return sentence(found.words, sound, about, { phones: found.phones, open: true });
  }
  const found = await (await sent("/api/transcribe", file, sound)).json();
  about.push(...downloads((format) => keepWords(found.words, found.duration_s, file.name, format)));
  about.push(...remarks(found, sound));
  const isRejected = !found.words.length && found.rejected.length > 0;
  return isRejected ? other(found.rejected, sound, about) : sentence(found.words, sound, about, { open: true });
}

/** Send a recording as it is, or what the browser made of it where the server does not read its kind (415). */
async function sent(place, file, sound) {
  try {
    return await ask("POST", place, file);
  } catch (error) {
    if (error.status !== 415 || !sound) throw error;
    const body = wav(sound.samples, sound.rate);
    if (body.size > limits.upload_bytes) throw tooLarge(body);
    return ask("POST", place, body);
  }
}

function tooLarge(body) {
  return new Error(`${(body.size / 1e6).toFixed(0)} MB, expected at most ${limits.upload_bytes / 1e6} MB; choose a part of it`);
}

/** What there is to know about a card: why its words are less sure than they seem, why it cannot be played. */
function remarks(found, sound) {
  const lines = [];
  if (found.warning) lines.push(element("span", "warning", found.warning));
  if (!sound) lines.push(element("span", "soft", "This browser cannot play it, so it is not drawn either"));
  return lines;
}

function downloads(get) {
  return [["TextGrid", "textgrid"], ["CTM", "ctm"]].map(([name, format]) => button(name, "", () => get(format).catch(complain)));
}
