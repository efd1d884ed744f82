import { expect, type Page } from "@playwright/test";
import { isFull } from "../playwright.config";

/** Common screens. At 200 % zoom a page has half the pixels, each twice as large. */
export const SCREENS = {
  desktop: { viewport: { width: 1360, height: 860 } },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  zoomed: { viewport: { width: 680, height: 430 }, deviceScaleFactor: 2 },
} as const;

export type Screen = keyof typeof SCREENS;

/** All of them in the full run, the named ones in the short run. */
export function screens(...short: Screen[]): Screen[] {
  return isFull ? (Object.keys(SCREENS) as Screen[]) : short;
}

/** Nothing overflows on the right or scrolls sideways; a drawer may still be sliding in. */
export async function expectNoOverflow(page: Page): Promise<void> {
  await expect.poll(() => overflowing(page)).toEqual([]);
}

/** The overflowing elements, by class. */
function overflowing(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { scrollHeight, scrollWidth, clientHeight, clientWidth } = document.documentElement;
    const whole = scrollHeight > clientHeight || scrollWidth > clientWidth ? ["the page itself"] : [];
    const parts = [...document.querySelectorAll<HTMLElement>("body *")]
      .filter((element) => {
        const box = element.getBoundingClientRect();
        if (box.width === 0 || element.closest(".visually-hidden, svg, [hidden]")) return false;
        const style = getComputedStyle(element);
        const isScrollable = element.scrollWidth > element.clientWidth + 1 && /auto|scroll/.test(style.overflowX);
        return box.right > window.innerWidth + 1 || (isScrollable && !element.closest("pre, .pages__tabs"));
      })
      .map((element) => `${element.tagName}.${element.className}`);
    return [...whole, ...parts];
  });
}
