import assert from "node:assert/strict";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { PortInUseError } from "../../shared/rpc/server/errors.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import type { BootstrapResult } from "../local/bootstrap/bootstrap.ts";
import { bootstrapFolder } from "../local/bootstrap/bootstrap_testing.ts";
import { systemRandom } from "../storage/keys/random.ts";
import { type Cloud, startCloud } from "./cloud.ts";

const deps = { clock: systemClock, random: systemRandom, log: memoryLogger("machine-cloud") };

function optionsFor(dataDir: string, port = 0) {
  return {
    dataDir,
    listen: { hostname: "127.0.0.1", port },
    domain: "machine.internal",
    packageLimitBytes: 1_000_000,
    hostname: "localhost",
  };
}

async function withCloud(run: (cloud: Cloud, made: BootstrapResult, dir: string) => Promise<void>) {
  const dir = await Deno.makeTempDir({ prefix: "machine-cloud-serve-" });
  const made = await bootstrapFolder(dir);
  const cloud = await startCloud(optionsFor(dir), deps);
  try {
    await run(cloud, made, dir);
  } finally {
    await cloud.close({ graceMs: 1_000 });
    await Deno.remove(dir, { recursive: true });
  }
}

function post(url: string, path: string, body: unknown, token?: string): Promise<Response> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return fetch(`${url}/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...authorization },
    body: JSON.stringify(body),
  });
}

Deno.test("startCloud() serves the page with a strict policy and nothing beside it", () =>
  withCloud(async ({ url }) => {
    const page = await fetch(`${url}/?machine=x`);
    const html = await page.text();
    const again = await fetch(url, {
      headers: { "if-none-match": page.headers.get("etag") ?? "" },
    });
    await again.body?.cancel();
    const policy = page.headers.get("content-security-policy") ?? "";

    assert.equal(page.status, 200);
    assert.match(policy, /default-src 'self'/);
    assert.doesNotMatch(policy, /unsafe/);
    assert.equal(page.headers.get("x-content-type-options"), "nosniff");
    assert.equal(again.status, 304);
    assert.doesNotMatch(html, /<style|<script(?![^>]*src=)|\son\w+=|\sstyle=/);
    const script = /<script[^>]* src="([^"]+)"/.exec(html)?.[1] ?? "";
    const style = /<link[^>]* href="([^"]+\.css)"/.exec(html)?.[1] ?? "";
    for (const file of [script, style, "/favicon.svg"]) {
      const response = await fetch(url + file);
      await response.body?.cancel();
      assert.equal(response.status, 200, file);
    }
    for (const path of ["/cloud.key", "/..%2fmain.ts", "/%2e%2e/main.ts", "/web/", "/x"]) {
      const response = await fetch(url + path);
      await response.body?.cancel();
      assert.equal(response.status, 404, path);
    }
    const fresh = await fetch(`${url}/machines/x/logs`, { headers: { accept: "text/html" } });
    assert.equal(await fresh.text(), html, "addresses of the console lead to its page");
    const hashed = await fetch(url + script);
    await hashed.body?.cancel();
    assert.match(hashed.headers.get("cache-control") ?? "", /immutable/);
    assert.deepEqual(await (await fetch(`${url}/healthz`)).json(), { status: "ok" });
  }));

Deno.test("startCloud() answers what the page asks, as JSON", () =>
  withCloud(async ({ url }, made) => {
    const authenticate = (payload: string) =>
      post(url, "proto.rpc.v1.AuthService/Authenticate", {
        entity: made.api_key_id,
        credentials: { type: "api-key", payload },
      });
    const wrong = await authenticate("wrong");
    const { accessToken } = await (await authenticate(made.api_key)).json();
    const ask = (path: string, body: unknown) => post(url, path, body, accessToken);
    const live = await ask("machine.cloud.v1.ConsoleService/GetPartLiveStatus", {
      partId: made.part_id,
    });
    const unsigned = await post(url, "viam.app.v1.AppService/ListOrganizations", {});
    const robots = await ask("viam.app.v1.AppService/ListRobots", { locationId: made.location_id });

    assert.equal(wrong.status, 401);
    const { code, message, details } = await wrong.json();
    assert.deepEqual([code, message, details[0].debug.reason], [
      "unauthenticated",
      "invalid credentials of type api-key",
      "KEY_WRONG",
    ]);
    assert.equal(live.status, 200);
    await live.body?.cancel();
    assert.equal((await unsigned.json()).code, "unauthenticated");
    assert.equal((await robots.json()).robots[0].onlineState, "ONLINE_STATE_AWAITING_SETUP");
  }));

Deno.test("GET /install.sh gives the script that sets a machine up, as text", () =>
  withCloud(async ({ url }) => {
    for (const name of ["install.sh", "uninstall.sh", "install.ps1", "uninstall.ps1"]) {
      const answer = await fetch(`${url}/${name}`);
      assert.equal(answer.status, 200, name);
      assert.match(answer.headers.get("content-type") ?? "", /^text\/plain/);
      assert.match(await answer.text(), name.endsWith(".sh") ? /^#!\/bin\/sh\n/ : /^# /);
    }
  }));

Deno.test("GET /api/json1/config gives the credentials file to who manages the part", () =>
  withCloud(async ({ url }, made) => {
    const ask = (id: string, headers: Record<string, string>) =>
      fetch(`${url}/api/json1/config?client=true&id=${id}`, { headers });
    const right = { key_id: made.api_key_id, key: made.api_key };

    const found = await ask(made.part_id, right);
    const answers = [
      await ask(made.part_id, { ...right, key: "wrong" }),
      await ask(made.part_id, {}),
      await ask(crypto.randomUUID(), right),
      await ask("", right),
    ];

    assert.equal(found.headers.get("cache-control"), "no-store");
    assert.deepEqual(await found.json(), {
      cloud: { app_address: url, id: made.part_id, secret: made.part_secret },
    });
    assert.deepEqual(answers.map(({ status }) => status), [401, 401, 404, 400]);
    for (const answer of answers) assert.ok((await answer.json()).error);
  }));

Deno.test("startCloud() refuses a taken port and leaves nothing open", () =>
  withCloud(async ({ address }) => {
    const dir = await Deno.makeTempDir({ prefix: "machine-cloud-second-" });
    try {
      await assert.rejects(startCloud(optionsFor(dir, address.port), deps), PortInUseError);
      const free = await startCloud(optionsFor(dir), deps);
      await free.close({ graceMs: 1_000 });
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  }));

Deno.test("startCloud() starts again where it was, with the tokens it gave", async () => {
  const dir = await Deno.makeTempDir({ prefix: "machine-cloud-again-" });
  try {
    const made = await bootstrapFolder(dir);
    const first = await startCloud(optionsFor(dir), deps);
    const answer = await post(first.url, "proto.rpc.v1.AuthService/Authenticate", {
      entity: made.part_id,
      credentials: { type: "robot-secret", payload: made.part_secret },
    });
    const { accessToken } = await answer.json();
    await first.close({ graceMs: 1_000 });

    const second = await startCloud(optionsFor(dir), deps);
    const path = "viam.app.v1.RobotService/Config";
    const config = await post(second.url, path, { id: made.part_id }, accessToken);
    const { config: { revision } } = await config.json();
    await second.close({ graceMs: 1_000 });

    assert.match(revision, /^1-/);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
