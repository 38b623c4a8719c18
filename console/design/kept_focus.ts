import { tick } from "svelte";

/**
 * Puts the focus on the page when what had it goes away with what was done, so that keyboards and
 * screen readers do not begin at the top of the window.
 * In a dialog it is put on that.
 */
export async function keepFocus(): Promise<void> {
  await tick();
  if (document.activeElement !== document.body) return;
  const dialog = document.querySelector<HTMLElement>("dialog[open] header button");
  (dialog ?? document.getElementById("main"))?.focus({ preventScroll: true });
}
