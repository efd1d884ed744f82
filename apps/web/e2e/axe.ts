import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";

/**
 * Nothing moves any more: what fades in or slides has arrived. What moves for ever, such as the sign of something that
 * runs, is not waited for.
 */
export async function expectStill(page: Page): Promise<void> {
  await expect.poll(() => moving(page)).toEqual([]);
}

/** The elements that are on their way, by class. */
function moving(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    document
      .getAnimations()
      .filter(({ playState, effect }) => playState === "running" && effect?.getComputedTiming().endTime !== Infinity)
      .map(({ effect }) => {
        const { target } = effect as KeyframeEffect;
        return `${target?.tagName}.${target?.className}`;
      }),
  );
}

interface Scope {
  /** Only what is in here. */
  include?: string;
  /** The mode that opens no other page for the result, and does not look into frames. */
  isLegacy?: boolean;
}

/** No finding of axe, judged when nothing moves: half of a fade has half of the contrast. */
export async function expectNoFindings(page: Page, { include, isLegacy = false }: Scope = {}): Promise<void> {
  await expectStill(page);
  const axe = new AxeBuilder({ page });
  if (include !== undefined) axe.include(include);
  if (isLegacy) axe.setLegacyMode().exclude("iframe");
  const { violations } = await axe.analyze();
  expect(violations.map(({ id, nodes }) => ({ id, at: nodes.map(({ target }) => target) }))).toEqual([]);
}
