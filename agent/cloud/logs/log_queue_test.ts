import assert from "node:assert/strict";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { configureLogging } from "../../../shared/log/configure.ts";
import { getLogger } from "../../../shared/log/loggers.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { FakeCloud } from "../../testing.ts";
import { KnownSecrets } from "./known_secrets.ts";
import { LogQueue } from "./log_queue.ts";

const DEADLINE = { deadlineMs: 60_000 };
const MODULE_FOLDER = import.meta.dirname ?? ".";

async function withFolder(body: (queueFile: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(join(folder, "agent-logs.db"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The agent's logging with a queue; what is logged in `body` goes through it. */
async function withQueue(
  path: string,
  cloud: FakeCloud | undefined,
  body: (agent: { secrets: KnownSecrets; written: (lines: number) => Promise<void> }) =>
    | void
    | Promise<void>,
  maxEntries?: number,
): Promise<void> {
  const logging = await configureLogging({ output: { stdout: false }, deduplicate: false });
  const queue = new LogQueue({
    path,
    host: "bench",
    clock: systemClock,
    log: getLogger("machine-agent"),
    addSink: logging.addSink,
    ...(maxEntries === undefined ? {} : { maxEntries }),
  });
  let lines = 0;
  logging.addSink(() => void lines++);
  if (cloud) queue.sendTo(cloud.connection.client(RobotService), "part-1");
  try {
    await body({
      secrets: new KnownSecrets((values) => logging.setSecrets(values)),
      // Logging hands a flood on at a rate that leaves the agent its time.
      written: async (count) => void await waitFor(() => lines >= count, DEADLINE),
    });
  } finally {
    await queue.close(5_000);
    await logging.close();
  }
}

const messages = (cloud: FakeCloud) => cloud.logs.map(({ message }) => message);

Deno.test("LogQueue keeps lines while the cloud is away and sends them in order, also later", () =>
  withFolder(async (path) => {
    const cloud = new FakeCloud();
    cloud.failure = Code.Unavailable;
    const log = getLogger("machine-agent");
    await withQueue(path, cloud, async ({ written }) => {
      for (let n = 0; n < 1_200; n++) log.info(`first run ${n}`);
      await written(1_200);
    });
    await withQueue(path, undefined, () => log.warn("second run, without a connection"));
    assert.deepEqual(cloud.logs, []);
    cloud.failure = undefined;
    await withQueue(path, cloud, async () => {
      log.info("third run");
      await waitFor(() => messages(cloud).includes("third run"), DEADLINE);
    });
    // The queue reports the cloud's absence itself.
    const ours = messages(cloud).filter((message) => message.includes(" run"));
    assert.deepEqual(ours, [
      ...Array.from({ length: 1_200 }, (_, n) => `first run ${n}`),
      "second run, without a connection",
      "third run",
    ]);
  }));

Deno.test("LogQueue drops the least severe lines first when it is full, and says how many", () =>
  withFolder(async (path) => {
    const cloud = new FakeCloud();
    const log = getLogger("machine-agent");
    await withQueue(path, undefined, async ({ written }) => {
      log.error("an error from the beginning");
      for (let n = 0; n < 500; n++) log.info(`info ${n}`);
      log.warn("a warning from the end");
      await written(502);
    }, 100);
    await withQueue(path, cloud, async () => {
      await waitFor(() => messages(cloud).includes("a warning from the end"), DEADLINE);
    }, 100);
    const got = messages(cloud);
    assert(got.length <= 100, `${got.length} lines`);
    assert.equal(got[0], "an error from the beginning");
    const dropped = got.flatMap((text) => /^(\d+) log entries were dropped/.exec(text)?.[1] ?? []);
    const kept = got.filter((text) => text.startsWith("info "));
    assert.equal(Number(dropped[0]) + kept.length, 500, "every line is accounted for");
    assert.equal(kept.at(-1), "info 499", "the newest are kept");
  }));

/** Logs without a cloud until it is killed; says how far it has come for certain. */
const KILLED = `
  import { configureLogging } from "../../../shared/log/configure.ts";
  import { getLogger } from "../../../shared/log/loggers.ts";
  import { systemClock } from "../../../shared/base/time/clock.ts";
  import { LogQueue } from "./log_queue.ts";
  const logging = await configureLogging({ output: { stdout: false }, deduplicate: false });
  const log = getLogger("machine-agent");
  new LogQueue({ path: Deno.args[0], host: "bench", clock: systemClock, log, addSink: logging.addSink });
  for (let n = 0;; n++) {
    log.info("line " + n);
    // A line of level error is on disk when it was logged, with all before it.
    if (n % 50 === 0) {
      log.error("certain " + n);
      console.log(n);
    }
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
`;

Deno.test("LogQueue has the lines up to the last moments, in order, when the agent is killed", () =>
  withFolder(async (path) => {
    for (let round = 0; round < 3; round++) {
      const child = new Deno.Command(Deno.execPath(), {
        args: ["eval", "--ext=ts", "--no-check", KILLED, path],
        cwd: MODULE_FOLDER,
        stdout: "piped",
        stderr: "inherit",
        env: { NO_COLOR: "1" },
      }).spawn();
      const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      while ((text.match(/\n/g) ?? []).length < 5 * (round + 1)) {
        const { value, done } = await reader.read();
        assert(!done, "it ended by itself");
        text += value;
      }
      child.kill("SIGKILL");
      await child.status;
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        text += part.value;
      }
      const certain = Number(text.trim().split("\n").at(-1));

      const cloud = new FakeCloud();
      await withQueue(path, cloud, async () => {
        await waitFor(() => messages(cloud).includes(`certain ${certain}`), DEADLINE);
      });
      const lines = messages(cloud).flatMap((text) => /^line (\d+)$/.exec(text)?.[1] ?? []);
      assert.deepEqual(lines, Array.from({ length: lines.length }, (_, n) => String(n)));
      assert(lines.length > certain, `${lines.length} lines, ${certain} is certain`);
    }
  }));

Deno.test("LogQueue holds no secret, in no line, field or error, nor in its file", () =>
  withFolder(async (path) => {
    const cloud = new FakeCloud();
    await withQueue(path, undefined, ({ secrets }) => {
      secrets.add(["part-secret-1", "env-secret-2"]);
      const log = getLogger("machine-agent");
      log.info("signing in with part-secret-1", { url: "https://u:part-secret-1@x/" });
      log.error("failed", { error: new Error("env-secret-2 is refused"), list: ["env-secret-2"] });
      getLogger("machine-server.StdErr").warn("TOKEN=env-secret-2");
    });
    const bytes = await Deno.readFile(path);
    const file = new TextDecoder("latin1").decode(bytes);
    assert.match(file, /is refused/, "the lines are there");
    assert.doesNotMatch(file, /part-secret-1|env-secret-2/);
    await withQueue(
      path,
      cloud,
      () => waitFor(() => cloud.logs.length >= 3, DEADLINE).then(() => {}),
    );
    const sent = JSON.stringify(
      cloud.logs,
      (_, value) => typeof value === "bigint" ? `${value}` : value,
    );
    assert.doesNotMatch(sent, /part-secret-1|env-secret-2/);
  }));

Deno.test("LogQueue has no room for the lines of others once it is half full", () =>
  withFolder(async (path) => {
    const queue = new LogQueue({
      path,
      host: "bench",
      clock: systemClock,
      log: getLogger("machine-agent"),
      addSink: () => () => {},
      maxEntries: 100,
    });
    const reader = queue.reader("journal");
    for (let n = 0; n < 49; n++) reader.append([create(LogEntrySchema, { message: `${n}` })]);
    assert.equal(reader.hasRoom(), true);
    reader.append([create(LogEntrySchema, { message: "one more" })]);
    assert.equal(reader.hasRoom(), false);
    reader.setMark("here");
    assert.equal(queue.reader("another").mark(), undefined);
    assert.equal(queue.reader("journal").mark(), "here");
    await queue.close(0);
  }));
