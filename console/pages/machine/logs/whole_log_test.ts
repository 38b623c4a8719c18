import assert from "node:assert/strict";
import { readWholeLog } from "./whole_log.ts";

/** Three pages of two lines, the second without any, as a search has them. */
const PAGES: Readonly<Record<string, { texts: string[]; nextPageToken: string }>> = {
  "": { texts: ["six", "five"], nextPageToken: "b" },
  b: { texts: [], nextPageToken: "c" },
  c: { texts: ["two", "one"], nextPageToken: "" },
};

async function whole(mostCharacters: number, stopAfter = Infinity) {
  const stop = new AbortController();
  const seen: number[] = [];
  const found = await readWholeLog({
    read: (token) => Promise.resolve(PAGES[token] ?? { texts: [], nextPageToken: "" }),
    mostCharacters,
    progress: (lines) => {
      seen.push(lines);
      if (seen.length === stopAfter) stop.abort(new Error("stopped"));
    },
    signal: stop.signal,
  });
  return { ...found, seen, text: await found.blob.text() };
}

Deno.test("readWholeLog() has all pages, the oldest line first, and says how far it is", async () => {
  const { text, lines, isAll, seen } = await whole(1_000);
  assert.deepEqual([text, lines, isAll], ["one\ntwo\nfive\nsix\n", 4, true]);
  assert.deepEqual(seen, [2, 2, 4]);
});

Deno.test("readWholeLog() leaves older lines out where there are too many, and says so", async () => {
  const { text, lines, isAll } = await whole(5);
  assert.deepEqual([text, lines, isAll], ["five\nsix\n", 2, false]);
});

Deno.test("readWholeLog() reads no further once it is stopped", async () => {
  await assert.rejects(whole(1_000, 1), /stopped/);
});
