import assert from "node:assert/strict";
import { join } from "node:path";
import { FileError } from "../../../shared/base/files/fs_error.ts";
import { foundVersion } from "./found_version.ts";
import { programLink } from "./program_link.ts";

for (const os of ["linux", "windows"]) {
  Deno.test({
    name: `programLink() leads from version to version on ${os}`,
    ignore: os === "linux" && Deno.build.os === "windows",
    fn: async () => {
      const bin = await Deno.makeTempDir({ prefix: "links-" });
      try {
        const link = programLink(bin, "machine-server", os);
        assert.equal(await link.read(), undefined);
        const sha = "0123456789ab";
        const one = join(bin, `machine-server-1.0.0-${sha}`);
        const two = join(bin, "machine-server-1.1.0-rc.1-ba9876543210");
        await Deno.writeTextFile(one, "");
        await link.turn(one);
        assert.equal(await link.read(), one);
        assert.deepEqual(await foundVersion(link), {
          version: "1.0.0",
          url: "",
          path: one,
          sha256: sha,
        });
        await link.turn(two);
        assert.equal(await link.read(), two);
        assert.equal(await foundVersion(link), undefined, "there is no such file");
        await Deno.writeTextFile(two, "");
        assert.equal((await foundVersion(link))?.version, "1.1.0-rc.1");
        const names = [...Deno.readDirSync(bin)].map(({ name }) => name);
        const name = os === "windows" ? "machine-server.current" : "machine-server";
        assert.equal(names.length, 3);
        assert(names.includes(name));
        const missing = programLink(join(bin, "none"), "machine-server", os);
        await assert.rejects(missing.turn(one), FileError);
      } finally {
        await Deno.remove(bin, { recursive: true });
      }
    },
  });
}

Deno.test("programLink() takes a program in the place of a link for what it is", async () => {
  const bin = await Deno.makeTempDir({ prefix: "links-" });
  try {
    const link = programLink(bin, "machine-server", "linux");
    const path = join(bin, "machine-server");
    await Deno.writeTextFile(path, "");
    assert.deepEqual(await foundVersion(link), { version: "", url: "", path });
    await link.turn(path);
    assert.equal((await Deno.lstat(path)).isFile, true, "it does not become a link to itself");
  } finally {
    await Deno.remove(bin, { recursive: true });
  }
});
