import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { sha256Of } from "../../../shared/transfer/download/testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { RECHECK_MS } from "./downloader.ts";
import { bytes, fails, never, programBytes, serve, withRig } from "./rig_testing.ts";

const isWindows = Deno.build.os === "windows";

Deno.test("obtain() asks an address without a hash every two minutes for something newer", () =>
  withRig(async ({ server, start }) => {
    const clock = new FakeClock();
    const rig = start(clock);
    const first = "Fri, 02 Jan 2026 03:00:00 GMT";
    const custom = (content: Uint8Array<ArrayBuffer>, modified: string) =>
      serve(server, {
        ...{ bytes: content, etag: undefined, sha256: undefined, crc32c: undefined },
        headers: { "last-modified": modified },
      }, "/custom");
    custom(bytes, first);
    const wanted = { version: "customURL", url: `${server.origin}/custom` };
    const obtained = await rig.obtain(wanted);
    for (let turn = 0; turn < 10; turn++) assert.deepEqual(await rig.obtain(wanted), obtained);
    assert.equal(server.requests.length, 1);
    await clock.advance(RECHECK_MS);
    assert.deepEqual(await start(clock).obtain(wanted), obtained);
    assert.deepEqual(server.requests.map(({ method }) => method), ["GET", "HEAD"]);

    const newer = programBytes();
    custom(newer, "Fri, 02 Jan 2026 04:00:00 GMT");
    const again = start(clock);
    assert.deepEqual(await again.obtain(wanted), obtained, "not asked yet");
    await clock.advance(RECHECK_MS);
    assert.equal((await again.obtain(wanted)).sha256, sha256Of(newer));
    assert.equal(again.names().length, 2);

    await clock.advance(RECHECK_MS);
    await server.close();
    assert.equal(
      (await again.obtain(wanted)).sha256,
      sha256Of(newer),
      "what is here is good enough",
    );
  }));

Deno.test("obtain() refuses other content of an address that says it has not changed", () =>
  withRig(async ({ server, start }) => {
    const wanted = { version: "customURL", url: `${server.origin}/custom` };
    const state = { etag: '"same"', sha256: undefined, crc32c: undefined };
    serve(server, state, "/custom");
    const rig = start();
    const { path } = await rig.obtain(wanted);
    await Deno.remove(path);
    serve(server, { ...state, bytes: programBytes() }, "/custom");
    await fails(rig.obtain(wanted), true, /content is another one .* has not changed/);
    assert.deepEqual(rig.names(), []);
  }));

Deno.test("obtain() copies a local program once, and again when it is another one", () =>
  withRig(async ({ folder, start }) => {
    const source = join(folder, "my build");
    await Deno.writeFile(source, bytes);
    const wanted = { version: "customURL", url: pathToFileURL(source).href };
    const rig = start();
    const obtained = await rig.obtain(wanted);
    assert.deepEqual(await Deno.readFile(obtained.path), bytes);
    assert.deepEqual(await rig.obtain(wanted), obtained);
    await Deno.writeFile(source, programBytes(5_000, 0xb7));
    await fails(rig.obtain(wanted), true, /another processor/);
    await fails(rig.obtain(wanted), true, /another processor/);
    const newer = programBytes(5_000);
    await Deno.writeFile(source, newer);
    await Deno.utime(source, new Date(), new Date("2030-01-01"));
    assert.equal((await rig.obtain(wanted)).sha256, sha256Of(newer), "not held by the refusal");
    const sha256 = "0".repeat(64);
    await fails(rig.obtain({ ...wanted, sha256 }), true, /announced was 0{64}/);
    await Deno.remove(source);
    assert.equal((await rig.obtain(wanted)).sha256, sha256Of(newer), "the copy is kept");
    await fails(
      rig.obtain({ ...wanted, sha256: sha256Of(bytes).replace(/./g, "0") }),
      false,
      /cannot read .*does not exist/,
    );
    await Deno.mkdir(source);
    await fails(rig.obtain({ ...wanted, version: "1" }), true, /is not a file/);
    await fails(rig.obtain({ ...wanted, url: "file://host/x" }), true, /file:\/\/\/PATH/);
    await fails(rig.obtain({ ...wanted, url: "ftp://host/x?hidden" }), true, /not an HTTP address/);
  }));

Deno.test("obtain() takes no copy of a program that is written at the same time", () =>
  withRig(async ({ folder, start }) => {
    const source = join(folder, "build");
    const changes = [
      () => Deno.writeTextFileSync(source, "more", { append: true }),
      () => Deno.utimeSync(source, 1, 1),
    ];
    for (const [index, change] of changes.entries()) {
      await Deno.writeFile(source, bytes);
      const { downloader } = start();
      let isChanged = false;
      const report = ({ totalBytes }: { totalBytes: number }) => {
        if (totalBytes > 0 && !isChanged) change();
        isChanged ||= totalBytes > 0;
      };
      const url = pathToFileURL(source).href;
      const wanted = { program: "machine-server", version: `${index}`, url };
      await fails(downloader.obtain(wanted, report, never), false, /changed while it was copied/);
    }
  }));

Deno.test({
  name: "obtain() lets a local script run where it lies",
  ignore: isWindows,
  fn: () =>
    withRig(async ({ folder, start }) => {
      const source = join(folder, "it's a script");
      await Deno.writeTextFile(source, '#!/bin/sh\necho "$0" "$@"\n', { mode: 0o755 });
      const url = pathToFileURL(source).href;
      const { path, sha256 } = await start().obtain({ version: "customURL", url });
      assert.equal(sha256, sha256Of(await Deno.readFile(path)));
      await Deno.copyFile(source, `${source} too`);
      const other = await start().obtain({ version: "customURL", url: `${url}%20too` });
      assert.notEqual(other.path, path, "the same script at another place is another program");
      const run = () => new Deno.Command(path, { args: ["a b", "c"] }).outputSync().stdout;
      assert.equal(new TextDecoder().decode(run()), `${source} a b c\n`);
      const announced = { version: "1", url, sha256: sha256Of(await Deno.readFile(source)) };
      const named = await start().obtain(announced);
      assert.equal(named.sha256, announced.sha256);
      for (const wanted of [{ version: "customURL", url }, announced]) {
        const here = wanted === announced ? named : { path, sha256 };
        const { ino } = await Deno.stat(here.path);
        await Deno.utime(here.path, new Date(), new Date());
        assert.deepEqual(await start().obtain(wanted), here);
        assert.equal((await Deno.stat(here.path)).ino, ino, "not written anew");
      }
      await Deno.writeTextFile(path, "#!/bin/sh\nexit 1\n");
      await start().obtain({ version: "customURL", url });
      assert.equal(new TextDecoder().decode(run()), `${source} a b c\n`, "fixed");
    }),
});
