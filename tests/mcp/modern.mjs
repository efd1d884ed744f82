// A small MCP server of protocol 2026-07-28, over stdio, or over HTTP if PORT is set. It is strict: it refuses what the
// specification tells a server to refuse (https://modelcontextprotocol.io/specification/2026-07-28/basic and the Tasks
// extension, SEP-2663). What happens is appended to the file in FAKE_LOG; tasks are files beside it, so that they outlive
// this program. A call needs nothing but its `requestState`, so it outlives it too.
import { createHmac } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const VERSION = "2026-07-28";
const META = "io.modelcontextprotocol/";
const TASKS = `${META}tasks`;
const log = process.env.FAKE_LOG;
const note = (text) => appendFileSync(log, `${text}\n`);
note("start");
note(`pid ${process.pid}`);

class Refused extends Error {
  constructor(code, message, data) {
    super(message);
    this.error = { code, message, data };
  }
}
const invalid = (message) => new Refused(-32602, message);

const tools = ["effect", "ask", "two", "again", "rich", "url", "sample", "large", "busy", "slow", "task", "task.ask"];
const extra = () => (existsSync(`${log}.extra`) ? ["extra"] : []);
const tool = (name) => ({ name, description: name, inputSchema: { type: "object" } });
const text = (value) => ({ resultType: "complete", content: [{ type: "text", text: value }] });

// The state of a call is signed, and bound to the tool and its arguments, as the specification advises.
const sign = (data) => createHmac("sha256", "a key").update(data).digest("base64url");
const seal = (name, input, round, padding = "") => {
  const data = Buffer.from(JSON.stringify({ name, input, round, padding })).toString("base64url");
  return `${data}.${sign(data)}`;
};
const open = (state, name, input) => {
  const [data, signature] = String(state).split(".");
  if (state === undefined || sign(data) !== signature) {
    throw invalid("requestState is missing or was changed");
  }
  const opened = JSON.parse(Buffer.from(data, "base64url").toString());
  if (opened.name !== name || JSON.stringify(opened.input) !== JSON.stringify(input)) {
    throw invalid("requestState is of another call");
  }
  return opened;
};

const form = (message, properties = { name: { type: "string" } }) => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message,
    requestedSchema: { type: "object", properties, required: Object.keys(properties) },
  },
});
const asking = {
  ask: () => ({ who: form("Who are you?") }),
  two: () => ({ first: form("First?"), second: form("Second?") }),
  again: (round) => ({ who: form(`Question ${round + 1}?`) }),
  large: () => ({ who: form("Who are you?") }),
  // Nested objects are beyond the schemas of the protocol.
  rich: () => ({ who: form("Where?", { place: { type: "object", properties: { town: { type: "string" } } } }) }),
  url: () => ({
    page: { method: "elicitation/create", params: { mode: "url", message: "Visit", url: "https://x.example/" } },
  }),
  sample: () => ({ words: { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } } }),
};
// A call is repeated until it has had as many rounds.
const rounds = { again: 3 };

const taskFile = (id) => `${log}.${id}`;
const readTask = (id) => {
  if (typeof id !== "string" || !/^task-\d+$/.test(id) || !existsSync(taskFile(id))) {
    throw invalid("Failed to retrieve task: Task not found");
  }
  return JSON.parse(readFileSync(taskFile(id), "utf8"));
};
const writeTask = (task) => writeFileSync(taskFile(task.taskId), JSON.stringify(task));
const taskView = (task) => {
  const { taskId, createdAt, asks, given, isCancelled } = task;
  const base = { taskId, createdAt, lastUpdatedAt: createdAt, ttlMs: null, pollIntervalMs: 20 };
  if (isCancelled) {
    return { ...base, status: "cancelled" };
  }
  if (asks && given === undefined) {
    return { ...base, status: "input_required", inputRequests: { who: form("Who is the task for?") } };
  }
  if (!existsSync(`${log}.finish`)) {
    return { ...base, status: "working", statusMessage: "half way" };
  }
  return { ...base, status: "completed", result: text(`task done ${JSON.stringify(given ?? null)}`) };
};

