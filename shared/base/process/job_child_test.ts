import assert from "node:assert/strict";
import { systemClock } from "../time/clock.ts";
import { JobChild } from "./job_child.ts";

const isLinux = Deno.build.os === "linux";

Deno.test("when memory runs out, Linux ends a JobChild first", { ignore: !isLinux }, async () => {
  const scoreOf = async (pid: number) =>
    Number(await Deno.readTextFile(`/proc/${pid}/oom_score_adj`));
  const before = await scoreOf(Deno.pid);
  const program = { command: "cat", args: [] };
  const child = new JobChild({ program, clock: systemClock, what: "cat", limitMs: 60_000 });
  try {
    assert.equal(await scoreOf(child.pid), 1_000);
    assert.equal(await scoreOf(Deno.pid), before);
  } finally {
    await child.close();
  }
});
