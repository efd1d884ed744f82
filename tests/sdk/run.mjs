// Plays chunk sequences through the AI SDK's own client classes, versions 6 and 7.
// Reads {"cases": [...]} on stdin, writes {"results": [...]} on stdout. See README.md.

import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const TIMEOUT_MS = 5000;
const AT_ONCE = 4;

// Nothing but the result may reach stdout.
for (const name of ["log", "info", "debug"]) console[name] = console.error;
process.on("unhandledRejection", (reason) => {
  console.error("unhandled rejection:", reason);
});

/** A chat's state without a UI: every write stores a snapshot (README: pushLive). */
class PlainState {
  status = "ready";
  error = undefined;

  constructor(messages, pushLive) {
    this.messages = messages;
    this.pushLive = pushLive;
  }

  snapshot = (value) => structuredClone(value);

  pushMessage = (message) => {
    this.messages = [...this.messages, this.pushLive ? message : this.snapshot(message)];
  };

  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };

  replaceMessage = (index, message) => {
    this.messages = [...this.messages.slice(0, index), this.snapshot(message), ...this.messages.slice(index + 1)];
  };
}

function segmentText(segment) {
  if (typeof segment.sse === "string") return segment.sse;
  return (segment.chunks ?? [])
    .map((chunk) => (chunk === "[DONE]" ? "data: [DONE]\n\n" : `data: ${JSON.stringify(chunk)}\n\n`))
    .join("");
}

function fakeFetch(playing) {
  return async () => {
    const status = playing.segment.status ?? 200;
    if (status === 204) return new Response(null, { status });

    const bytes = new TextEncoder().encode(segmentText(playing.segment));
    // Not at the end of an event, and possibly inside a character or a CRLF.
    const cut = bytes.length >> 1;
    const body = new ReadableStream({
      start(controller) {
        if (cut > 0) controller.enqueue(bytes.slice(0, cut));
        if (cut < bytes.length) controller.enqueue(bytes.slice(cut));
        controller.close();
      },
    });
    return new Response(body, {
      status,
      headers: { "content-type": "text/event-stream" },
    });
  };
}

function frameText(frame, requestId) {
  if (typeof frame === "string") return frame.replaceAll("$REQUEST", requestId);
  if (typeof frame?.requestId !== "string") return JSON.stringify(frame);
  return JSON.stringify({
    ...frame,
    requestId: frame.requestId.replaceAll("$REQUEST", requestId),
  });
}

function fakeWebSocket(playing) {
  return class {
    readyState = 0;
    onopen = null;
    onmessage = null;
    onerror = null;
    onclose = null;

    constructor() {
      queueMicrotask(() => {
        this.readyState = 1;
        this.onopen?.({});
      });
    }

    send(text) {
      const { type, requestId } = JSON.parse(text);
      if (type === "abort") return;
      const frames = playing.segment.ws ?? [];
      queueMicrotask(() => {
        for (const frame of frames) {
          if (this.readyState !== 1) return;
          if (frame === "$CLOSE") this.close(1006);
          else this.onmessage?.({ data: frameText(frame, requestId) });
        }
      });
    }

    close(code = 1000, reason = "") {
      if (this.readyState === 3) return;
      this.readyState = 3;
      this.onclose?.({ code, reason });
    }
  };
}

/** As JSON: undefined is dropped. Half a surrogate pair becomes U+FFFD. */
function plain(value) {
  return JSON.parse(JSON.stringify(value), (_, part) => (typeof part === "string" ? part.toWellFormed() : part));
}

async function act(chat, action) {
  if ("approve" in action) {
    await chat.addToolApprovalResponse({
      id: action.approve,
      approved: action.approved,
      ...("reason" in action && { reason: action.reason }),
    });
  } else if ("output" in action) {
    await chat.addToolOutput({
      tool: action.tool,
      toolCallId: action.toolCallId,
      output: action.output,
    });
  } else if ("errorText" in action) {
    await chat.addToolOutput({
      tool: action.tool,
      toolCallId: action.toolCallId,
      state: "output-error",
      errorText: action.errorText,
    });
  } else if (!("user" in action)) {
    throw new Error(`unknown action: ${JSON.stringify(action)}`);
  }
}

async function playSegment(chat, segment, index) {
  const actions = segment.before ?? [];
  for (const action of actions) await act(chat, action);

  const user = actions.find((action) => "user" in action)?.user;
  if (segment.resume) await chat.resumeStream();
  else if (segment.regenerate) await chat.regenerate();
  else if (user !== undefined) await chat.sendMessage({ text: user });
  else if (index === 0 && chat.lastMessage?.role !== "assistant") await chat.sendMessage({ text: "hi" });
  else await chat.sendMessage();
}

async function playCase(sdk, Chat, testCase, options) {
  const segments = testCase.segments ?? [];
  const overWebSocket = segments.some((segment) => "ws" in segment);
  if (overWebSocket && sdk.WebSocketChatTransport == null) return null;

  const playing = { segment: undefined };
  const toolCalls = [];
  const state = new PlainState(structuredClone(testCase.history ?? []), options.pushLive === true);
  let ids = 0;
  const chat = new Chat({
    id: "chat",
    state,
    generateId: () => `id-${ids++}`,
    transport: overWebSocket
      ? new sdk.WebSocketChatTransport({
          url: "ws://chat.invalid/",
          webSocket: fakeWebSocket(playing),
        })
      : new sdk.DefaultChatTransport({ fetch: fakeFetch(playing) }),
    onToolCall: ({ toolCall }) => {
      toolCalls.push(toolCall.toolCallId);
    },
  });

  let error = null;
  let failedSegment = null;
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`timeout after ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
  });

  for (const [index, segment] of segments.entries()) {
    playing.segment = segment;
    try {
      await Promise.race([playSegment(chat, segment, index), timeout]);
      if (chat.error !== undefined) throw chat.error;
    } catch (thrown) {
      error = plain(thrown instanceof Error ? thrown.message : String(thrown));
      failedSegment = index;
      break;
    }
  }
  clearTimeout(timer);

  const messages = plain(state.messages);
  return {
    error,
    failedSegment,
    messages,
    toolCalls: [...toolCalls],
    autoSend: {
      toolCalls: sdk.lastAssistantMessageIsCompleteWithToolCalls({ messages }),
      approvals: sdk.lastAssistantMessageIsCompleteWithApprovalResponses({
        messages,
      }),
    },
  };
}

/** Plays every case with one version of the SDK. */
async function playAll(sdk, input) {
  class Chat extends sdk.AbstractChat {}
  const results = new Array(input.cases.length);
  let next = 0;
  const player = async () => {
    while (next < input.cases.length) {
      const index = next++;
      results[index] = await playCase(sdk, Chat, input.cases[index], input);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, player));
  return results;
}

/** One thread per version, so that both run in parallel. */
function inThread(version, input) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: { version, input },
    });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error(`${version} gave no results`)));
  });
}

async function main() {
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const piece of process.stdin) text += piece;
  const input = JSON.parse(text);

  const [v6, v7] = await Promise.all([inThread("ai6", input), inThread("ai7", input)]);
  const results = input.cases.map(({ name }, index) => ({
    name,
    v6: v6[index],
    v7: v7[index],
  }));
  process.stdout.write(`${JSON.stringify({ results })}\n`);
}

if (isMainThread) {
  main().catch((error) => {
    console.error(error);
    process.exitCode = 2;
  });
} else {
  const { version, input } = workerData;
  parentPort.postMessage(await playAll(await import(version), input));
}
