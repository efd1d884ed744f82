import { describe, expect, it, vi } from "vitest";
import { changeBgm, getLocation, openUrl } from "../src/demo.js";
import { askUser, type UserAnswer } from "../src/index.js";

const { signal } = new AbortController();
const call = { toolCallId: "c1", toolName: "t", input: {}, signal };

describe("openUrl", () => {
  it("opens and answers with the view's key", async () => {
    const open = vi.fn(() => "panel-7");
    const handler = openUrl({ open });
    expect(await handler({ url: "https://example.com/a", title: "A" }, call)).toEqual({
      url: "https://example.com/a",
      viewKey: "panel-7",
    });
    expect(open.mock.calls).toEqual([[{ url: "https://example.com/a", title: "A", signal }]]);
  });

  it("makes a key where the application has none", async () => {
    expect(await openUrl({ open: () => undefined })({ url: "http://a.example", title: null }, call)).toEqual({
      url: "http://a.example",
      viewKey: "view-c1",
    });
  });

  it("says what the application saw", async () => {
    const open = openUrl({ open: async () => ({ viewKey: "panel-7", state: "loaded" as const }) });
    expect(await open({ url: "https://example.com/a" }, call)).toEqual({
      url: "https://example.com/a",
      viewKey: "panel-7",
      state: "loaded",
    });
    const refused = openUrl({ open: () => Promise.reject(new Error("The page does not allow to be shown here.")) });
    await expect(refused({ url: "https://example.com/a" }, call)).rejects.toThrow("does not allow");
  });

  it.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    " JAVASCRIPT:x",
    "no address",
    undefined,
    5,
  ])("does not open %s", async (url) => {
    const open = vi.fn();
    await expect(openUrl({ open })({ url }, call)).rejects.toThrow();
    expect(open).not.toHaveBeenCalled();
  });
});

describe("getLocation", () => {
  const coords = {
    latitude: 1,
    longitude: 2,
    accuracy: 3,
    altitude: null,
    altitudeAccuracy: null,
    heading: null,
    speed: null,
  };

  it("answers with plain numbers", async () => {
    const getCurrentPosition = (found: PositionCallback) => found({ coords, timestamp: 0 } as GeolocationPosition);
    const handler = getLocation({ geolocation: { getCurrentPosition } as Geolocation });
    expect(await handler({}, call)).toEqual({ ...coords, timestamp: "1970-01-01T00:00:00.000Z" });
  });

  it("says why it can't", async () => {
    const getCurrentPosition = (_: PositionCallback, failed?: PositionErrorCallback | null) =>
      failed?.({ code: 1, message: "" } as GeolocationPositionError);
    const handler = getLocation({ geolocation: { getCurrentPosition } as Geolocation });
    await expect(handler({}, call)).rejects.toThrow("did not allow");
  });

  it("ends when the call is over", async () => {
    const end = new AbortController();
    const handler = getLocation({ geolocation: { getCurrentPosition: () => {} } as unknown as Geolocation });
    const found = handler({}, { ...call, signal: end.signal });
    end.abort(new Error("over"));
    await expect(found).rejects.toThrow("over");
    expect(() => handler({}, { ...call, signal: end.signal })).toThrow("over");
  });

  it("says that there is none", () => {
    expect(() => getLocation()({}, call)).toThrow("This browser has no geolocation.");
  });
});

describe("changeBgm", () => {
  it("plays the track", async () => {
    const play = vi.fn();
    expect(await changeBgm({ play })({ track: 2 }, call)).toEqual({ success: true, track: 2 });
    expect(play).toHaveBeenCalledWith(2, signal);
    await expect(changeBgm({ play })({ track: "2" }, call)).rejects.toThrow("no track");
  });
});

describe("askUser", () => {
  const input = { message: "Which seat?", schema: { type: "object", properties: {} }, from: "book" };

  it.each<[UserAnswer, object]>([
    [
      { action: "accept", content: { seat: "12A" } },
      { action: "accept", content: { seat: "12A" } },
    ],
    [{ action: "accept" }, { action: "accept", content: {} }],
    [{ action: "decline" }, { action: "decline" }],
    [{ action: "cancel" }, { action: "cancel" }],
  ])("%j is answered", async (answer, output) => {
    const prompt = vi.fn(() => answer);
    expect(await askUser({ prompt })(input, call)).toEqual(output);
    expect(prompt.mock.calls).toEqual([[{ ...input, toolCallId: "c1", signal: expect.any(AbortSignal) }]]);
  });

  it("rejects a prompt without a message, and accepts one without a form", async () => {
    const prompt = vi.fn((): UserAnswer => ({ action: "accept" }));
    await expect(askUser({ prompt })({ schema: {} }, call)).rejects.toThrow("The prompt has no message.");
    expect(prompt).not.toHaveBeenCalled();
    await askUser({ prompt })({ message: "Go on?", schema: "none" }, call);
    expect(prompt).toHaveBeenCalledWith(expect.objectContaining({ schema: {}, from: undefined }));
  });
});
