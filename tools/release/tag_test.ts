import assert from "node:assert/strict";
import { join } from "node:path";
import { type Git, gitIn } from "../bundle/build_stamp.ts";
import { tagRelease } from "./tag.ts";

async function inCheckout(work: (git: Git, dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  const git = gitIn(dir);
  try {
    await git("init", "--quiet");
    await git("config", "user.name", "Somebody");
    await git("config", "user.email", "somebody@example.com");
    await Deno.writeTextFile(join(dir, "file"), "1");
    await git("add", "file");
    await git("commit", "--quiet", "-m", "first");
    await work(git, dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("tagRelease() tags the commit with the notes, and takes a tag that it made back", async () => {
  await inCheckout(async (git) => {
    const { name, undo } = await tagRelease(git, "1.2.3", "# Added\n\n- Wheels.");
    assert.equal(name, "v1.2.3");
    assert.match(await git("tag", "-n9", "--list", "v1.2.3") ?? "", /# Added[^]*- Wheels/);
    await undo();
    assert.equal(await git("tag", "--list"), "");
  });
});

Deno.test("tagRelease() takes the tag that is there, and does not take it back", async () => {
  await inCheckout(async (git) => {
    await tagRelease(git, "1.2.3", "x");
    await (await tagRelease(git, "1.2.3", "x")).undo();
    assert.equal(await git("tag", "--list"), "v1.2.3");
  });
});

Deno.test("tagRelease() refuses changed files, and never moves a tag", async () => {
  await inCheckout(async (git, dir) => {
    await tagRelease(git, "1.2.3", "x");
    await Deno.writeTextFile(join(dir, "other"), "2");
    await assert.rejects(tagRelease(git, "1.2.4", "x"), /commit or remove[^]*other/);
    await git("add", "other");
    await git("commit", "--quiet", "-m", "second");
    await assert.rejects(tagRelease(git, "1.2.3", "x"), /v1\.2\.3 is commit [0-9a-f]{7} already/);
  });
});
