import assert from "node:assert/strict";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type ShellRequest,
  ShellRequestSchema,
  type ShellService,
} from "../../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeProcesses } from "../../../shared/base/process/fake_processes.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { UntrustedError } from "../environment.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import { shellModel } from "./shell_model.ts";
import { runTerminal } from "./terminal.ts";
import { RequestStream } from "./testing.ts";

type Shell = Driver<typeof ShellService>;

const ignore = Deno.build.os !== "linux";
const test = (name: string, fn: () => Promise<void>) => Deno.test({ name, ignore, fn });

const variables = () => ({ PATH: "/usr/bin:/bin", HOME: "/", SHELL: "/bin/sh", PS1: "$ " });

function build(overrides = {}): Promise<Shell> {
  return construct<Shell, unknown>(shellModel(testEnvironment({ variables, ...overrides })));
}

/** A caller in front of a terminal: what it types, and all that it sees. */
class Caller {
  readonly #requests = new RequestStream<ShellRequest>();
  readonly #controller = new AbortController();
  screen = "";
  eof = false;
  readonly done: Promise<void>;

  constructor(shell: Shell) {
    this.done = this.#watch(shell);
    this.done.catch(() => {});
    this.type("");
  }

  type(dataIn: string, extra?: JsonObject): void {
    this.#requests.send(create(ShellRequestSchema, { name: "x", dataIn, ...(extra && { extra }) }));
  }

  end(): void {
    this.#requests.end();
  }

  leave(): void {
    this.#controller.abort(new Error("left"));
  }

  async sees(words: string | RegExp): Promise<void> {
    await waitFor(
      () => typeof words === "string" ? this.screen.includes(words) : words.test(this.screen),
      { deadlineMs: 60_000, what: `${words} on the screen` },
    ).catch((error) => {
      throw new Error(`${error.message}; on it is ${JSON.stringify(this.screen)}`);
    });
  }

  async #watch(shell: Shell): Promise<void> {
    const outputs = shell.shell!(this.#requests, testCall(this.#controller.signal));
    for await (const { dataOut = "", eof = false } of outputs as AsyncIterable<ShellRequestOut>) {
      this.screen += dataOut;
      this.eof ||= eof;
    }
  }
}

interface ShellRequestOut {
  dataOut?: string;
  eof?: boolean;
}

test("shell() is a terminal of 80 by 24 that the shell controls", async () => {
  const caller = new Caller(await build());
  caller.type("tty; stty size; echo term=$TERM; pwd; echo has-$-\n");
  await caller.sees(/\/dev\/pts\/\d+\r\n24 80\r\nterm=xterm-256color\r\n\/\r\nhas-\w*i/);
  caller.type("exit\n");
  await caller.done;
  assert.equal(caller.eof, true);
});

test("shell() stops what runs in front when Ctrl-C is typed", async () => {
  const caller = new Caller(await build());
  caller.type("sleep 71.3; echo ended=$?\n");
  await waitFor(() => running("71.3"), { deadlineMs: 60_000 });
  caller.type("\x03");
  caller.type("echo after=$?\n");
  await caller.sees("after=130");
  caller.type("exit\n");
  await caller.done;
});

test("shell() takes the size of the window at the start and while it runs", async () => {
  const shell = await build();
  const caller = new Caller(shell);
  caller.type("", { messages: [{ message: "window-change", cols: 100, rows: 30 }] });
  caller.type("stty size\n");
  await caller.sees("30 100");
  caller.type("", { message: "window-change", cols: 132, rows: 50 });
  caller.type("stty size\n");
  await caller.sees("50 132");
  for (const wrong of [{ cols: -1, rows: 5 }, { cols: "9", rows: 9 }, { cols: 1e9, rows: 2 }]) {
    caller.type("", { message: "window-change", ...wrong });
  }
  caller.type("stty size; echo done\n");
  await caller.sees(/50 132\r\ndone[\s\S]*$/);
  caller.end();
  await caller.done;
});

test("shell() ends when the caller's stream ends, as Ctrl-D does", async () => {
  const caller = new Caller(await build());
  caller.type("echo one-$((1 + 1))\n");
  await caller.sees("one-2");
  caller.end();
  await caller.done;
  assert.equal(caller.eof, true);
});

Deno.test("runTerminal() passes characters whole however the terminal cuts them", async () => {
  const text = "\u20ac\u00e4\u{1f600}x".repeat(3);
  const pieces = [...new TextEncoder().encode(text)].map((byte) => new Uint8Array([byte]));
  const processes = new FakeProcesses();
  processes.onStart = (child) => child.exit(0);
  const requests = new RequestStream<ShellRequest>().send(create(ShellRequestSchema)).end();
  const outputs = runTerminal(requests, new AbortController().signal, {
    ...testEnvironment({ processes, variables }),
    log: memoryLogger(),
    openPty: () => ({
      path: "/dev/pts/9",
      read: () => Promise.resolve(pieces.shift()),
      write: () => Promise.resolve(),
      resize: () => {},
      drain: () => {},
      close: () => Promise.resolve(),
    }),
  });
  const seen: string[] = [];
  for await (const output of outputs) seen.push("dataOut" in output ? output.dataOut : "<eof>");
  assert.deepEqual(seen, [...text, "<eof>"]);
  const { program, args, env } = processes.last.command;
  assert.deepEqual([program, args?.slice(2), env["TERM"]], [
    "/bin/sh",
    ["/bin/sh", "/dev/pts/9"],
    "xterm-256color",
  ]);
});

