import assert from "node:assert/strict";
import { TREE_VARIABLE } from "./process_table.ts";
import { LinuxProcessTable } from "./process_table_linux.ts";

interface Shown {
  readonly pid: number;
  readonly group: number;
  readonly start: number;
  readonly environment: string;
}

async function withProcesses(shown: Shown[], run: (table: LinuxProcessTable) => void) {
  const root = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${root}/sys/kernel/random`, { recursive: true });
    await Deno.writeTextFile(`${root}/sys/kernel/random/boot_id`, "boot\n");
    for (const { pid, group, start, environment } of shown) {
      await Deno.mkdir(`${root}/${pid}`);
      const fields = `${pid} (a program) S 1 ${group} ${"0 ".repeat(16)}${start}`;
      await Deno.writeTextFile(`${root}/${pid}/stat`, fields);
      await Deno.writeTextFile(`${root}/${pid}/environ`, environment);
    }
    run(new LinuxProcessTable(root));
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const mark = { pid: 100, started: "boot:7", tree: "mine" };
const child = { pid: 101, group: 100, start: 8, environment: `A=b\0${TREE_VARIABLE}=mine\0` };

Deno.test("membersOf() finds who carries the mark, also in a group of its own", () =>
  withProcesses(
    [child, { ...child, pid: 102, group: 102 }, { ...child, pid: 103, environment: "A=b\0" }],
    (table) => {
      assert.deepEqual(table.membersOf(mark).sort(), [101, 102, 103]);
      assert.deepEqual(table.groupOf(mark).sort(), [101, 103]);
    },
  ));

Deno.test("membersOf() finds a child that is just becoming another program and shows no environment", () =>
  withProcesses([{ ...child, environment: "" }], (table) => {
    assert.deepEqual(table.membersOf(mark), [101]);
    assert.deepEqual(table.membersOf({ ...mark, started: "" }), [101]);
  }));

Deno.test("membersOf() leaves a group alone that another process has begun since, or another boot", () =>
  withProcesses(
    [
      { ...child, environment: "" },
      { pid: 100, group: 100, start: 9, environment: "" },
    ],
    (table) => {
      assert.deepEqual(table.membersOf(mark), []);
      assert.deepEqual(table.membersOf({ ...mark, started: "earlier:7" }), []);
    },
  ));
