import { describe, expect, it, vi } from "vitest";
import { partOf } from "../src/shell/part";

const is = (isThere: boolean) => () => Promise.resolve(isThere);
const failed = () => Promise.reject(new Error("Failed to fetch"));

describe("a part of the console", () => {
  it("is loaded once, whoever asks", async () => {
    const fetch = vi.fn(() => Promise.resolve("module"));
    const part = partOf(fetch, is(true));
    await Promise.all([part.preload(), part.load(), part.load()]);
    expect(await part.load()).toBe(true);
    await part.preload();
    expect(fetch).toHaveBeenCalledTimes(1);
    expect(part.read()).toEqual({ module: "module", trouble: undefined, isLoading: false });
  });

  it("says nothing when it could not be loaded before anybody wanted it", async () => {
    const part = partOf(failed, is(false));
    await part.preload();
    expect(part.read()).toEqual({ module: undefined, trouble: undefined, isLoading: false });
  });

  it("says that the server does not respond, until it does", async () => {
    const fetch = vi.fn<() => Promise<string>>().mockImplementationOnce(failed).mockResolvedValueOnce("module");
    const part = partOf(fetch, is(false));
    expect(await part.load()).toBe(false);
    expect(part.read()).toEqual({ module: undefined, trouble: "unreachable", isLoading: false });
    const again = part.load();
    expect(part.read()).toMatchObject({ trouble: "unreachable", isLoading: true });
    expect(await again).toBe(true);
    expect(part.read()).toEqual({ module: "module", trouble: undefined, isLoading: false });
  });

  it("is tried twice where the server is there", async () => {
    const fetch = vi.fn<() => Promise<string>>().mockImplementationOnce(failed).mockResolvedValueOnce("module");
    const part = partOf(fetch, is(true));
    expect(await part.load()).toBe(true);
    expect(part.read().trouble).toBeUndefined();
  });

  it("is outdated where the server is there without it", async () => {
    const part = partOf(failed, is(true));
    expect(await part.load()).toBe(false);
    expect(part.read().trouble).toBe("outdated");
  });

  it("that failed quietly is tried again when it is shown meanwhile", async () => {
    let fail = (_: Error) => {};
    const fetch = vi
      .fn<() => Promise<string>>()
      .mockReturnValueOnce(new Promise((_, reject) => (fail = reject)))
      .mockResolvedValueOnce("module");
    const part = partOf(fetch, is(true));
    const quiet = part.preload();
    const shown = part.load();
    fail(new Error("cut off"));
    await quiet;
    expect(await shown).toBe(true);
  });
});
