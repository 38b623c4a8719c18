import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";
import { DownloadUrls } from "./download_urls.ts";

Deno.test("DownloadUrls gives links that open one file for 15 minutes", async () => {
  const clock = new FakeClock();
  const urls = new DownloadUrls(
    new DerivedSecrets(new Uint8Array(32)),
    clock,
    () => "https://cloud.example.com",
  );
  const url = new URL(urls.signed({ name: "m" }, { id: "file-1", version: "2026:08" }));
  const expires = url.searchParams.get("expires") ?? "";
  const signature = url.searchParams.get("signature") ?? "";

  assert.equal(
    url.href.split("?")[0],
    "https://cloud.example.com/packages/file-1/m-2026-08.tar.gz",
  );
  assert.equal(urls.check("file-1", expires, signature), "valid");
  assert.equal(urls.check("file-2", expires, signature), "wrong");
  assert.equal(urls.check("file-1", `${Number(expires) + 60}`, signature), "wrong");
  assert.equal(urls.check("file-1", "1e9", signature), "wrong");
  assert.equal(urls.check("file-1", expires, "x"), "wrong");
  assert.equal(urls.check("file-1", undefined, signature), "unsigned");
  await clock.advance(15 * 60_000 - 1_000);
  assert.equal(urls.check("file-1", expires, signature), "valid");
  await clock.advance(2_000);
  assert.equal(urls.check("file-1", expires, signature), "expired");
});
