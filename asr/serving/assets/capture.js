// Runs in the audio thread: hands samples on in pieces of 2048.
class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.piece = new Float32Array(2048);
    this.n = 0;
  }

  process(inputs) {
    const channel = inputs[0][0];
    if (!channel) return true;
    this.piece.set(channel, this.n);
    this.n += channel.length;
    if (this.n >= this.piece.length) {
      this.port.postMessage(this.piece, [this.piece.buffer]);
      this.piece = new Float32Array(2048);
      this.n = 0;
    }
    return true;
  }
}
registerProcessor("capture", Capture);