test("shell() passes on much output and long input without loss", async () => {
  const caller = new Caller(await build());
  caller.type("stty -echo; PS1=\n");
  caller.type("seq 1 100000 | tail -c 100; seq 1 100000 | cksum; echo quiet-$((40 + 2))\n");
  await caller.sees("quiet-42");
  caller.type("cat > /dev/null\n");
  caller.type(`${"x".repeat(1_000)}\n`.repeat(200));
  caller.type("\x04echo ate-$((40 + 3))\n");
  await caller.sees("ate-43");
  caller.type("seq 1 50000\n");
  caller.type("echo last-$((40 + 4))\n");
  await caller.sees("last-44");
  const numbers = caller.screen.slice(caller.screen.indexOf("ate-43")).match(/^\d+/gm) ?? [];
  assert.deepEqual([numbers.length, numbers[0], numbers.at(-1)], [50_000, "1", "50000"]);
  caller.type("exit\n");
  await caller.done;
});

test("shell() ends everything that was started in it when the caller leaves", async () => {
  const caller = new Caller(await build());
  caller.type(
    "trap '' HUP TERM; sleep 72.1 & (trap '' HUP TERM; setsid sleep 72.2) & sleep 72.3\n",
  );
  for (const seconds of ["72.1", "72.2", "72.3"]) {
    await waitFor(() => running(seconds), { deadlineMs: 60_000, what: seconds });
  }
  caller.leave();
  await assert.rejects(caller.done, /left/);
  for (const seconds of ["72.1", "72.2", "72.3"]) assert.equal(running(seconds), false, seconds);
});

test("shell() ends what stays behind when the shell is left by exit", async () => {
  const caller = new Caller(await build());
  caller.type("(trap '' HUP; exec sleep 73.1) &\n");
  await waitFor(() => running("73.1"), { deadlineMs: 60_000 });
  caller.type("exit\n");
  await caller.done;
  assert.equal(caller.eof, true);
  assert.equal(running("73.1"), false);
});

test("shell() says on the screen that the shell cannot be started", async () => {
  const caller = new Caller(
    await build({ variables: () => ({ ...variables(), SHELL: "/no/sh" }) }),
  );
  await caller.done;
  assert.match(caller.screen, /\/no\/sh: not found|\/no\/sh: No such file/);
  assert.equal(caller.eof, true);
});

test("shellModel() has ended all shells when its close resolves", async () => {
  const shell = await build();
  const caller = new Caller(shell);
  caller.type("sleep 74.1\n");
  await waitFor(() => running("74.1"), { deadlineMs: 60_000 });
  await shell.close?.();
  assert.equal(running("74.1"), false);
  await assert.rejects(caller.done, /the shell service was closed/);
  await assert.rejects(new Caller(shell).done, /is closed/);
});

test("shellModel() opens a bounded number of shells and leaves no file open", async () => {
  const shell = await build();
  const before = openFiles();
  const callers = Array.from({ length: 16 }, () => new Caller(shell));
  await Promise.all(callers.map((caller) => caller.sees("$")));
  const opened = openFiles().difference(before);
  assert.ok(opened.size >= callers.length);
  await assert.rejects(new Caller(shell).done, (error) => {
    assert(error instanceof ConnectError);
    return error.code === Code.ResourceExhausted;
  });
  for (const caller of callers) caller.end();
  await Promise.all(callers.map((caller) => caller.done));
  await waitFor(() => openFiles().isDisjointFrom(opened), {
    deadlineMs: 60_000,
    what: "the end of the shells' files",
  });
});

Deno.test("shellModel() tells the home folder of the server under both names", async () => {
  const shell = await build({ home: "/var/machine" });
  const ask = async (command: JsonObject) => await shell.doCommand!(command, testCall());
  assert.deepEqual(await ask({ command: "get_machine_home" }), { machine_home: "/var/machine" });
  assert.deepEqual(await ask({ get_viam_home: true }), { viam_home: "/var/machine" });
  await assert.rejects(ask({ command: "format" }), (error) => {
    assert(error instanceof ConnectError);
    assert.equal(error.code, Code.InvalidArgument);
    return error.message.includes('{"command": "get_viam_home"}');
  });
});

Deno.test("shellModel() refuses to be built when the environment is untrusted", async () => {
  await assert.rejects(build({ untrusted: true }), (error) => {
    assert(error instanceof UntrustedError);
    assert.match(error.message, /^the shell service is switched off: .*-untrusted-env/);
    return true;
  });
});

/** Whether a `sleep` of that length runs. */
function running(seconds: string): boolean {
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (Deno.readTextFileSync(`/proc/${name}/cmdline`) === `sleep\0${seconds}\0`) return true;
    } catch {
      // ended meanwhile
    }
  }
  return false;
}

/** Each with its number: other tests of this process open files and close them as well. */
function openFiles(): Set<string> {
  const found = new Set<string>();
  for (const { name } of Deno.readDirSync("/proc/self/fd")) {
    try {
      const place = Deno.readLinkSync(`/proc/self/fd/${name}`);
      // Others are of other tests, which run in this process, too.
      if (place.includes("ptmx")) found.add(`${name} ${place}`);
    } catch {
      // closed meanwhile
    }
  }
  return found;
}
