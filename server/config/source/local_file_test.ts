import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { ConfigurationFileError, readLocalFile, watchFile } from "./local_file.ts";

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "machine-config-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("readLocalFile() reads JSON with comments and puts variables in", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "c.json");
    await Deno.writeTextFile(path, '{"debug": ${FLAG}, // on\n "revision": "${NOPE}"}');
    const file = await readLocalFile(path, (name) => name === "FLAG" ? "true" : undefined);
    assert.deepEqual(file.json, { debug: true, revision: "" });
    assert.deepEqual(file.missingVariables, ["NOPE"]);
  });
});

Deno.test("readLocalFile() names the file and the place when it cannot be used", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "c.json");
    const expectations: [string | undefined, RegExp][] = [
      [undefined, /cannot read the configuration file .*c\.json/],
      ['{"components": [\n  {"name": }]}', /c\.json: not JSON: line 2, column 12/],
      ["[]", /c\.json: a configuration is a JSON object/],
    ];
    for (const [text, message] of expectations) {
      if (text !== undefined) await Deno.writeTextFile(path, text);
      await assert.rejects(
        () => readLocalFile(path, () => undefined),
        (error) => error instanceof ConfigurationFileError && message.test(error.message),
      );
    }
    await assert.rejects(() => readLocalFile(folder, () => undefined), ConfigurationFileError);
  });
});

Deno.test("watchFile() tells of a changed and of a replaced file, at once and when they are calm", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "c.json");
    await Deno.writeTextFile(path, "1");
    const stop = new AbortController();
    const changes = { quick: 0, calm: 0 };
    const watching = watchFile(path, {
      clock: systemClock,
      signal: stop.signal,
      onChange: (isCalm) => changes[isCalm ? "calm" : "quick"]++,
    });
    await Deno.writeTextFile(path, "22");
    await Deno.writeTextFile(path, "333");
    await waitFor(() => changes.calm === 1, { deadlineMs: 60_000, what: "the first change" });
    assert.ok(changes.quick >= 1, "told at once");
    changes.quick = 0;
    await Deno.writeTextFile(join(folder, "new"), "4444");
    await Deno.rename(join(folder, "new"), path);
    await waitFor(() => changes.quick === 1, { deadlineMs: 60_000, what: "the replacement" });
    await waitFor(() => changes.calm === 2, { deadlineMs: 60_000, what: "the calm after it" });
    stop.abort();
    await watching;
  });
});

Deno.test("watchFile() sees each of many replacements, however the file is replaced", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "c.json");
    await Deno.writeTextFile(path, "0");
    const stop = new AbortController();
    let quick = 0;
    const watching = watchFile(path, {
      clock: systemClock,
      signal: stop.signal,
      onChange: (isCalm) => quick += isCalm ? 0 : 1,
    });
    const ways = [
      () => Deno.rename(join(folder, "new"), path),
      async () => {
        // The old file lives on under another name.
        await Deno.rename(path, join(folder, "backup"));
        await Deno.rename(join(folder, "new"), path);
      },
      async () => {
        await Deno.remove(path);
        await Deno.copyFile(join(folder, "new"), path);
      },
    ];
    for (let n = 1; n <= 6; n++) {
      await Deno.writeTextFile(join(folder, "new"), "x".repeat(n));
      const before = quick;
      await ways[n % ways.length]!();
      await waitFor(() => quick > before, { deadlineMs: 60_000, what: `replacement ${n}` });
    }
    stop.abort();
    await watching;
  });
});

Deno.test({
  name: "watchFile() lets the program end when a named pipe has appeared beside the file",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFolder(async (folder) => {
      const path = join(folder, "c.json");
      await Deno.writeTextFile(path, "0");
      const module = new URL("./local_file.ts", import.meta.url);
      const clock = new URL("../../../shared/base/time/clock.ts", import.meta.url);
      const program = `
        import { watchFile } from "${module}";
        import { systemClock as clock } from "${clock}";
        const stop = new AbortController();
        const path = ${JSON.stringify(path)};
        const changed = Promise.withResolvers();
        const watching = watchFile(path, {
          clock, signal: stop.signal, onChange: () => changed.resolve(),
        });
        await clock.sleep(100);
        await new Deno.Command("mkfifo", { args: [${JSON.stringify(join(folder, "p"))}] }).output();
        await clock.sleep(100);
        await Deno.writeTextFile(path, "11");
        await changed.promise;
        stop.abort();
        await watching;
        console.log("ended");
      `;
      const child = new Deno.Command(Deno.execPath(), {
        args: ["eval", program],
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const late = systemClock.setTimer(90_000, () => child.kill("SIGKILL"));
      const { code, stdout, stderr } = await child.output();
      late.cancel();
      const text = new TextDecoder();
      assert.deepEqual([code, text.decode(stdout)], [0, "ended\n"], text.decode(stderr));
    });
  },
});

Deno.test("watchFile() ends when the signal was aborted before it began to watch", async () => {
  await withFolder(async (folder) => {
    const stop = new AbortController();
    const watching = watchFile(join(folder, "c.json"), {
      clock: systemClock,
      signal: stop.signal,
      onChange: () => assert.fail("nothing changed"),
    });
    stop.abort();
    await watching;
  });
});
