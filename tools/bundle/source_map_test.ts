import assert from "node:assert/strict";
import { cutSourceMap, decodeVlq, encodeVlq, inlineComment } from "./source_map.ts";

/** Segments as [column, source, line, column in the source, name], each field absolute. */
function mapOf(...lines: number[][][]): string {
  const last = [0, 0, 0, 0, 0];
  return lines.map((line) => {
    last[0] = 0;
    return line.map((segment) =>
      encodeVlq(segment.map((value, i) => {
        const step = value - (last[i] ?? 0);
        last[i] = value;
        return step;
      }))
    ).join(",");
  }).join(";");
}

const own = (source: string) => source.startsWith("own/") ? source.toUpperCase() : undefined;

Deno.test("encodeVlq() is undone by decodeVlq() for small, large and negative numbers", () => {
  const numbers = [0, 1, -1, 15, 16, -16, 31, 32, 1_000_000, -1_000_000];
  assert.deepEqual(decodeVlq(encodeVlq(numbers)), numbers);
  // The format's own examples.
  assert.equal(encodeVlq([16]), "gB");
  assert.deepEqual(decodeVlq("AAgBC"), [0, 0, 16, 1]);
});

Deno.test("decodeVlq() refuses what is not base64", () => {
  assert.throws(() => decodeVlq("A*"), /"\*"/);
});

Deno.test("cutSourceMap() keeps one position a source line and marks the rest as not mapped", () => {
  const cut = cutSourceMap({
    version: 3,
    sources: ["package/a.js", "own/b.ts"],
    mappings: mapOf(
      [[0, 0, 0, 0], [5, 1, 7, 0], [9, 1, 7, 4], [12, 1, 8, 2, 0], [20, 0, 3, 0], [30, 1, 8, 9]],
    ),
  }, own);
  assert.deepEqual(cut.sources, ["OWN/B.TS"]);
  assert.equal(cut.mappings, mapOf([[5, 0, 7, 0], [12, 0, 8, 0], [20], [30, 0, 8, 0]]));
});

Deno.test("cutSourceMap() says a line again when a new generated line starts in it", () => {
  const cut = cutSourceMap({
    version: 3,
    sources: ["own/a.ts"],
    mappings: mapOf([[0, 0, 2, 0]], [], [[4, 0, 2, 5]]),
  }, own);
  assert.equal(cut.mappings, mapOf([[0, 0, 2, 0]], [], [[4, 0, 2, 0]]));
});

Deno.test("cutSourceMap() moves columns with the text", () => {
  const cut = cutSourceMap(
    {
      version: 3,
      sources: ["own/a.ts"],
      mappings: mapOf([[0, 0, 2, 0]], [[4, 0, 3, 0], [9, 0, 4, 0]]),
    },
    own,
    (line, column) => line === 1 && column > 5 ? column + 3 : column,
  );
  assert.equal(cut.mappings, mapOf([[0, 0, 2, 0]], [[4, 0, 3, 0], [12, 0, 4, 0]]));
});

Deno.test("inlineComment() carries the map as base64 JSON", () => {
  const map = { version: 3, sources: ["a.ts"], mappings: "AAAA" };
  const data = inlineComment(map).trim().split("base64,")[1] ?? "";
  assert.deepEqual(JSON.parse(atob(data)), map);
});
