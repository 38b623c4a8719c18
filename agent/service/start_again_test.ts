import assert from "node:assert/strict";
import type { RunProgram } from "../../shared/base/process/run_program.ts";
import { startAgainAtOnce } from "./start_again.ts";

Deno.test("startAgainAtOnce() leaves an order with systemd and does not wait for it", async () => {
  const calls: string[] = [];
  const run: RunProgram = (program, args, limitMs) => {
    calls.push(`${program} ${args.join(" ")} within ${limitMs} ms`);
    return Promise.resolve({ code: 1, stdout: "", stderr: "no" });
  };
  await startAgainAtOnce("machine-agent.service", run);
  assert.deepEqual(calls, ["systemctl --no-block restart machine-agent.service within 3000 ms"]);
  await startAgainAtOnce(undefined, run);
  await startAgainAtOnce("1", run);
  assert.equal(calls.length, 1, "an agent that no service started asks nobody");
});
