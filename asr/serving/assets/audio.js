// Microphone, sound files, and playing: samples are Float32Array, one channel.

/** Opens the microphone and hands its samples on until it is closed. */
export class Microphone {
  async open(onSamples) {
    if (!navigator.mediaDevices) throw new Error("This browser gives no microphone here; open the page as http://127.0.0.1 or by https.");
    const wish = { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false };
    try {
      this.media = await navigator.mediaDevices.getUserMedia({ audio: wish });
    } catch (error) {
      const refused = error.name === "NotAllowedError";
      throw new Error(refused ? "The microphone was not allowed; allow it for this page in the browser." : "No microphone was found; plug one in.");
    }
    this.context = new AudioContext();
    await this.context.audioWorklet.addModule("/assets/capture.js");
    this.source = this.context.createMediaStreamSource(this.media);
    this.node = new AudioWorkletNode(this.context, "capture", { numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit" });
    this.node.port.onmessage = (event) => onSamples(event.data);
    this.source.connect(this.node);
    await this.context.resume();
    this.rate = this.context.sampleRate;
  }

  async close() {
    if (!this.context) return;
    this.node.port.onmessage = null;
    this.source.disconnect();
    for (const track of this.media.getTracks()) track.stop();
    await this.context.close();
    this.context = null;
  }
}

export function joined(pieces) {
  const all = new Float32Array(pieces.reduce((n, piece) => n + piece.length, 0));
  let n = 0;
  for (const piece of pieces) {
    all.set(piece, n);
    n += piece.length;
  }
  return all;
}

export function sixteenBits(samples) {
  return Int16Array.from(samples, (x) => Math.max(-32768, Math.min(32767, Math.round(x * 32768))));
}

/** Samples as a WAV file of 16 bits. */
export function wav(samples, rate) {
  const head = new DataView(new ArrayBuffer(44));
  const text = (at, letters) => [...letters].forEach((c, n) => head.setUint8(at + n, c.charCodeAt(0)));
  const n = 2 * samples.length;
  text(0, "RIFF"); head.setUint32(4, 36 + n, true); text(8, "WAVEfmt ");
  head.setUint32(16, 16, true); head.setUint16(20, 1, true); head.setUint16(22, 1, true);
  head.setUint32(24, rate, true); head.setUint32(28, 2 * rate, true); head.setUint16(32, 2, true); head.setUint16(34, 16, true);
  text(36, "data"); head.setUint32(40, n, true);
  return new Blob([head.buffer, sixteenBits(samples).buffer], { type: "audio/wav" });
}

/** The samples of a file that the browser can decode, or null. */
export async function decoded(file) {
  const context = new OfflineAudioContext(1, 1, 16000);
  try {
    const found = await context.decodeAudioData(await file.arrayBuffer());
    const mixed = new Float32Array(found.length);
    for (let c = 0; c < found.numberOfChannels; c++) found.getChannelData(c).forEach((x, n) => { mixed[n] += x / found.numberOfChannels; });
    return { samples: mixed, rate: found.sampleRate };
  } catch {
    return null;
  }
}

export function decibels(samples) {
  let sum = 0, peak = 0;
  for (const x of samples) {
    sum += x * x;
    peak = Math.max(peak, Math.abs(x));
  }
  return { level: 10 * Math.log10(sum / samples.length + 1e-10), peak: 20 * Math.log10(peak + 1e-5) };
}

const player = new Audio();

/** Play a URL, or stop it if it is what plays. */
export function play(url, onTime = () => {}) {
  const isSame = player.dataset.source === url && !player.paused;
  player.pause();
  if (isSame) return;
  player.dataset.source = url;
  player.src = url;
  player.ontimeupdate = () => onTime(player.ended ? null : player.currentTime);
  player.onended = () => onTime(null);
  player.play().catch(() => onTime(null));
}
