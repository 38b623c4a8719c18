import assert from "node:assert/strict";
import { askHealth } from "./health.ts";

Deno.test("askHealth() says whether a cloud is ready", async () => {
  let status = 200;
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    ({ url }) => new Response(null, { status: new URL(url).pathname === "/readyz" ? status : 404 }),
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  assert.deepEqual(await askHealth(url), { text: `${url} is ready\n`, code: 0 });
  status = 503;
  assert.deepEqual(await askHealth(url), {
    text: `${url} is not ready: it answers 503\n`,
    code: 1,
  });
  await server.shutdown();
  const gone = await askHealth(url);
  assert.equal(gone.code, 1);
  assert.match(gone.text, /is not ready: it cannot be reached: /);
});
