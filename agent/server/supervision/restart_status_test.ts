import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { isOwnAddress, readRestartStatus, restartStatusOverHttp } from "./restart_status.ts";

async function withServer(
  answer: RequestListener,
  body: (url: string) => Promise<void>,
): Promise<void> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await body(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const YES = '{"restart_allowed":true}';
const NO = '{"restart_allowed":false}';

Deno.test("readRestartStatus() takes only a clear yes for a yes", () => {
  const allowed = (status: number, body: string) => {
    const answer = readRestartStatus(status, body);
    return answer.kind === "answer" && answer.restartAllowed;
  };
  assert.equal(allowed(200, '{"restart_allowed":true}'), true);
  assert.equal(allowed(200, '{"restart_allowed":false}'), false);
  assert.equal(allowed(200, '{"restart_allowed":"true"}'), false);
  assert.equal(allowed(200, "{}"), false);
  assert.equal(allowed(200, "null"), false);
  assert.equal(allowed(200, "<html>"), false);
  assert.equal(allowed(404, '{"restart_allowed":true}'), false);
});

Deno.test("readRestartStatus() tells a clear no from an answer that is not understood", () => {
  assert.deepEqual(readRestartStatus(200, NO), { kind: "answer", restartAllowed: false });
  const reason = (status: number, body: string) => {
    const answer = readRestartStatus(status, body);
    return answer.kind === "answer" ? answer.reason : undefined;
  };
  assert.match(reason(404, "") ?? "", /status 404/);
  assert.match(reason(200, "{}") ?? "", /not understood/);
});

Deno.test("readRestartStatus() takes the server's word on why not, cut to what a status bears", () => {
  const read = (fields: object) =>
    readRestartStatus(200, JSON.stringify({ restart_allowed: false, ...fields }));
  const no = { kind: "answer", restartAllowed: false } as const;
  assert.deepEqual(read({ reason: "no sensor" }), { ...no, why: "no sensor" });
  assert.deepEqual(read({ reason: "x".repeat(600) }), { ...no, why: "x".repeat(500) });
  assert.deepEqual(read({ reason: 7, is_reconfiguring: "yes" }), no);
  assert.deepEqual(read({ is_reconfiguring: true }), { ...no, isReconfiguring: true });
});

Deno.test("readRestartStatus() takes the server's word on the cloud where it gives one", () => {
  const reached = (body: string) => {
    const answer = readRestartStatus(200, body);
    return answer.kind === "answer" ? answer.cloudReached : "none";
  };
  assert.equal(reached('{"restart_allowed":false,"cloud_reached":false}'), false);
  assert.equal(reached('{"restart_allowed":true,"cloud_reached":true}'), true);
  assert.equal(reached('{"restart_allowed":true,"cloud_reached":"yes"}'), undefined);
  assert.equal(reached(YES), undefined);
});

Deno.test("restartStatusOverHttp() asks the address that answers", async () => {
  const ask = restartStatusOverHttp(systemClock);
  const paths: (string | undefined)[] = [];
  await withServer((request, response) => {
    paths.push(request.url);
    response.end(YES);
  }, async (url) => {
    const answer = await ask(["http://127.0.0.1:1", url]);
    assert.deepEqual(answer, { kind: "answer", restartAllowed: true });
  });
  assert.deepEqual(paths, ["/restart_status"]);
});

Deno.test("restartStatusOverHttp() asks the nearest address alone while that one answers", async () => {
  let far = 0;
  await withServer((_, response) => void response.end(NO), async (near) => {
    await withServer((_, response) => {
      far++;
      response.end(YES);
    }, async (other) => {
      const answer = await restartStatusOverHttp(systemClock)([near, other]);
      assert.deepEqual(answer, { kind: "answer", restartAllowed: false });
    });
  });
  assert.equal(far, 0);
});

Deno.test("restartStatusOverHttp() asks the next address beside one that is slow", async () => {
  const clock = new FakeClock();
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  await withServer(() => resolve(), async (slow) => {
    await withServer((_, response) => void response.end(YES), async (other) => {
      const answer = restartStatusOverHttp(clock)([slow, other]);
      await asked;
      await clock.advance(2_000);
      assert.deepEqual(await answer, { kind: "answer", restartAllowed: true });
    });
  });
});

Deno.test("restartStatusOverHttp() prefers a clear answer to a refusal of the question", async () => {
  const forbid: RequestListener = (_, response) => {
    response.statusCode = 403;
    response.end("forbidden");
  };
  await withServer(forbid, async (near) => {
    const ask = restartStatusOverHttp(systemClock);
    await withServer((_, response) => void response.end(YES), async (other) => {
      assert.deepEqual(await ask([near, other]), { kind: "answer", restartAllowed: true });
    });
    const answer = await ask([near, "http://127.0.0.1:1"]);
    assert(answer.kind === "answer" && !answer.restartAllowed && answer.reason?.includes("403"));
  });
});

Deno.test("restartStatusOverHttp() tells no answer from a no", async () => {
  const ask = restartStatusOverHttp(systemClock);
  const refused = await ask(["http://127.0.0.1:1"]);
  assert(
    refused.kind === "no-answer" && /ECONNREFUSED|refused/.test(refused.reason),
    JSON.stringify(refused),
  );
  const none = await ask([]);
  assert.equal(none.kind, "no-answer");
});

Deno.test("restartStatusOverHttp() times out when the server hangs", async () => {
  const clock = new FakeClock();
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  await withServer(() => resolve(), async (url) => {
    const answer = restartStatusOverHttp(clock)([url]);
    await asked;
    await clock.advance(10_000);
    const given = await answer;
    assert.deepEqual(given, { kind: "no-answer", reason: "no answer within 10 s" });
  });
});

Deno.test("restartStatusOverHttp() checks certificates except at this host's addresses", async () => {
  const testdata = new URL("../../../tests/compat/testdata/", import.meta.url);
  const cert = await Deno.readTextFile(new URL("localhost-cert.pem", testdata));
  const key = await Deno.readTextFile(new URL("localhost-key.pem", testdata));
  const server = createTlsServer({ cert, key }, (_, response) => void response.end(YES));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const trusting = await restartStatusOverHttp(systemClock)([url]);
    assert.deepEqual(trusting, { kind: "answer", restartAllowed: true });
    const elsewhere = await restartStatusOverHttp(systemClock, () => false)([url]);
    assert.equal(elsewhere.kind, "no-answer", "a stranger's certificate is not taken");
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

Deno.test("isOwnAddress() knows loopback and the interfaces of this host", () => {
  for (const own of ["127.0.0.1", "127.3.2.1", "localhost", "[::1]"]) {
    assert(isOwnAddress(own), own);
  }
  for (const { address } of Deno.networkInterfaces()) assert(isOwnAddress(address), address);
  for (const other of ["192.0.2.1", "machine.local.example", "127.0.0.1.example", ""]) {
    assert(!isOwnAddress(other), other);
  }
});
