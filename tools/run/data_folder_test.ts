import assert from "node:assert/strict";
import { join } from "node:path";
import type { ProcessMark, ProcessRunner } from "../../shared/base/process/child_process.ts";
import { DataFolder } from "./data_folder.ts";

const marks: ProcessMark[] = [
  { pid: 11, started: "1", tree: "a" },
  { pid: 12, started: "2", tree: "b" },
];

Deno.test("DataFolder.take() ends what a killed run left behind", async () => {
  await inFolder(async (path) => {
    const first = await DataFolder.take(path, recorder([]));
    await first.remember(marks);
    first.release();

    const ended: ProcessMark[] = [];
    (await DataFolder.take(path, recorder(ended))).release();
    assert.deepEqual(ended, marks);
  });
});

Deno.test("DataFolder.take() refuses and touches nothing while another run holds the folder", async () => {
  await inFolder(async (path) => {
    const first = await DataFolder.take(path, recorder([]));
    await first.remember(marks);
    const ended: ProcessMark[] = [];
    await assert.rejects(DataFolder.take(path, recorder(ended)), /Another make run uses .*PORT=/);
    assert.deepEqual(ended, []);
    first.release();
  });
});

Deno.test("DataFolder.take() goes on when the list of processes is damaged", async () => {
  await inFolder(async (path) => {
    await Deno.mkdir(path, { recursive: true });
    for (const text of ["{", "7", '[{"pid":"1"}]']) {
      await Deno.writeTextFile(join(path, "run.json"), text);
      const ended: ProcessMark[] = [];
      (await DataFolder.take(path, recorder(ended))).release();
      assert.deepEqual(ended, []);
    }
  });
});

function recorder(ended: ProcessMark[]): ProcessRunner {
  return {
    start: () => {
      throw new Error("nothing is started here");
    },
    endStray: (mark) => {
      ended.push(mark);
      return Promise.resolve(1);
    },
  };
}

async function inFolder(body: (path: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await body(join(dir, "dev"));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}
