/** The examples of docs/json-api.md against a machine whose callers sign in. */
import { Validator } from "@seriousme/openapi-schema-validator";
import assert from "node:assert/strict";
import { join } from "node:path";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { Rig } from "./rig.ts";
import { runToEnd } from "./run_to_end.ts";

const DOCUMENT = new URL("../../docs/json-api.md", import.meta.url);
const PANEL = "https://panel.example";

const CONFIG = {
  auth: { handlers: [{ type: "api-key", config: { keys: ["reader"], reader: "s3cret" } }] },
  components: [
    { name: "host", api: "rdk:component:sensor", model: "rdk:builtin:host" },
    { name: "lift", api: "rdk:component:motor", model: "rdk:builtin:fake" },
  ],
};

async function started() {
  const rig = await Rig.create();
  const file = join(rig.dir, "machine.json");
  const network = { bind_address: `127.0.0.1:${rig.serverPort}`, allowed_origins: [PANEL] };
  await Deno.writeTextFile(file, JSON.stringify({ ...CONFIG, network }));
  await rig.startServer([], {}, file);
  return rig;
}

Deno.test({
  name: "the examples of docs/json-api.md read and move a machine",
  ignore: ignoreWithout(import.meta.url, "curl"),
  async fn() {
    await using rig = await started();
    const example = /```sh\n([^`]*)```/.exec(await Deno.readTextFile(DOCUMENT))?.[1] ?? "";
    const script = example.replace(/MACHINE=.*/, `MACHINE=${rig.serverUrl}`)
      .replaceAll("KEY_ID:KEY", "reader:s3cret").replaceAll("KEY_ID", "reader")
      .replaceAll("key: KEY", "key: s3cret").replaceAll("\ncurl", "\necho\ncurl");
    const { stdout } = await runToEnd("sh", { args: ["-c", script] });
    const lines = new TextDecoder().decode(stdout).trim().split("\n").filter(Boolean);
    const [list, readings, set, powered, status, document] = lines.map((line) => JSON.parse(line));
    const names = list.resources.map(({ name }: { name: string }) => name);
    assert.deepEqual(names.toSorted(), ["host", "lift"]);
    assert.equal(typeof readings.readings.cpu_count, "number");
    assert.deepEqual(set, {});
    assert.deepEqual(powered, { isOn: true, powerPct: 0.5 });
    assert.equal(status.state, "STATE_RUNNING");
    const verdict = await new Validator().validate(document);
    assert.deepEqual(verdict.errors ?? [], []);
    const { post } = document.paths["/api/motor/{name}/SetPower"];
    const { properties } = post.requestBody.content["application/json"].schema;
    assert.deepEqual(Object.keys(properties), ["powerPct", "extra"]);
  },
});

Deno.test("/api refuses wrong keys, foreign pages and wrong input, with words", async () => {
  await using rig = await started();
  const ask = async (path: string, init: RequestInit = {}, key = "s3cret") => {
    const response = await fetch(`${rig.serverUrl}/api${path}`, {
      signal: AbortSignal.timeout(60_000),
      method: "POST",
      ...init,
      headers: { "key-id": "reader", key, ...init.headers },
    });
    return { response, status: response.status, text: await response.text() };
  };
  const refused = async (status: number, words: RegExp, ...args: Parameters<typeof ask>) => {
    const found = await ask(...args);
    assert.equal(found.status, status, found.text);
    assert.match(JSON.parse(found.text).message, words);
  };
  const move = "/motor/lift/SetPower";
  await refused(401, /invalid credentials/, move, {}, "wrong");
  await refused(401, /authentication required/, move, { headers: { "key-id": "", key: "" } }, "");
  await refused(400, /"nonsense" is unknown/, move, { body: '{"nonsense":1}' });
  await refused(400, /no JSON object: \[\]/, move, { body: "[]" });
  await refused(
    404,
    /no node found with api rdk:component:motor and name none/,
    "/motor/none/Stop",
  );
  await refused(404, /no method Fly; there are SetPower/, "/motor/lift/Fly");
  await refused(404, /there is no API foo; there are robot, arm/, "/foo/lift/Stop");
  await refused(405, /use POST/, move, { method: "GET" });
  await refused(501, /StreamStatus is a stream/, "/robot/StreamStatus");
  const many = `{"extra":{"a":[${"0,".repeat(262_144)}0]}}`;
  await refused(429, /more than 262144 values/, "/motor/lift/Stop", { body: many });
  const foreign = { headers: { origin: "https://evil.example" } };
  await refused(403, /pages of https:\/\/evil.example may not call/, move, foreign);
  const panel = { headers: { origin: PANEL } };
  const named = await ask("/motor/lift/IsPowered", panel);
  assert.equal(named.status, 200, named.text);
  assert.equal(named.response.headers.get("access-control-allow-origin"), PANEL);
  const preflight = await fetch(`${rig.serverUrl}/api${move}`, {
    signal: AbortSignal.timeout(60_000),
    method: "OPTIONS",
    ...panel,
  });
  assert.equal(preflight.status, 204);
  assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /key-id/);
  await preflight.body?.cancel();
});
