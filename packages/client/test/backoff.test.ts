import { expect, it } from "vitest";
import { Backoff } from "../src/server/backoff.js";

it("delays double up to the limit, and start again after a success", () => {
  const backoff = new Backoff(100, 500, 0);
  expect([1, 2, 3, 4, 5].map(() => backoff.next())).toEqual([100, 200, 400, 500, 500]);
  expect(backoff.attempts).toBe(5);
  backoff.reset();
  expect(backoff.next()).toBe(100);
});

it("a share of each delay is random", () => {
  const delays = Array.from({ length: 50 }, () => new Backoff(100, 500).next());
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(50);
  expect(Math.max(...delays)).toBeLessThanOrEqual(100);
  expect(new Set(delays).size).toBeGreaterThan(1);
});
