import assert from "node:assert/strict";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { realRunner } from "./killed_run_testing.ts";
import { QueueRig, withDataFolder } from "./queue_testing.ts";

const FOLDER = import.meta.dirname ?? ".";
const SOURCE = `
  import { runUntil } from "./killed_run_testing.ts";
  await runUntil(...Deno.args);
`;

/** How many processes of this host sleep for so long. */
async function sleepers(seconds: string): Promise<number> {
  let found = 0;
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const command = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    if (command === `sleep\0${seconds}\0`) found++;
  }
  return found;
}

Deno.test({
  name: "TrainingQueue ends what a killed cloud left running, and runs the job once more",
  ignore: Deno.build.os !== "linux",
  fn: () =>
    withDataFolder(async (dataDir) => {
      const seconds = `3${Math.random().toString().slice(2, 10)}`;
      const code = `save()
subprocess.Popen(["sleep", "${seconds}"], start_new_session=True)
print("I run now")
time.sleep(600)`;
      const rig = await QueueRig.open(dataDir);
      const job = await rig.submit(await rig.organization(), { arguments: { do: code } });
      await rig[Symbol.asyncDispose]();

      const kill = async () => {
        const args = [dataDir, "I run now"];
        const { signal, stderr } = await runFaultChild(SOURCE, { folder: FOLDER, args });
        assert.equal(signal, "SIGKILL", stderr);
      };
      await kill();
      await kill();
      assert.equal(await sleepers(seconds), 1, "the second cloud ended what the first had left");
      await using last = await QueueRig.open(dataDir, { runner: realRunner(dataDir) });
      last.queue.start();
      const failed = await last.reaches(job, "failed");
      assert.match(failed.error_message, /the cloud was cut each of the 2 times that this ran/);
      assert.equal(await sleepers(seconds), 0);
      assert.deepEqual(await last.models(), []);
      assert.deepEqual([...Deno.readDirSync(`${dataDir}/training-runs`)], []);
    }),
});
