import assert from "node:assert/strict";
import { answerFor, type Conditions, parseRange } from "./byte_range.ts";

Deno.test("parseRange() reads one range of bytes and takes anything else as the whole", () => {
  const cases: [header: string | undefined, answer: string][] = [
    [undefined, "whole"],
    ["bytes=0-0", "0-0"],
    ["bytes=0-", "0-99"],
    ["bytes=10-19", "10-19"],
    ["bytes=90-200", "90-99"],
    ["bytes=99-", "99-99"],
    ["bytes=-1", "99-99"],
    ["bytes=-500", "0-99"],
    ["Bytes=5-6", "5-6"],
    ["bytes=100-", "unsatisfiable"],
    ["bytes=100-200", "unsatisfiable"],
    ["bytes=-0", "unsatisfiable"],
    ["bytes=19-10", "whole"],
    ["bytes=-", "whole"],
    ["bytes=0-1,5-6", "whole"],
    ["bytes=a-b", "whole"],
    ["lines=0-1", "whole"],
    ["bytes=99999999999999999999-", "unsatisfiable"],
  ];
  for (const [header, answer] of cases) {
    const range = parseRange(header, 100);
    const text = range.kind === "part" ? `${range.start}-${range.end}` : range.kind;
    assert.equal(text, answer, String(header));
  }
});

Deno.test("answerFor() heeds conditions in the order of the standard", () => {
  const modified = new Date("2026-08-20T10:00:00.700Z");
  const same = "Thu, 20 Aug 2026 10:00:00 GMT";
  const earlier = "Thu, 20 Aug 2026 09:59:59 GMT";
  const cases: [asked: Partial<Conditions>, status: number][] = [
    [{}, 200],
    [{ range: "bytes=1-2" }, 206],
    [{ range: "bytes=100-" }, 416],
    [{ ifNoneMatch: '"a"' }, 304],
    [{ ifNoneMatch: 'W/"a"' }, 304],
    [{ ifNoneMatch: '"b", "a"' }, 304],
    [{ ifNoneMatch: "*" }, 304],
    [{ ifNoneMatch: '"b"', ifModifiedSince: same }, 200],
    [{ ifModifiedSince: same }, 304],
    [{ ifModifiedSince: earlier }, 200],
    [{ ifModifiedSince: "nonsense" }, 200],
    [{ ifMatch: '"a"', range: "bytes=1-2" }, 206],
    [{ ifMatch: 'W/"a"' }, 412],
    [{ ifMatch: '"b"', ifNoneMatch: '"a"' }, 412],
    [{ ifRange: '"a"', range: "bytes=1-2" }, 206],
    [{ ifRange: '"b"', range: "bytes=1-2" }, 200],
    [{ ifRange: 'W/"a"', range: "bytes=1-2" }, 200],
    [{ ifRange: same, range: "bytes=1-2" }, 206],
    [{ ifRange: earlier, range: "bytes=1-2" }, 200],
    [{ ifRange: '"b"', range: "bytes=100-" }, 200],
  ];
  for (const [asked, status] of cases) {
    const answer = answerFor({
      ifMatch: undefined,
      ifNoneMatch: undefined,
      ifModifiedSince: undefined,
      ifRange: undefined,
      range: undefined,
      ...asked,
    }, { etag: '"a"', modified, size: 100 });
    assert.equal(answer.status, status, JSON.stringify(asked));
  }
});
