import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { join } from "node:path";
import { noSmallDisks, withSmallDisk } from "../test_tools/small_disk.ts";
import { FakeClock } from "../base/time/fake_clock.ts";
import { readFileSettings } from "./file_settings.ts";
import type { Level } from "./logger.ts";
import { RotatingFile, type Rotation } from "./rotating_file.ts";

interface SetUp {
  folder: string;
  path: string;
  clock: FakeClock;
  problems: string[];
  open(rotation?: Rotation): RotatingFile;
}

async function withFolder(test: (setUp: SetUp) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "rotating-file-" });
  const path = join(folder, "server.log");
  const clock = new FakeClock();
  const problems: string[] = [];
  const open = (rotation: Rotation = {}) =>
    RotatingFile.open(path, { ...rotation, clock, onProblem: (text) => void problems.push(text) });
  try {
    await test({ folder, path, clock, problems, open });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function say(file: RotatingFile, message: string, level: Level = "info"): void {
  file.write({ time: new Date(0), level, logger: "rdk", message, fields: {}, caller: undefined });
}

const messages = (path: string) =>
  Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => line.split("\t")[4] ?? "");
const files = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).toSorted();

Deno.test("RotatingFile writes once a second, and errors at once", () =>
  withFolder(async ({ path, clock, open }) => {
    const file = open();
    say(file, "a");
    equal(Deno.readTextFileSync(path), "");
    await clock.advance(1_000);
    deepEqual(messages(path), ["a"]);
    say(file, "b");
    say(file, "c", "error");
    deepEqual(messages(path), ["a", "b", "c"]);
    say(file, "d");
    file.close();
    deepEqual(messages(path), ["a", "b", "c", "d"]);
    equal(clock.pendingTimers, 0);
    const again = open();
    say(again, "e");
    again.close();
    equal(messages(path).at(-1), "e");
  }));

Deno.test("RotatingFile puts the file aside before it gets too large, and keeps so many", () =>
  withFolder(({ folder, path, open }) => {
    const file = open({ maxBytes: 500, maxFiles: 2 });
    for (let count = 0; count < 9; count++) say(file, `${count}${"x".repeat(150)}`, "error");
    file.close();
    deepEqual(files(folder), ["server.log", "server.log.1", "server.log.2"]);
    const numbers = [`${path}.2`, `${path}.1`, path].map((name) =>
      messages(name).map((text) => text[0])
    );
    deepEqual(numbers, [["4", "5"], ["6", "7"], ["8"]]);
  }));

Deno.test("RotatingFile keeps to its size when many lines come at once", () =>
  withFolder(({ folder, path, open }) => {
    const file = open({ maxBytes: 500, maxFiles: 100 });
    for (let count = 0; count < 40; count++) say(file, `${count}${" x".repeat(count * 2)}`);
    file.close();
    const names = files(folder).filter((name) => name !== "server.log");
    ok(names.length > 5);
    for (const name of names) ok(Deno.statSync(join(folder, name)).size <= 500, name);
    const kept = [...names.map((_, index) => `${path}.${names.length - index}`), path];
    const numbers = kept.flatMap(messages).map((text) => parseInt(text));
    deepEqual(numbers, Array.from({ length: 40 }, (_, index) => index));
  }));

Deno.test("RotatingFile keeps no old file when told so", () =>
  withFolder(({ folder, path, open }) => {
    const file = open({ maxBytes: 500, maxFiles: 0 });
    for (let count = 0; count < 5; count++) say(file, `${count}${"x".repeat(150)}`, "error");
    file.close();
    deepEqual(files(folder), ["server.log"]);
    deepEqual(messages(path).map((text) => text[0]), ["4"]);
  }));

Deno.test("RotatingFile makes a file anew that was moved or deleted", () =>
  withFolder(({ path, open }) => {
    const file = open();
    say(file, "a", "error");
    Deno.renameSync(path, `${path}.moved`);
    say(file, "b", "error");
    deepEqual(messages(path), ["b"]);
    deepEqual(messages(`${path}.moved`), ["a"]);
    Deno.removeSync(path);
    say(file, "c", "error");
    deepEqual(messages(path), ["c"]);
    file.close();
  }));