const call = ({ name, arguments: input = {}, inputResponses, requestState }) => {
  if (![...tools, ...extra()].includes(name)) {
    throw invalid(`no tool ${name}`);
  }
  note(`call ${name}${inputResponses === undefined && requestState === undefined ? "" : " again"}`);
  if (name === "slow") {
    return undefined;
  }
  if (name.startsWith("task")) {
    const taskId = `task-${Date.now()}${process.pid}`;
    writeTask({ taskId, createdAt: new Date().toISOString(), asks: name === "task.ask" });
    note(`task ${taskId}`);
    const { status, ...task } = taskView(readTask(taskId));
    return { resultType: "task", ...task, inputRequests: undefined, status: "working" };
  }
  if (name === "busy" && requestState === undefined) {
    return { resultType: "input_required", requestState: seal(name, input, 0) };
  }
  const ask = asking[name];
  if (ask === undefined) {
    note(`effect ${name}`);
    return text(`${name} done`);
  }
  if (inputResponses === undefined && requestState === undefined) {
    const padding = name === "large" ? "x".repeat(70_000) : "";
    return { resultType: "input_required", inputRequests: ask(0), requestState: seal(name, input, 0, padding) };
  }
  const { round } = open(requestState, name, input);
  const wanted = Object.keys(ask(round)).sort().join();
  if (
    Object.keys(inputResponses ?? {})
      .sort()
      .join() !== wanted
  ) {
    throw invalid(`inputResponses must have ${wanted}`);
  }
  for (const { action, content } of Object.values(inputResponses)) {
    if (!["accept", "decline", "cancel"].includes(action) || (action === "accept") !== (content !== undefined)) {
      throw invalid("an answer is not an ElicitResult");
    }
  }
  if (round + 1 < (rounds[name] ?? 1)) {
    return {
      resultType: "input_required",
      inputRequests: ask(round + 1),
      requestState: seal(name, input, round + 1),
    };
  }
  if (process.env.FAKE_HANGS) {
    note(`effect ${name}`);
    return undefined;
  }
  note(`effect ${name}`);
  return text(JSON.stringify(inputResponses));
};

const capabilities = { tools: { listChanged: true }, extensions: { [TASKS]: {} } };
const subscriptions = new Map();
const changed = () => {
  for (const [id, send] of subscriptions) {
    const _meta = { [`${META}subscriptionId`]: id };
    send({ method: "notifications/tools/list_changed", params: { _meta } });
  }
};

const methods = {
  "server/discover": () => ({
    resultType: "complete",
    supportedVersions: [VERSION],
    capabilities,
    instructions: process.env.FAKE_SAYS,
    ttlMs: 0,
    cacheScope: "private",
    _meta: { [`${META}serverInfo`]: { name: "modern", version: "1" } },
  }),
  // A long time to live: what has changed must be read nevertheless.
  "tools/list": () => ({
    resultType: "complete",
    tools: [...tools, ...extra()].map(tool),
    ttlMs: 3_600_000,
    cacheScope: "private",
  }),
  "tools/call": call,
  "tasks/get": ({ taskId }) => {
    note("get task");
    return { resultType: "complete", ...taskView(readTask(taskId)) };
  },
  "tasks/update": ({ taskId, inputResponses }) => {
    const task = readTask(taskId);
    if (task.given === undefined) {
      writeTask({ ...task, given: inputResponses.who });
    }
    note(`update ${JSON.stringify(inputResponses)}`);
    return { resultType: "complete" };
  },
  "tasks/cancel": ({ taskId }) => {
    writeTask({ ...readTask(taskId), isCancelled: true });
    note("cancel task");
    return { resultType: "complete" };
  },
};

