/**
 * The entries that fit a text, best first: every word of it stands in the entry; at the beginning of
 * the entry counts more than at that of a word, and that more than inside.
 *
 * @param most so many at most
 */
export function ranked<E extends { readonly text: string }>(
  entries: readonly E[],
  text: string,
  most: number,
): E[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return entries.slice(0, most);
  const fitting: { readonly entry: E; readonly points: number }[] = [];
  for (const entry of entries) {
    const lower = entry.text.toLowerCase();
    let points = 0;
    for (const word of words) {
      const at = lower.indexOf(word);
      if (at < 0) {
        points = -1;
        break;
      }
      points += at === 0 ? 3 : /[\s·\-_.:/]/.test(lower[at - 1] ?? "") ? 2 : 1;
    }
    if (points >= 0) fitting.push({ entry, points });
  }
  return fitting.sort((a, b) => b.points - a.points || a.entry.text.length - b.entry.text.length)
    .slice(0, most).map(({ entry }) => entry);
}