Deno.test("RotatingFile goes on in the same file, and says so once, when it cannot be put aside", () =>
  withFolder(({ path, problems, open }) => {
    Deno.mkdirSync(`${path}.1`);
    const file = open({ maxBytes: 500, maxFiles: 1 });
    for (let count = 0; count < 9; count++) say(file, `${count}${"x".repeat(150)}`, "error");
    equal(messages(path).length, 9);
    equal(problems.length, 1);
    match(problems[0] ?? "", /^cannot put aside the log file .*server\.log: /);
    Deno.removeSync(`${path}.1`);
    say(file, "next", "error");
    deepEqual(messages(path), ["next"]);
    file.close();
  }));

Deno.test("RotatingFile.open() says path and reason when it cannot", () =>
  withFolder(({ folder, clock }) => {
    const path = join(folder, "missing", "x.log");
    throws(
      () => RotatingFile.open(path, { clock, onProblem: () => {} }),
      /cannot open the log file .*x\.log/,
    );
  }));

Deno.test({
  name: "RotatingFile waits in bounded memory and tells the loss when the disk was full",
  ignore: noSmallDisks(import.meta.url),
  fn: () =>
    withFolder(({ folder }) =>
      withSmallDisk(folder, 512, async () => {
        const clock = new FakeClock();
        const problems: string[] = [];
        const path = join(folder, "server.log");
        const file = RotatingFile.open(path, {
          clock,
          // As it is in the program: a problem is a line, too.
          onProblem: (text) => {
            problems.push(text);
            say(file, text, "error");
          },
        });
        try {
          say(file, "before", "error");
          const ballast = join(folder, "ballast");
          fillDisk(ballast);
          for (let count = 0; count < 5_000; count++) {
            say(file, `${count} ${"x".repeat(200)}`, "error");
          }
          await clock.advance(20_000);
          equal(problems.length, 1);
          match(problems[0] ?? "", /the disk is full/);
          Deno.removeSync(ballast);
          await clock.advance(5_000);
          const kept = messages(path).filter((text) => /^\d+ x/.test(text));
          const lost = Number(
            /(\d+) lines are missing here/.exec(Deno.readTextFileSync(path))?.[1],
          );
          // The line that reports the problem may be among the lost.
          ok(lost + kept.length - 5_000 <= 1 && lost > 0, `${lost} lost, ${kept.length} kept`);
          ok(kept.at(-1)?.startsWith("4999 "));
        } finally {
          file.close();
        }
      })
    ),
});

function fillDisk(path: string): void {
  using file = Deno.openSync(path, { write: true, create: true });
  for (const size of [4_096, 64, 1]) {
    try {
      for (;;) file.writeSync(new Uint8Array(size));
    } catch {
      // Full for pieces of this size.
    }
  }
}

Deno.test("readFileSettings() reads sizes with units and numbers of files", () => {
  const read = (size: string, files = "") =>
    readFileSettings((name) => name.endsWith("SIZE") ? size : files);
  deepEqual(read(""), { maxBytes: undefined, maxFiles: undefined });
  const sizes: [string, number][] = [
    ["4096", 4_096],
    ["512K", 512 * 1024],
    ["10m", 10 * 1024 ** 2],
    ["10 MiB", 10 * 1024 ** 2],
    ["1GB", 1024 ** 3],
  ];
  for (const [text, bytes] of sizes) equal(read(text).maxBytes, bytes, text);
  equal(read("", "0").maxFiles, 0);
  equal(read("", "12").maxFiles, 12);
  for (const wrong of ["1", "-5M", "10X", "ten", "1e9"]) {
    throws(() => read(wrong), /MACHINE_LOG_FILE_MAX_SIZE is .*; allowed: a size of at least 4K/);
  }
  for (const wrong of ["-1", "1.5", "many", "1001"]) {
    throws(() => read("", wrong), /MACHINE_LOG_FILE_MAX_FILES is .*; allowed: a whole number/);
  }
});
