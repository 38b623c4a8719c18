import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { join } from "node:path";
import { Secret } from "../base/redaction/secret.ts";
import { runFaultChild } from "../base/faults/fault_child_testing.ts";
import { FakeClock } from "../base/time/fake_clock.ts";
import { configureLogging, getLogger, type LoggingOptions } from "./configure.ts";
import { formatLine, type LogLine } from "./line.ts";
import { memoryLogger } from "./memory_logger_testing.ts";

async function withLogging(
  options: LoggingOptions,
  test: (
    logging: Awaited<ReturnType<typeof configureLogging>>,
    lines: LogLine[],
  ) => void | Promise<void>,
): Promise<void> {
  const lines: LogLine[] = [];
  const sinks = [(line: LogLine) => void lines.push(line)];
  const logging = await configureLogging({ output: { stdout: false }, sinks, ...options });
  try {
    await test(logging, lines);
  } finally {
    await logging.close();
  }
}

const messages = (lines: LogLine[]) => lines.map(({ message }) => message);

Deno.test("configureLogging() prints the ready line exactly in its form", async () => {
  const source = `
    import { configureLogging, getLogger } from "./configure.ts";
    const logging = await configureLogging();
    const log = getLogger("rdk");
    log.debug("hidden");
    log.info("serving", { url: "http://0.0.0.0:8080" });
    log.child("config").warn("braces {url} stay", { error: new Error("a", { cause: "b" }) });
    await logging.close();
    log.error("after the end");`;
  const folder = import.meta.dirname ?? ".";
  const { code, stdout, stderr } = await runFaultChild(source, { folder });
  deepEqual([code, stderr], [0, ""]);
  const time = "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z";
  match(
    stdout,
    new RegExp(
      `^${time}\\tINFO\\trdk\\t[^\\t]+:6\\tserving\\t{"url":"http://0\\.0\\.0\\.0:8080"}\\n` +
        `${time}\\tWARN\\trdk\\.config\\t[^\\t]+:7\\tbraces {url} stay\\t{"error":"a \\(cause: b\\)"}\\n$`,
    ),
  );
});

Deno.test("configureLogging() gives sinks the whole line", () => {
  const clock = new FakeClock("2026-01-02T03:04:05.006Z");
  return withLogging({ clock }, (_logging, lines) => {
    getLogger("rdk.config").warn("odd {x}", { x: 1 });
    const [line] = lines;
    ok(line?.caller);
    equal(line.caller.file, "log/configure_test.ts");
    deepEqual({ ...line, caller: undefined }, {
      time: new Date("2026-01-02T03:04:05.006Z"),
      level: "warn",
      logger: "rdk.config",
      message: "odd {x}",
      fields: { x: 1 },
      caller: undefined,
    });
  });
});

Deno.test("Logging changes count for the next line of loggers that exist already", () =>
  withLogging({}, (logging, lines) => {
    const log = getLogger("rdk.resource_manager.rdk:component:sensor/host");
    log.debug("1 default");
    equal(log.isEnabled("debug"), false);
    logging.setLevel("debug");
    log.debug("2 level");
    logging.setLevel("info");
    deepEqual(logging.setPatterns([{ pattern: "rdk:component:*", level: "debug" }]), []);
    log.debug("3 pattern");
    logging.setResourceLevels({ "rdk:component:sensor/host": "error" });
    log.warn("4 resource");
    log.error("5 resource");
    logging.setDebugMode(true);
    log.debug("6 debug mode");
    logging.setDebugMode(false);
    log.warn("7 no debug mode");
    deepEqual(messages(lines), ["2 level", "3 pattern", "5 resource", "6 debug mode"]);
  }));

