/** The known name that `name` was probably meant to be, if any is close. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const furthest = Math.max(1, Math.floor(name.length / 3));
  let best: string | undefined;
  let bestDistance = furthest + 1;
  for (const candidate of known) {
    const isBeginning = candidate.startsWith(name) && name.length > 1;
    // As many letters at least are added or removed; a name of megabytes is not compared at all.
    if (!isBeginning && Math.abs(name.length - candidate.length) >= bestDistance) continue;
    const distance = isBeginning ? 1 : editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** How many letters must be added, removed or replaced to get from `a` to `b` (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
