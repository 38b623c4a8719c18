import assert from "node:assert/strict";
import type { ProcessMark } from "./child_process.ts";
import { WindowsProcessTable } from "./process_table_windows.ts";
import { innermostTree, onStopEvent, stopEventName } from "./stop_event.ts";
import { systemProcesses } from "./system_processes.ts";
import type { ProcessJob, WindowsKernel } from "./windows_kernel.ts";

interface FakeProcess {
  readonly parent: number;
  readonly started: bigint;
  isOver?: boolean;
}

/** Windows with the processes that the test says. */
class FakeKernel implements WindowsKernel {
  readonly processes = new Map<number, FakeProcess>();
  readonly events = new Map<string, () => void>();
  readonly done: string[] = [];
  givesJobs = true;
  letsIn = true;

  start(pid: number, parent: number, started: number): void {
    this.processes.set(pid, { parent, started: BigInt(started) });
  }

  end(pid: number): void {
    this.processes.delete(pid);
  }

  snapshot() {
    return [...this.processes].map(([pid, { parent }]) => ({ pid, parent }));
  }

  startOf(pid: number): bigint | undefined {
    const found = this.processes.get(pid);
    return found?.isOver ? undefined : found?.started;
  }

  terminate(pid: number): void {
    this.done.push(`terminate ${pid}`);
    this.end(pid);
  }

  newJob(): ProcessJob | undefined {
    if (!this.givesJobs) return undefined;
    const members = new Set<number>();
    const all = () => {
      // What a member starts is one, too.
      for (const [pid, { parent }] of this.processes) if (members.has(parent)) members.add(pid);
      return [...members];
    };
    return {
      add: (pid) => {
        if (this.letsIn) members.add(pid);
        return this.letsIn;
      },
      pids: () => all(),
      terminate: () => {
        this.done.push("terminate job");
        for (const pid of all()) this.end(pid);
      },
      close: () => void this.done.push("close job"),
    };
  }

  setEvent(name: string): boolean {
    const tell = this.events.get(name);
    tell?.();
    return tell !== undefined;
  }

  waitForEvent(name: string): Promise<void> {
    return new Promise((resolve) => this.events.set(name, resolve));
  }
}

const mark: ProcessMark = { pid: 7, started: "100", tree: "t1" };

function bench() {
  const kernel = new FakeKernel();
  const ran: string[] = [];
  const table = new WindowsProcessTable(kernel, (program, args) => {
    ran.push([program, ...args].join(" "));
  });
  kernel.start(1, 0, 1);
  kernel.start(7, 1, 100);
  kernel.start(8, 7, 110);
  kernel.start(9, 8, 120);
  return { kernel, table, ran };
}

Deno.test("WindowsProcessTable tells processes of one number apart by their start", () => {
  const { kernel, table } = bench();
  assert.equal(table.startOf(7), "100");
  assert.equal(table.startOf(77), undefined);
  kernel.processes.set(7, { parent: 1, started: 100n, isOver: true });
  assert.equal(table.startOf(7), undefined, "it has ended and is only held by a handle");
});

Deno.test("WindowsProcessTable finds what a leader in a job started after the leader has ended", () => {
  const { kernel, table } = bench();
  table.adopt(mark);
  assert.deepEqual(table.membersOf(mark).sort(), [7, 8, 9]);
  kernel.end(7);
  kernel.end(8);
  assert.deepEqual(table.membersOf(mark), [9], "whose parents are both gone");
  table.signal([9], "KILL", mark);
  assert.deepEqual(kernel.done, ["terminate job", "terminate 9"]);
  assert.deepEqual(table.membersOf(mark), []);
  table.release(mark);
  assert.equal(kernel.done.at(-1), "close job");
  table.release(mark);
  assert.equal(kernel.done.length, 3);
});

Deno.test("WindowsProcessTable finds descendants without a job by who started them", () => {
  const { kernel, table } = bench();
  assert.deepEqual(table.membersOf(mark), [7, 8, 9]);
  kernel.end(7);
  assert.deepEqual(table.membersOf(mark), [8, 9], "the leader is dead");
  assert.deepEqual(table.membersOf({ ...mark, started: "" }), []);
  assert.deepEqual(table.membersOf({ ...mark, pid: -1 }), []);
  for (const without of [{ givesJobs: false }, { letsIn: false }]) {
    const other = bench();
    Object.assign(other.kernel, without);
    other.table.adopt(mark);
    assert.deepEqual(other.table.membersOf(mark), [7, 8, 9]);
  }
});

Deno.test("WindowsProcessTable leaves alone what only has the same numbers", () => {
  const { kernel, table } = bench();
  kernel.start(5, 7, 50); // It is older than the leader: its parent had that number before.
  kernel.start(7, 1, 200); // Another process has the leader's number now,
  kernel.start(10, 7, 210); // and has started one of its own.
  assert.deepEqual(table.membersOf(mark), [8, 9]);
  kernel.start(3, 3, 300);
  assert.deepEqual(table.membersOf({ pid: 3, started: "300", tree: "t" }), [3], "its own parent");
});

Deno.test("WindowsProcessTable asks by the event of the tree, and else by closing windows", () => {
  const { kernel, table, ran } = bench();
  let told = 0;
  kernel.events.set(stopEventName("t1"), () => told++);
  table.signal([7, 8], "TERM", mark);
  assert.deepEqual([told, ran], [1, []]);
  kernel.events.clear();
  table.signal([7, 8], "TERM", mark);
  assert.deepEqual(ran, ["taskkill.exe /PID 7", "taskkill.exe /PID 8"]);
  assert.deepEqual(kernel.done, [], "nothing is ended by force");
});

Deno.test("onStopEvent() hears what signal() of the program's starter says, on Windows only", async () => {
  const { kernel, table } = bench();
  const { promise, resolve } = Promise.withResolvers<void>();
  const heard: string[] = [];
  const options = { tree: "t1", kernel: () => kernel };
  onStopEvent(() => heard.push("elsewhere"), { ...options, os: "linux" });
  onStopEvent(() => heard.push("alone"), { ...options, os: "windows", tree: "" });
  onStopEvent(() => heard.push("none"), {
    ...options,
    os: "windows",
    kernel: () => ({ waitForEvent: () => Promise.reject(new Error("no event")) }),
  });
  onStopEvent(() => {
    heard.push("told");
    resolve();
  }, { ...options, os: "windows" });
  table.signal([7], "TERM", mark);
  await promise;
  assert.deepEqual(heard, ["told"]);
  assert.equal(innermostTree("outer:inner"), "inner");
  assert.equal(innermostTree(undefined), "");
});

Deno.test("systemProcesses() puts what it starts under the table's watch until nothing is left", async () => {
  const told: string[] = [];
  const table = {
    startOf: () => "1",
    groupOf: () => [],
    membersOf: () => [],
    signal: () => {},
    adopt: ({ tree }: ProcessMark) => void told.push(`adopt ${tree}`),
    release: ({ tree }: ProcessMark) => void told.push(`release ${tree}`),
  };
  const child = systemProcesses({ table }).start({
    program: Deno.execPath(),
    args: ["--version"],
    env: {},
    tree: "t9",
    onLine: () => {},
  });
  assert.deepEqual(told, ["adopt t9"]);
  await child.exited;
  assert.deepEqual(told, ["adopt t9", "release t9"]);
});
