import type { Page } from "playwright-core";

/** How long notes are shown without a button and with one, in `console/design/toasts.svelte.ts`. */
const SHOWN_MS = [6_000, 12_000];

const KEEP_NOTES = `{
  const real = window.setTimeout;
  window.setTimeout = (run, ms, ...values) =>
    ${JSON.stringify(SHOWN_MS)}.includes(ms) ? 0 : real(run, ms, ...values);
}`;

/** Notes of a page stay until they are dismissed: how long a test takes to see them does not count. */
export async function keepNotes(page: Page): Promise<void> {
  await page.addInitScript(KEEP_NOTES);
  await page.evaluate(KEEP_NOTES);
}
