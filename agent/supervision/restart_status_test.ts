import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { FakeClock } from "../../shared/time/fake_clock.ts";
import { systemClock } from "../../shared/time/clock.ts";
import { readRestartStatus, restartStatusOverHttp } from "./restart_status.ts";

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

Deno.test("restartStatusOverHttp() asks the address that answers", async () => {
  const ask = restartStatusOverHttp(systemClock);
  const paths: (string | undefined)[] = [];
  await withServer((request, response) => {
    paths.push(request.url);
    response.end('{"restart_allowed":true}');
  }, async (url) => {
    const answer = await ask(["http://127.0.0.1:1", url]);
    assert.deepEqual(answer, { kind: "answer", restartAllowed: true });
  });
  assert.deepEqual(paths, ["/restart_status"]);
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

Deno.test("restartStatusOverHttp() gives up when the server hangs", async () => {
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
