// A page with `useChat`, in jsdom: what a user sees, and the buttons that they click.

import { JSDOM } from "jsdom";

const dom = new JSDOM("<!doctype html><body></body>", { url: "http://localhost/", pretendToBeVisual: true });
Object.assign(globalThis, { window: dom.window, document: dom.window.document, IS_REACT_ACT_ENVIRONMENT: true });
// Built into Node from version 21 on.
globalThis.navigator ??= dom.window.navigator;

// React reads `window` when it is loaded.
const { act, createElement: h, StrictMode } = await import("react");
const { createRoot } = await import("react-dom/client");

import { bothPredicates, TOO_MANY } from "./client.mjs";
import { isTool } from "./record.mjs";
import { transportOf } from "./transport.mjs";
import { pause } from "./wait.mjs";

const DEADLINE_MS = 20_000;

function Part({ part, decide }) {
  if (part.type === "text") return h("p", null, part.text);
  if (!isTool(part)) return null;
  const buttons = [
    h("button", { key: "yes", onClick: () => decide({ id: part.approval.id, approved: true }) }, "approve"),
    h("button", { key: "no", onClick: () => decide({ id: part.approval.id, approved: false, reason: "no" }) }, "deny"),
  ];
  const output = part.output === undefined ? "" : JSON.stringify(part.output);
  return h("section", null, `${part.type} ${part.state} ${output}`, part.state === "approval-requested" && buttons);
}

function Page({ useChat, options, run }) {
  const { messages, status, error, sendMessage, addToolApprovalResponse, addToolOutput } = useChat({
    ...options,
    onToolCall: ({ toolCall }) => {
      const output = run(toolCall);
      if (output) addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output });
    },
  });
  return h(
    "main",
    null,
    messages.map(({ id, role, parts }) =>
      h(
        "article",
        { key: id, className: role },
        parts.map((part, at) => h(Part, { key: at, part, decide: addToolApprovalResponse })),
      ),
    ),
    h("output", null, error ? `error: ${error.message}` : status),
    h("button", { onClick: (event) => sendMessage({ text: event.currentTarget.dataset.text }) }, "send"),
  );
}

/** Renders the page like an app in development: in strict mode, where effects run twice. */
export async function openPage(kind, { server, tab, id, messages, wait, runs, resume = false, isManual = false }) {
  const counts = { sends: 0, resumes: 0 };
  const called = [];
  const count = (what) => {
    counts[what] += 1;
    if (counts.sends > TOO_MANY) throw new Error("the client sends for ever");
  };
  const transport = transportOf(kind, { server, tab, wait, count });
  const options = { id, messages, transport, resume };
  if (!isManual) options.sendAutomaticallyWhen = bothPredicates(kind.sdk);
  const run = (toolCall) => {
    called.push(toolCall.toolName);
    return runs?.(toolCall);
  };
  const place = document.body.appendChild(document.createElement("div"));
  const root = createRoot(place);
  await act(async () => root.render(h(StrictMode, null, h(Page, { useChat: kind.useChat, options, run }))));

  const press = async (name, text = "") => {
    const button = [...place.querySelectorAll("button")].find(({ textContent }) => textContent === name);
    if (!button) throw new Error(`no button ${name} in: ${place.textContent}`);
    button.dataset.text = text;
    await act(async () => button.click());
  };
  return {
    counts,
    /** The tools for which `onToolCall` fired. */
    called,
    press,
    say: (text) => press("send", text),
    get status() {
      return place.querySelector("output").textContent;
    },
    /** The text shown for each assistant message. */
    get answers() {
      return [...place.querySelectorAll("article.assistant")].map(({ textContent }) => textContent);
    },
    /** React works inside `act`, so the waiting has to happen there. */
    async until(what, ask) {
      const deadline = Date.now() + DEADLINE_MS;
      while (!ask()) {
        if (Date.now() > deadline) throw new Error(`waited in vain until ${what}; the page: ${place.textContent}`);
        await act(() => pause(4));
      }
    },
    /** Waits for something unrelated to the page, which may change meanwhile. */
    async during(work) {
      let result;
      await act(async () => {
        result = await work();
      });
      return result;
    },
    /** Nothing more happens on its own. */
    async rests() {
      let before;
      do {
        before = { ...counts };
        await this.until("the page is ready", () => this.status === "ready");
        await act(() => pause(40));
      } while (this.status !== "ready" || before.sends !== counts.sends || before.resumes !== counts.resumes);
    },
    async close() {
      await act(async () => root.unmount());
      transport.close?.();
      place.remove();
    },
  };
}
