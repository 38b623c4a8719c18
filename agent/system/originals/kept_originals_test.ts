import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { KeptOriginals, ORIGINALS } from "./kept_originals.ts";

const FILE = "etc/apt/x";

interface Rig {
  readonly root: string;
  readonly originals: KeptOriginals;
  readonly off: string[];
  write(text: string): Promise<void>;
  read(): Promise<string | undefined>;
  putBack(): Promise<string[]>;
}

async function withRig(test: (rig: Rig) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir();
  const path = join(root, FILE);
  await Deno.mkdir(dirname(path), { recursive: true });
  const off: string[] = [];
  // Each time a new one, as after a restart.
  const originals = () => new KeptOriginals(root, join(root, "opt"));
  try {
    await test({
      root,
      off,
      originals: originals(),
      write: (text) => Deno.writeTextFile(path, text),
      read: () => Deno.readTextFile(path).catch(() => undefined),
      putBack: async () =>
        (await originals().putBack((timer) => Promise.resolve(void off.push(timer))))
          .map((line) => line.replace(root, "")),
    });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("a rewritten file comes back with its mode, however often it was rewritten", () =>
  withRig(async ({ root, originals, write, read, putBack }) => {
    await write("mine");
    await Deno.chmod(join(root, FILE), 0o640);
    assert.equal(await originals.write(FILE, "one"), true);
    assert.equal(await originals.write(FILE, "one"), false);
    assert.equal(await originals.write(FILE, "two"), true);
    assert.equal(await originals.keep(FILE), "mine");
    assert.equal(((await Deno.stat(join(root, "opt", ORIGINALS))).mode ?? 0) & 0o777, 0o600);
    assert.deepEqual(await putBack(), [`/${FILE} is as it was before`]);
    assert.equal(await read(), "mine");
    assert.equal(((await Deno.stat(join(root, FILE))).mode ?? 0) & 0o777, 0o640);
    assert.deepEqual(await putBack(), [], "once");
  }));

Deno.test("a file that was not there is removed", () =>
  withRig(async ({ originals, read, putBack }) => {
    await originals.write(FILE, "one");
    assert.deepEqual(await putBack(), [`removed /${FILE}`]);
    assert.equal(await read(), undefined);
  }));

Deno.test("a file that others changed since stays", () =>
  withRig(async ({ originals, write, read, putBack }) => {
    await originals.write(FILE, "one");
    await write("theirs");
    assert.deepEqual(await putBack(), [`/${FILE} was changed by others and stays as it is`]);
    assert.equal(await read(), "theirs");
  }));

Deno.test("cut off before the file was written, what was written before is still known", () =>
  withRig(async ({ originals, write, read, putBack }) => {
    await write("mine");
    await originals.write(FILE, "one");
    await originals.write(FILE, "two");
    await write("one"); // The note of "two" was on disk already.
    await putBack();
    assert.equal(await read(), "mine");
  }));

Deno.test("timers are switched off again, each once", () =>
  withRig(async ({ originals, putBack, off }) => {
    await originals.switchesOn("a.timer");
    await originals.switchesOn("a.timer");
    assert.deepEqual(await putBack(), ["a.timer is switched off, as it was before"]);
    assert.deepEqual(off, ["a.timer"]);
  }));

Deno.test("a damaged list of originals is not written over", () =>
  withRig(async ({ root, originals, putBack }) => {
    await originals.write(FILE, "one");
    await Deno.writeTextFile(join(root, "opt", ORIGINALS), "{");
    await assert.rejects(originals.write(FILE, "two"), /damaged/);
    await assert.rejects(putBack(), /damaged/);
  }));
