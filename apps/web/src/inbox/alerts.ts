import { createStore } from "../store";

/** How new requests are announced besides the list. Nothing is on until somebody switches it on. */
export interface Alerts {
  isNotifying: boolean;
  isSounding: boolean;
}

const STORAGE = "holdpoint-alerts";

export const alertsStore = createStore<Alerts>(stored());

function stored(): Alerts {
  const names = (localStorage.getItem(STORAGE) ?? "").split(" ");
  return { isNotifying: names.includes("notify"), isSounding: names.includes("sound") };
}

function save(change: Partial<Alerts>): void {
  alertsStore.write((before) => ({ ...before, ...change }));
  const { isNotifying, isSounding } = alertsStore.read();
  localStorage.setItem(STORAGE, [isNotifying && "notify", isSounding && "sound"].filter(Boolean).join(" "));
}

/** What the browser lets this page do. */
export type Permission = NotificationPermission | "unsupported";

export function permission(): Permission {
  return "Notification" in window ? Notification.permission : "unsupported";
}

/** Switches notifications. Only this asks for the permission, and only a click calls it. */
export async function setNotifying(isNotifying: boolean): Promise<Permission> {
  if (!isNotifying || permission() === "unsupported") {
    save({ isNotifying: false });
    return permission();
  }
  const given = permission() === "default" ? await Notification.requestPermission() : permission();
  save({ isNotifying: given === "granted" });
  return given;
}

export function setSounding(isSounding: boolean): void {
  save({ isSounding });
  // A click is what lets the page make sounds, and the person hears what they have switched on.
  if (isSounding) playSound();
}

/** Shows a notification of the system, if they are on. `onClick` is called when it is chosen. */
export function notify(title: string, body: string, tag: string, onClick: () => void): void {
  if (!alertsStore.read().isNotifying || permission() !== "granted") return;
  try {
    // All tabs show the same one: the tag makes it one.
    const shown = new Notification(title, { body, tag, icon: "/mark.svg" });
    shown.onclick = () => {
      window.focus();
      shown.close();
      onClick();
    };
  } catch {
    // Some phones have the class and do not let a page use it. The badge and the title say the same.
  }
}

let audio: AudioContext | undefined;

/** Two short, quiet tones. */
export function playSound(): void {
  try {
    audio ??= new AudioContext();
    // A page that nobody has clicked on is not allowed to make sounds.
    if (audio.state === "suspended") void audio.resume().catch(() => undefined);
    const start = audio.currentTime;
    for (const [at, frequency] of [660, 880].entries()) {
      const [tone, volume] = [audio.createOscillator(), audio.createGain()];
      const from = start + at * 0.13;
      tone.frequency.value = frequency;
      volume.gain.setValueAtTime(0.0001, from);
      volume.gain.exponentialRampToValueAtTime(0.08, from + 0.02);
      volume.gain.exponentialRampToValueAtTime(0.0001, from + 0.12);
      tone.connect(volume).connect(audio.destination);
      tone.start(from);
      tone.stop(from + 0.13);
    }
  } catch {
    // Without a sound device there is no sound.
  }
}
