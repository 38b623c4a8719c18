/** Reasons that count, kept from changing a status each time they are received. */

const NUMBER = /\u2026|\d+(?:\.\d+)?(?:st|nd|rd|th)?/g;

/**
 * What to show where a reason comes once more: `before` while only numbers differ, with "…" in
 * place of those that changed ("3rd attempt, since 12 s" → "… attempt, since … s"); else `now`.
 */
export function steadyText(before: string | undefined, now: string): string {
  if (before === undefined || before === now) return now;
  if (before.replace(NUMBER, "…") !== now.replace(NUMBER, "…")) return now;
  const shown = before.match(NUMBER) ?? [];
  let at = 0;
  return now.replace(NUMBER, (number) => shown[at++] === number ? number : "…");
}
