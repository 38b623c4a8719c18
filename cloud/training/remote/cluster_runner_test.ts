import assert from "node:assert/strict";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { ClusterAwayError } from "./cluster.ts";
import { ClusterRunner, type ClusterRunnerOptions } from "./cluster_runner.ts";

Deno.test("recover() stops what it can, and asks a cluster again that is away", async () => {
  const dataDir = await Deno.makeTempDir();
  const log = memoryLogger();
  const stopped: string[] = [];
  let asked = 0;
  const runner = new ClusterRunner({
    cluster: {
      name: "test cluster",
      left: () => {
        if (++asked === 1) return Promise.reject(new ClusterAwayError("it restarts"));
        return Promise.resolve(["on-a-dead-computer", "other"]);
      },
      stop: (id: string) => {
        if (id !== "other") return Promise.reject(new Error(`the job ${id} does not stop`));
        stopped.push(id);
        return Promise.resolve();
      },
    },
    ...{ dataDir, log, clock: systemClock, cloudUrl: () => "http://cloud.test" },
  } as unknown as ClusterRunnerOptions);
  await runner.recover();
  assert.deepEqual(stopped, ["other"]);
  const said = log.entries.map(({ message, fields }) => [message, fields["job"] ?? fields["jobs"]]);
  assert.deepEqual(said, [
    ["cannot stop a job on the test cluster; it may still run there", "on-a-dead-computer"],
    ["stopped jobs on the test cluster that an earlier start had left", 1],
  ]);
  await Deno.remove(dataDir, { recursive: true });
});
