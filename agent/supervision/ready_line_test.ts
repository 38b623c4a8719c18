import assert from "node:assert/strict";
import { readyUrls } from "./ready_line.ts";

const line = (json: string) =>
  `2026-01-02T03:04:05.678Z\tINFO\trdk\tweb/web.go:1\tserving\t${json}`;

Deno.test("readyUrls() gives the addresses, the one by number first", () => {
  assert.deepEqual(readyUrls(line('{"url":"http://127.0.0.1:8081"}')), ["http://127.0.0.1:8081"]);
  assert.deepEqual(
    readyUrls(line('{"url":"https://m.local.x:8080","alt_url":"https://0.0.0.0:8080"}')),
    ["https://127.0.0.1:8080", "https://m.local.x:8080"],
  );
  assert.deepEqual(readyUrls(line('{"url":"http://[::]:1"}')), ["http://[::1]:1"]);
});

Deno.test("readyUrls() gives nothing for other lines", () => {
  for (const other of ["", "serving", line("{}"), line('{"url":"ftp://x"}'), "error serving web"]) {
    assert.equal(readyUrls(other), undefined, other);
  }
});
