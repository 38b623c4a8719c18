import assert from "node:assert/strict";
import { formatLine } from "../../../shared/log/line.ts";
import { readyUrls } from "./ready_line.ts";

const line = (json: string, { level = "INFO", logger = "rdk", message = "serving" } = {}) =>
  `2026-01-02T03:04:05.678Z\t${level}\t${logger}\tweb/web.go:1\t${message}\t${json}`;
const FIELDS = '{"url":"http://127.0.0.1:8081"}';

Deno.test("readyUrls() gives the addresses, the one by number first", () => {
  assert.deepEqual(readyUrls(line(FIELDS)), ["http://127.0.0.1:8081"]);
  assert.deepEqual(
    readyUrls(line('{"url":"https://m.local.x:8080","alt_url":"https://0.0.0.0:8080"}')),
    ["https://127.0.0.1:8080", "https://m.local.x:8080"],
  );
  assert.deepEqual(readyUrls(line('{"url":"http://[::]:1"}')), ["http://[::1]:1"]);
  assert.deepEqual(
    readyUrls(line('{"url":"http://0.0.0.0:1","alt_url":"http://127.0.0.1:1"}')),
    ["http://127.0.0.1:1"],
    "each once",
  );
  assert.deepEqual(readyUrls(line(FIELDS, { logger: "rdk.networking" })), [
    "http://127.0.0.1:8081",
  ]);
});

Deno.test("readyUrls() reads what our own log writes", () => {
  const text = formatLine({
    time: new Date(0),
    level: "info",
    logger: "rdk",
    message: "serving",
    fields: { url: "http://127.0.0.1:1" },
    caller: undefined,
  });
  assert.deepEqual(readyUrls(text), ["http://127.0.0.1:1"]);
});

Deno.test("readyUrls() gives nothing for other lines", () => {
  const others = [
    "",
    "serving",
    `serving ${FIELDS}`,
    `serving\t${FIELDS}`,
    line("{}"),
    line("null"),
    line("{"),
    line('{"url":"ftp://x"}'),
    line('{"url":7}'),
    line(FIELDS, { level: "ERROR" }),
    line(FIELDS, { level: "DEBUG" }),
  ];
  for (const other of others) assert.equal(readyUrls(other), undefined, other);
});

Deno.test("readyUrls() is not misled by what modules and resources say", () => {
  const said = `serving ${FIELDS}`;
  const columns = `x\tINFO\trdk\tweb/web.go:1\tserving\t${FIELDS}`;
  const others = [
    said,
    `\t${columns}`,
    line(FIELDS, { logger: "rdk.modmanager.camera.StdOut" }),
    line(FIELDS, { logger: "rdk.resource_manager.rdk:component:sensor/s" }),
    line(FIELDS, { logger: "my-module" }),
    line("{}", { message: said }),
    line("{}", { message: `started: serving\t${FIELDS}` }),
    line(FIELDS, { logger: "rdk.modmanager.m.StdOut", message: columns }),
    formatLine({
      time: new Date(0),
      level: "info",
      logger: "rdk",
      message: `a\n${columns}`,
      fields: {},
      caller: undefined,
    }).split("\n")[1] ?? "",
  ];
  for (const other of others) assert.equal(readyUrls(other), undefined, other);
});
