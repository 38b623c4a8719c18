import assert from "node:assert/strict";
import type { ExitInfo, ProcessRunner } from "../../../shared/base/process/child_process.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { findPython } from "./python.ts";
import { RunFailedError } from "./run_failure.ts";
import { bestSandbox, walledSandbox } from "./sandbox.ts";

Deno.test("the cloud's folder is hidden in what is shown of a Python that it lies in", () => {
  const python = { program: "/opt/python/bin/python3", prefixes: ["/opt/python", "/usr"] };
  const dataDir = "/opt/python/cloud";
  const own = { root: "/r", temporary: "/t", shared: "/s" };
  const { args } = walledSandbox({ dataDir, python }).wrap(
    { program: "true", args: [] },
    { cwd: "/w", readable: ["/data"], writable: ["/w"], fileBytes: 512, own },
  );
  const shown = ["base", "/opt/python", "/opt/python"];
  const places = [...shown, "hide", dataDir, dataDir, "own", "/t", "/tmp"];
  const at = args.indexOf("base");
  assert.deepEqual(args.slice(at, at + places.length), places);
});

const ignore = Deno.build.os !== "linux"; // Others have no walls to try.

/** Starts programs that end only when they are killed. */
function endlessPrograms(): ProcessRunner {
  return {
    start() {
      const killed = Promise.withResolvers<ExitInfo>();
      const kill = () => {
        killed.resolve({ code: null, signal: "SIGKILL" });
        return killed.promise;
      };
      return { mark: { pid: 1, started: "", tree: "" }, exited: killed.promise, stop: kill, kill };
    },
    endStray: () => Promise.resolve(0),
  };
}

const python = { program: "/usr/bin/python3", prefixes: ["/usr"] };

Deno.test("bestSandbox() takes no host that has no time for one without walls", {
  ignore,
}, async () => {
  const clock = new FakeClock();
  const processes = endlessPrograms();
  const { signal } = new AbortController();
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-test-" });
  try {
    const trial = bestSandbox({ dataDir: "/data", python }, {
      ...{ processes, clock, env: {}, folder: `${folder}/trial`, signal },
    });
    const failed = trial.then(() => undefined, (error) => error);
    await waitFor(() => clock.pendingTimers > 0, { deadlineMs: 60_000 });
    await clock.advance(60_000);
    const error = await failed;
    assert.ok(error instanceof RunFailedError, String(error));
    assert.match(error.message, /took longer than a minute/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a run that is canceled waits for no Python and for no trial of its walls", {
  ignore,
}, async () => {
  const clock = new FakeClock();
  const processes = endlessPrograms();
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-test-" });
  try {
    for (
      const ask of [
        (signal: AbortSignal) => findPython("python3", { processes, clock, inherited: {}, signal }),
        (signal: AbortSignal) =>
          bestSandbox({ dataDir: "/data", python }, {
            ...{ processes, clock, env: {}, folder: `${folder}/trial`, signal },
          }),
      ]
    ) {
      const run = new AbortController();
      const asked = assert.rejects(ask(run.signal), /it was canceled/);
      await waitFor(() => clock.pendingTimers > 0, { deadlineMs: 60_000 });
      run.abort(new Error("it was canceled"));
      await asked;
      assert.equal(clock.pendingTimers, 0);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
