import { createStore } from "../store";

/** The track that `change_bgm` requested. */
interface Music {
  track: number;
  /** A browser may mute a page until the user has interacted with it. */
  isAudible: boolean;
}

export const musicStore = createStore<Music | undefined>(undefined);

/** A few notes per track, in semitones above A3: music that needs no file and no licence. */
const TUNES = [
  [0, 7, 12, 7, 4, 7, 11, 7],
  [3, 10, 15, 10, 7, 10, 14, 10],
  [-2, 5, 10, 5, 2, 5, 9, 5],
];
const NOTE_SECONDS = 0.42;

let context: AudioContext | undefined;
let timer: ReturnType<typeof setInterval> | undefined;

export function playTrack(track: number): void {
  stopMusic();
  const tune = TUNES[Math.abs(track) % TUNES.length] ?? [];
  let step = 0;
  const audio = new AudioContext();
  context = audio;
  const tell = () => {
    if (context === audio) musicStore.write({ track, isAudible: audio.state === "running" });
  };
  audio.addEventListener("statechange", tell);
  tell();
  timer = setInterval(() => {
    const semitones = tune[step++ % tune.length];
    if (audio.state === "running" && semitones !== undefined) playNote(audio, 220 * 2 ** (semitones / 12));
  }, NOTE_SECONDS * 1000);
}

/** After a click the browser allows sound. */
export function unmute(): void {
  void context?.resume();
}

export function stopMusic(): void {
  clearInterval(timer);
  void context?.close();
  context = undefined;
  musicStore.write(undefined);
}

function playNote(audio: AudioContext, frequency: number): void {
  const oscillator = new OscillatorNode(audio, { type: "sine", frequency });
  const gain = new GainNode(audio, { gain: 0 });
  oscillator.connect(gain).connect(audio.destination);
  gain.gain.setTargetAtTime(0.05, audio.currentTime, 0.02);
  gain.gain.setTargetAtTime(0, audio.currentTime + 0.2, 0.15);
  oscillator.start();
  oscillator.stop(audio.currentTime + 1.2);
}