Deno.test("Logging holds repeats back unless turned off or debugging", async () => {
  const clock = new FakeClock();
  await withLogging({ clock }, async (logging, lines) => {
    const log = getLogger("rdk");
    const noise = () => {
      lines.length = 0;
      for (let count = 0; count < 5; count++) log.info("noise");
      return lines.length;
    };
    equal(noise(), 3);
    logging.setDeduplication(false);
    deepEqual(messages(lines).at(-1), "noise (2 more times within 10 s)");
    equal(noise(), 5);
    logging.setDeduplication(true);
    logging.setDebugMode(true);
    equal(noise(), 5);
    logging.setDebugMode(false);
    equal(noise(), 3);
    await clock.advance(10_000);
    equal(lines.length, 4);
  });
});

Deno.test("Logging close() tells what is held back", async () => {
  const lines: LogLine[] = [];
  const sinks = [(line: LogLine) => void lines.push(line)];
  const logging = await configureLogging({ output: { stdout: false }, sinks });
  for (let count = 0; count < 5; count++) getLogger("rdk").info("noise");
  await logging.close();
  equal(messages(lines).at(-1), "noise (2 more times within 10 s)");
});

Deno.test("Logging goes on to the other sinks when one throws", () => {
  const lines: LogLine[] = [];
  const broken = () => {
    throw new Error("broken sink");
  };
  const sinks = [broken, (line: LogLine) => void lines.push(line)];
  return withLogging({ sinks }, () => {
    getLogger("rdk").info("one");
    getLogger("rdk").info("two");
    deepEqual(messages(lines), ["one", "two"]);
  });
});

