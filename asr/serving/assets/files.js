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
  // The browser decodes what it can, then the server need not; large files are refused before they are sent.
  const sound = file.size <= limits.upload_bytes ? await decoded(file) : null;
  const body = sound ? wav(sound.samples, sound.rate) : file;
  if (body.size > limits.upload_bytes) throw new Error(`${(body.size / 1e6).toFixed(0)} MB, expected at most ${limits.upload_bytes / 1e6} MB; choose a part of it`);
  if (text) {
    const found = await (await ask("POST", query("/api/align", { text }), body)).json();
    about.push(...downloads((format) => ask("POST", query("/api/align", { text, format, name: file.name }), body).then(keep)));
    return sentence(found.words, sound, about, { phones: found.phones, open: true });
  }
  const found = await (await ask("POST", "/api/transcribe", body)).json();
  about.push(...downloads((format) => keepWords(found.words, found.duration_s, file.name, format)));
  const isRejected = !found.words.length && found.rejected.length > 0;
  return isRejected ? other(found.rejected, sound, about) : sentence(found.words, sound, about, { open: true });
}

function downloads(get) {
  return [["TextGrid", "textgrid"], ["CTM", "ctm"]].map(([name, format]) => button(name, "", () => get(format).catch(complain)));
}
