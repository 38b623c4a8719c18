import assert from "node:assert/strict";
import { runToEnd } from "./run_to_end.ts";

const ignore = Deno.build.os === "windows";
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

Deno.test("runToEnd() gives back what a program wrote, and its code", { ignore }, async () => {
  const { code, stdout, stderr } = await runToEnd("sh", {
    args: ["-c", "cat; echo wrong >&2; exit 3"],
    input: "read\n",
  });
  assert.deepEqual([code, text(stdout), text(stderr)], [3, "read\n", "wrong\n"]);
});

Deno.test(
  "runToEnd() says what was written when something holds its output open",
  { ignore },
  async () => {
    const ran = runToEnd("sh", {
      args: ["-c", "echo $$; (trap '' TERM; while :; do sleep 1; done) & wait"],
      limitMs: 1_000,
    });
    const error = await ran.then(() => undefined, (error: Error) => error);
    const [, pid = ""] = /sleep 1.* took longer than 1000 ms; it wrote:\n(\d+)/.exec(
      error?.message ?? "",
    ) ?? [];
    assert.throws(() => Deno.kill(Number(pid), "SIGCONT"), Deno.errors.NotFound, error?.message);
  },
);
