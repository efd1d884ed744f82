import { test } from "./test";

test("cpu", async ({ console, page, context }) => {
  await console.open("sse");
  await console.send("send 50 dollars to Hanako");
  await console.expectState(console.card("process_payment"), "approval-requested");
  await page.waitForTimeout(2000);
  const cdp = await context.newCDPSession(page);
  await cdp.send("Performance.enable");
  const read = async () =>
    Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value]));
  const a = await read();
  await page.waitForTimeout(8000);
  const b = await read();
  for (const k of ["TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration"])
    globalThis.console.log(k, ((b[k] ?? 0) - (a[k] ?? 0)).toFixed(3), "s in 8 s");
});