const ids = new Set();
// Answers a message. `stream` sends further messages before the answer, and keeps the stream open if there is none.
const answer = ({ id, method, params }, stream) => {
  if (id === undefined) {
    if (method === "notifications/cancelled") {
      subscriptions.delete(params.requestId);
      note(`cancelled ${params.reason}`);
    }
    return undefined;
  }
  try {
    if (ids.has(id) && !process.env.PORT) {
      throw new Refused(-32600, "the id was used before");
    }
    ids.add(id);
    if (process.env.FAKE_BOTH && method === "initialize") {
      note("initialize");
      const serverInfo = { name: "both", version: "1" };
      return { id, result: { protocolVersion: params.protocolVersion, capabilities, serverInfo } };
    }
    const meta = params?._meta ?? {};
    if (meta[`${META}protocolVersion`] === undefined || meta[`${META}clientCapabilities`] === undefined) {
      throw invalid("_meta must have the protocol version and the capabilities of the client");
    }
    if (meta[`${META}protocolVersion`] !== VERSION) {
      throw new Refused(-32022, "unsupported protocol version", { supported: [VERSION] });
    }
    if (meta[`${META}clientInfo`]?.name === undefined) {
      throw invalid("_meta must have the client's name");
    }
    const client = meta[`${META}clientCapabilities`];
    if ((method.startsWith("tasks/") || params.name?.startsWith("task")) && client.extensions?.[TASKS] === undefined) {
      throw new Refused(-32021, "Missing required client capability");
    }
    if (method === "tools/call" && asking[params.name] && client.elicitation === undefined) {
      throw new Refused(-32021, "Missing required client capability");
    }
    if (method === "subscriptions/listen") {
      note("listen");
      const notifications = { toolsListChanged: params.notifications.toolsListChanged };
      stream({
        method: "notifications/subscriptions/acknowledged",
        params: { notifications, _meta: { [`${META}subscriptionId`]: id } },
      });
      subscriptions.set(id, stream);
      return undefined;
    }
    if (methods[method] === undefined) {
      throw new Refused(-32601, `no method ${method}`);
    }
    const result = methods[method](params);
    return result && { id, result };
  } catch (error) {
    if (!(error instanceof Refused)) {
      throw error;
    }
    note(`refused ${method}: ${error.message}`);
    return { id, error: error.error };
  }
};

// The tools change when the test says so.
let had = extra().length;
setInterval(() => {
  if (extra().length !== had) {
    had = extra().length;
    changed();
  }
}, 20).unref();

const line = (message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
if (process.env.PORT) {
  const named = { "tools/call": "name", "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId" };
  createServer(async (request, response) => {
    const json = (status, message) => {
      response.writeHead(status, { "content-type": "application/json" }).end(line(message));
    };
    if (request.method !== "POST") {
      return response.writeHead(405).end();
    }
    let body = "";
    for await (const chunk of request) {
      body += chunk;
    }
    const message = JSON.parse(body);
    const { headers } = request;
    const name = message.params?.[named[message.method]];
    const isFit =
      headers["mcp-protocol-version"] === VERSION &&
      headers["mcp-method"] === message.method &&
      headers["mcp-name"] === name &&
      headers["mcp-session-id"] === undefined &&
      /application\/json/.test(headers.accept) &&
      /text\/event-stream/.test(headers.accept);
    if (!isFit) {
      note(`refused headers of ${message.method}`);
      return json(400, { id: message.id ?? null, error: { code: -32020, message: "Header mismatch" } });
    }
    if (message.id === undefined) {
      answer(message);
      return response.writeHead(202).end();
    }
    const stream = (event) => {
      if (!response.headersSent) {
        response.writeHead(200, { "content-type": "text/event-stream" });
      }
      response.write(`data: ${line(event)}\n`);
    };
    response.on("close", () => {
      if (!response.writableFinished) {
        subscriptions.delete(message.id);
        note(`closed ${message.method}`);
      }
    });
    const answered = answer(message, stream);
    if (answered !== undefined) {
      json(200, answered);
    }
  }).listen(Number(process.env.PORT), "127.0.0.1", () => note("listening"));
} else {
  const send = (message) => process.stdout.write(line(message));
  createInterface({ input: process.stdin }).on("line", (received) => {
    const answered = answer(JSON.parse(received), send);
    if (answered !== undefined) {
      send(answered);
    }
  });
}
