/** Where the time of a run of the tests went. */
import { stripVTControlCharacters } from "node:util";

/** One test, as a JUnit report shows it. */
export interface TimedTest {
  /** Path of its file, from the root of the sources. */
  readonly file: string;
  readonly name: string;
  readonly seconds: number;
  readonly failed: boolean;
  /** It did not run, as an error outside of a test ended its bunch. */
  readonly cancelled?: true;
}

/** The tests of a folder of the second level, `shared/rpc`. */
export interface FolderTime {
  readonly folder: string;
  readonly tests: number;
  /** Of its tests one after the other; several files may have run at a time. */
  readonly seconds: number;
}

const SLOWEST = 10;
const TESTCASE =
  /<testcase name="([^"]*)" classname="([^"]*)" time="([\d.]+)"[^>]*>([^]*?)<\/testcase>/g;

/** Reads the report that `deno test --junit-path` writes. What did not run and steps are left out. */
export function parseReport(xml: string): TimedTest[] {
  const found = [...xml.matchAll(TESTCASE)].map((
    [, name = "", file = "", time = "", body = ""],
  ) => ({
    file: unescape(file).replace(/^\.\//, ""),
    name: unescape(name),
    seconds: Number(time),
    failed: body.includes("<failure"),
    ...(body.includes('<error message="Cancelled"') ? { cancelled: true as const } : {}),
    ran: !body.includes("<skipped"),
  }));
  const whole = new Set(found.map(({ file, name }) => `${file} ${name}`));
  // A step is named `test > step`.
  const isStep = ({ file, name }: TimedTest) =>
    [...name.matchAll(/ > /g)].some(({ index }) => whole.has(`${file} ${name.slice(0, index)}`));
  return found.filter((test) => test.ran && !isStep(test))
    .map(({ ran: _, ...test }) => test);
}

/**
 * A test that a helper registers has the helper's file in the report; what `deno test` printed says
 * which file ran it.
 */
export function inTheirFiles(tests: readonly TimedTest[], output: string): TimedTest[] {
  const files = printedFiles(output);
  return tests.map((test) =>
    test.file.endsWith("_test.ts") ? test : { ...test, file: files.get(test.name) ?? test.file }
  );
}

/** The file of each test by its name, from `./file => name ... ok`, or from lines under `running`. */
function printedFiles(output: string): Map<string, string> {
  const files = new Map<string, string>();
  let running = "";
  for (const line of stripVTControlCharacters(output).split("\n")) {
    running = /^running (?:\d+ )?tests? from (?:\.\/)?(\S+)$/.exec(line)?.[1] ?? running;
    const [, file = running, name] = /^(?:\.\/(\S+) => ?)?(.*?) \.\.\./.exec(line) ?? [];
    if (name !== undefined && file !== "" && !files.has(name.trim())) files.set(name.trim(), file);
  }
  return files;
}

/** The file whose tests ran at each error outside of a test. */
export function filesOfUncaught(output: string): string[] {
  const line = /^Uncaught error from (?:\.\/)?(\S+) FAILED$/gm;
  return [...stripVTControlCharacters(output).matchAll(line)].map(([, file = ""]) => file);
}

/** Adds up by folder, the longest first. */
export function folderTimes(tests: readonly TimedTest[]): FolderTime[] {
  const sums = new Map<string, FolderTime>();
  for (const { file, seconds } of tests) {
    const folder = file.split("/").slice(0, -1).slice(0, 2).join("/");
    const sum = sums.get(folder) ?? { folder, tests: 0, seconds: 0 };
    sums.set(folder, { folder, tests: sum.tests + 1, seconds: sum.seconds + seconds });
  }
  return [...sums.values()].sort((one, other) => other.seconds - one.seconds);
}

/** The tests that took longest. */
export function slowest(tests: readonly TimedTest[]): TimedTest[] {
  return [...tests].sort((one, other) => other.seconds - one.seconds).slice(0, SLOWEST);
}

/** Lines for a terminal. */
export function timesText(tests: readonly TimedTest[]): string {
  const seconds = (value: number) => value.toFixed(1).padStart(7);
  return [
    "seconds by folder, of its tests one after the other:",
    ...folderTimes(tests).map((one) => `${seconds(one.seconds)}  ${one.folder} (${one.tests})`),
    "the slowest tests:",
    ...slowest(tests).map((one) => `${seconds(one.seconds)}  ${one.file}: ${one.name}`),
    "",
  ].join("\n");
}

/** When and where tests ran. */
export interface Occasion {
  readonly date: Date;
  readonly processors: number;
  /** From the first test to the last. */
  readonly wallSeconds: number;
}

/** Tables of Markdown. */
export function timesTables(
  tests: readonly TimedTest[],
  { date, processors, wallSeconds }: Occasion,
): string {
  const cell = (text: string) => text.replaceAll("|", "\\|");
  return [
    `${tests.length} tests in ${Math.round(wallSeconds)} s on ${
      date.toISOString().slice(0, 10)
    }, with ${processors} processors:`,
    "",
    "| folder | tests | seconds |",
    "| --- | --- | --- |",
    ...folderTimes(tests).map((one) =>
      `| \`${one.folder}\` | ${one.tests} | ${one.seconds.toFixed(1)} |`
    ),
    "",
    "| slowest test | file | seconds |",
    "| --- | --- | --- |",
    ...slowest(tests).map((one) =>
      `| ${cell(one.name)} | \`${one.file}\` | ${one.seconds.toFixed(1)} |`
    ),
    "",
  ].join("\n");
}

const BEGIN = "<!-- times: written by make test TIMES=docs -->";
const END = "<!-- end of times -->";

/** A page with other tables between its two marks. @throws Error when it has no marks. */
export function withTimes(page: string, tables: string): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from === -1 || to < from) throw new Error(`the page lacks ${BEGIN} … ${END}`);
  return `${page.slice(0, from)}${BEGIN}\n\n${tables}\n${page.slice(to)}`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
  "&amp;": "&",
};

function unescape(text: string): string {
  return text.replaceAll(/&(?:lt|gt|quot|apos|amp);/g, (entity) => ENTITIES[entity] ?? entity);
}
