import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../shared/time/clock.ts";
import { waitFor } from "../../shared/time/wait_for.ts";
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
    await waitFor(() => changes.calm === 1, { deadlineMs: 5_000, what: "the first change" });
    assert.ok(changes.quick >= 1, "told at once");
    changes.quick = 0;
    await Deno.writeTextFile(join(folder, "new"), "4444");
    await Deno.rename(join(folder, "new"), path);
    await waitFor(() => changes.quick === 1, { deadlineMs: 5_000, what: "the replacement" });
    await waitFor(() => changes.calm === 2, { deadlineMs: 5_000, what: "the calm after it" });
    stop.abort();
    await watching;
  });
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