Deno.test("configureLogging() writes the log file with the given rotation", async () => {
  const folder = await Deno.makeTempDir({ prefix: "log-file-" });
  try {
    const file = join(folder, "server.log");
    const rotation = { maxBytes: 10_000, maxFiles: 2 };
    const logging = await configureLogging({ output: { stdout: false, file, rotation } });
    const log = getLogger("rdk");
    for (let count = 0; count < 60; count++) log.error(`${count} ${"x".repeat(500)}`);
    await logging.close();
    const names = [`${file}.2`, `${file}.1`, file];
    const numbers = names.flatMap((name) =>
      [...Deno.readTextFileSync(name).matchAll(/\t(\d+) x/g)].map((match) => Number(match[1]))
    );
    deepEqual(
      numbers,
      Array.from({ length: numbers.length }, (_, index) => index + 60 - numbers.length),
    );
    ok(numbers.length > 30 && numbers.length < 60, `${numbers.length} lines are kept`);
    equal([...Deno.readDirSync(folder)].length, 3);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("configureLogging() says path and reason when the log file cannot be opened", async () => {
  const file = join(await Deno.makeTempDir(), "missing", "server.log");
  await rejects(configureLogging({ output: { stdout: false, file } }), {
    name: "FileError",
    message: `cannot open the log file ${file}: it or its folder does not exist (ENOENT)`,
  });
  await Deno.remove(join(file, "..", ".."), { recursive: true });
});

Deno.test("Logging shows no secret to any output", () =>
  withLogging({}, (logging, lines) => {
    logging.setSecrets(["machine-key-0815"]);
    const log = getLogger("rdk");
    log.info("asking rtsp://u:pw@cam/ with machine-key-0815", {
      token: "t",
      api_key: { id: "i", key: "k" },
      nested: { list: [{ psk: "p" }, "Bearer 0123456789abcdef"], open: "machine-key-0815" },
      own: new Secret("s"),
      error: new Error("https://u:pw@h/ refused", { cause: new Error("machine-key-0815") }),
      ready: false,
    });
    log.error("failed", { error: new Error("with machine-key-0815") });
    logging.setSecrets([]);
    log.info("machine-key-0815");
    equal(lines[0]?.message, "asking rtsp://******@cam/ with ******");
    deepEqual(lines[0]?.fields, {
      token: "******",
      api_key: "******",
      nested: { list: [{ psk: "******" }, "Bearer ******"], open: "******" },
      own: "***",
      error: "https://******@h/ refused (cause: ******)",
      ready: false,
    });
    match(lines[1]?.stack ?? "", /^Error: with \*{6}\n/);
    equal(lines[2]?.message, "machine-key-0815");
  }));

Deno.test("Logging keeps the stack of errors at level error alone", () =>
  withLogging({}, (_logging, lines) => {
    const log = getLogger("rdk");
    log.warn("expected", { error: new Error("a") });
    log.error("unexpected", { error: new Error("b") });
    log.error("told", { stack: "Error: c\n    at d" });
    log.error("none", { count: 1 });
    equal(lines[0]?.stack, undefined);
    match(lines[1]?.stack ?? "", /^Error: b\n +at .*configure_test\.ts/);
    equal(lines[2]?.stack, "Error: c\n    at d");
    equal(lines[3]?.stack, undefined);
  }));

Deno.test("Logging forward() writes what others logged, at any level, and holds repeats back", () => {
  const clock = new FakeClock();
  return withLogging({ clock }, (logging, lines) => {
    const line: LogLine = {
      time: new Date(0),
      level: "debug",
      logger: "my.module",
      message: "hello",
      fields: { token: "t" },
      caller: { file: "m.py", line: 3, functionName: "" },
      stack: "Traceback",
    };
    logging.forward(line);
    deepEqual(lines[0], { ...line, fields: { token: "******" } });
    logging.forward({ ...line, time: new Date(NaN) });
    deepEqual(lines[1]?.time, clock.now());
    for (let count = 0; count < 5; count++) logging.forward({ ...line, level: "info" });
    equal(lines.length, 5);
    logging.setPatterns([{ pattern: "my.*", level: "warn" }]);
    logging.forward({ ...line, level: "info", message: "left out" });
    logging.forward({ ...line, level: "warn", message: "written" });
    deepEqual(lines.slice(5).map(({ message }) => message), ["written"]);
  });
});

Deno.test("Logging cuts huge lines and never throws", () =>
  withLogging({}, (_logging, lines) => {
    const log = getLogger("rdk");
    log.info("x".repeat(10_000_000), { huge: "y".repeat(10_000_000), lone: "\ud800" });
    const hostile = new Proxy({}, {
      ownKeys: () => {
        throw new Error("boo");
      },
    });
    log.info("hostile", { hostile });
    ok((lines[0]?.message.length ?? 0) < 70_000);
    ok(JSON.stringify(lines[0]?.fields).length < 20_000);
    equal(lines[0]?.fields.lone, "\ufffd");
    equal(lines[1]?.fields.hostile, "[unprintable]");
  }));

Deno.test("Logging lets the event loop turn while lines flood in", async () => {
  const written: LogLine[] = [];
  const sinks = [(line: LogLine) => void written.push(line)];
  const logging = await configureLogging({ output: { stdout: false }, sinks });
  const log = getLogger("rdk.noisy");
  for (let count = 0; count < 50_000; count++) log.info(`line ${count}`);
  getLogger("rdk.quiet").info("still heard");
  ok(written.length <= 200, `${written.length} lines were written at once`);
  await logging.close();
  const left = written.find(({ message }) => message.includes("left out"));
  equal(left?.logger, "rdk.noisy");
  const told = Number(/^(\d+) lines/.exec(left?.message ?? "")?.[1]);
  equal(written.filter(({ message }) => message.startsWith("line ")).length + told, 50_000);
  ok(messages(written).includes("still heard"));
});

Deno.test("memoryLogger() keeps the lines of itself and its children", () => {
  const log = memoryLogger("rdk");
  log.info("a", { x: 1 });
  log.child("config").error("b");
  deepEqual(log.messages(), ["a", "b"]);
  deepEqual(log.messages("error"), ["b"]);
  equal(log.entries[1]?.logger, "rdk.config");
  equal(log.text(), log.entries.map(formatLine).join("\n"));
});
