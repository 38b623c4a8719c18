import assert from "node:assert/strict";
import {
  filesOfUncaught,
  folderTimes,
  inTheirFiles,
  parseReport,
  slowest,
  timesTables,
  timesText,
  withTimes,
} from "./times.ts";

const REPORT = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="4" failures="1" errors="0" time="0.088">
    <testsuite name="./shared/rpc/a_test.ts" tests="4" disabled="1" errors="0" failures="1">
        <testcase name="one &amp; &lt;x&gt; > y" classname="./shared/rpc/a_test.ts" time="0.500" line="1" col="6">
        </testcase>
        <testcase name="two" classname="./shared/rpc/a_test.ts" time="0.000" line="2" col="6">
            <skipped/>
        </testcase>
        <testcase name="three" classname="./shared/rpc/a_test.ts" time="2.000" line="3" col="6">
            <failure message="no">Error: no</failure>
        </testcase>
        <testcase name="three &gt; step" classname="./shared/rpc/a_test.ts" time="1.900" line="3" col="43">
        </testcase>
    </testsuite>
    <testsuite name="./cloud/a/b/c_test.ts" tests="1" disabled="0" errors="0" failures="0">
        <testcase name="a | b" classname="./cloud/a/b/c_test.ts" time="4.250" line="1" col="6">
        </testcase>
    </testsuite>
</testsuites>`;

Deno.test("parseReport() reads what ran, without steps", () => {
  assert.deepEqual(parseReport(REPORT), [
    { file: "shared/rpc/a_test.ts", name: "one & <x> > y", seconds: 0.5, failed: false },
    { file: "shared/rpc/a_test.ts", name: "three", seconds: 2, failed: true },
    { file: "cloud/a/b/c_test.ts", name: "a | b", seconds: 4.25, failed: false },
  ]);
});

Deno.test("parseReport() tells what an error outside of a test cancelled", () => {
  const head = '<testcase name="b" classname="./c_test.ts" time="0.000" line="1" col="6">';
  const [test] = parseReport(`${head}\n  <error message="Cancelled"/>\n</testcase>`);
  const expected = { file: "c_test.ts", name: "b", seconds: 0, failed: false, cancelled: true };
  assert.deepEqual(test, expected);
});

Deno.test("parseReport() finds nothing when there is no report", () => {
  assert.deepEqual(parseReport(""), []);
});

Deno.test("filesOfUncaught() finds the file at each error outside of a test", () => {
  const output = "\x1b[31mUncaught error from ./a/b_test.ts \x1b[0mFAILED\n" +
    "./a/b_test.ts => two ... cancelled (0ms)\nUncaught error from a/c_test.ts FAILED\n" +
    "./a/b_test.ts (uncaught error)\n";
  assert.deepEqual(filesOfUncaught(output), ["a/b_test.ts", "a/c_test.ts"]);
});

Deno.test("inTheirFiles() finds the file of a test that a helper registered", () => {
  const of = (name: string, file = "tests/e2e/rig.ts") => ({
    file,
    name,
    seconds: 1,
    failed: false,
  });
  const tests = [of("one"), of("two"), of("one", "cloud/a_test.ts"), of("unknown")];
  const files = (output: string) => inTheirFiles(tests, output).map(({ file }) => file);
  const known = ["tests/e2e/a_test.ts", "tests/faults/b_test.ts"];
  const parallel = "\x1b[38m./tests/e2e/a_test.ts => \x1b[0mone ... ok (2s)\n" +
    "./tests/faults/b_test.ts =>  two ... step ... ok (1s)\n" +
    "./tests/faults/b_test.ts => two ... FAILED (1s)\n";
  const serial = "running 1 test from ./tests/e2e/a_test.ts\none ... ok (1ms)\n\n" +
    "running 2 tests from ./tests/faults/b_test.ts\ntwo ...\n  step ... ok (1ms)\n";
  for (const output of [parallel, serial]) {
    assert.deepEqual(files(output), [...known, "cloud/a_test.ts", "tests/e2e/rig.ts"]);
  }
});

Deno.test("folderTimes() adds up by folder of the second level", () => {
  assert.deepEqual(folderTimes(parseReport(REPORT)), [
    { folder: "cloud/a", tests: 1, seconds: 4.25 },
    { folder: "shared/rpc", tests: 2, seconds: 2.5 },
  ]);
});

Deno.test("slowest() gives ten, the longest first", () => {
  const tests = Array.from(
    { length: 12 },
    (_, at) => ({ file: "f", name: `${at}`, seconds: at, failed: false }),
  );
  assert.deepEqual(slowest(tests).map(({ name }) => name), [
    ...["11", "10", "9", "8", "7", "6", "5", "4", "3", "2"],
  ]);
});

Deno.test("timesText() and timesTables() show both", () => {
  const tests = parseReport(REPORT);
  assert.match(timesText(tests), /^ {4}4\.3 {2}cloud\/a \(1\)$/m);
  assert.match(timesText(tests), /^ {4}2\.0 {2}shared\/rpc\/a_test\.ts: three$/m);
  const tables = timesTables(tests, {
    ...{ date: new Date("2026-11-24T23:00:00Z"), processors: 2, wallSeconds: 61.2 },
  });
  assert.match(tables, /^3 tests in 61 s on 2026-11-24, with 2 processors:$/m);
  assert.match(tables, /^\| `shared\/rpc` \| 2 \| 2\.5 \|$/m);
  assert.match(tables, /^\| a \\\| b \| `cloud\/a\/b\/c_test\.ts` \| 4\.3 \|$/m);
});

Deno.test("withTimes() writes between the marks of a page", () => {
  const page = "# A\n\n<!-- times: written by make test TIMES=docs -->\n\nold\n\n" +
    "<!-- end of times -->\n\nB\n";
  const written = withTimes(page, "new\n");
  assert.equal(written, page.replace("old", "new"));
  assert.equal(withTimes(written, "new\n"), written);
  assert.throws(() => withTimes("# A\n", "new\n"), /lacks/);
});
