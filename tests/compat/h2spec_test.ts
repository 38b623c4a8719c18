/** What h2spec says of HTTP/2 as it is served here. Skipped where there is no Go. */
import assert from "node:assert/strict";
import { withServer } from "../../shared/rpc/testing.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { buildGoProgram } from "./go_program.ts";
import { LONG_MS, runToEnd } from "../e2e/run_to_end.ts";

/** Cases of h2spec 2.2.1; those that fail are among them. */
const LEAST_CASES = 140;
/** How long a case may take. */
const CASE_S = 2;

/** What it wants and doesn't get, and why. */
const ALLOWED: Readonly<Record<string, string>> = {
  "http2/3.5: Sends invalid connection preface": "what is no HTTP/2 is answered over HTTP/1.1",
  "http2/5.1: closed: Sends a HEADERS frame":
    "the Python SDK uses a number twice at times: only that request is refused",
  "http2/5.1.1: Sends stream identifier that is numerically smaller than previous":
    "the Python SDK's threads begin requests out of order",
  "http2/5.1.2: Sends HEADERS frames that causes their advertised concurrent stream limit to be exceeded":
    "those before are answered by then",
};

const program = await buildGoProgram({
  name: "h2spec",
  folder: "h2spec",
  package: "github.com/summerwind/h2spec/cmd/h2spec",
});

/** Cases in all, and those that failed, as `http2/5.1: what it did`. */
async function runH2spec(port: string): Promise<{ cases: number; failed: string[] }> {
  const report = await Deno.makeTempFile({ suffix: ".xml" });
  try {
    await runToEnd(program.path, {
      args: ["-h", "127.0.0.1", "-p", port, "-o", String(CASE_S), "-j", report],
      stdout: "null",
      limitMs: LONG_MS,
    });
    const cases = (await Deno.readTextFile(report)).split("<testcase ").slice(1);
    const failed = cases.filter((one) => /<(failure|error)/.test(one)).map((one) =>
      `${/package="(.*?)"/.exec(one)?.[1]}: ${/classname="(.*?)"/.exec(one)?.[1]}`
    );
    return { cases: cases.length, failed };
  } finally {
    await Deno.remove(report);
  }
}

Deno.test(
  "h2spec finds nothing but what is meant so",
  { ignore: ignoreBecause(import.meta.url, program.missing) },
  async () => {
    await withServer({}, async (url) => {
      const { cases, failed } = await runH2spec(new URL(url).port);
      assert.ok(cases >= LEAST_CASES, `${cases} cases`);
      assert.deepEqual(failed.filter((one) => !(one in ALLOWED)), []);
    });
  },
);
