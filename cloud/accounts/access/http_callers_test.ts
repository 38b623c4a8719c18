import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { AttemptLimiter } from "../../../shared/cloud/auth/attempt_limiter.ts";
import type { Identity } from "../../../shared/cloud/auth/identity.ts";
import { HttpCallers, type HttpCallersOptions } from "./http_callers.ts";

const IDENTITY: Identity = { credentialType: "api-key", entity: "k", claims: {} };
const AWAY = new ConnectError("the cloud's database cannot be reached", Code.Unavailable);
const OVER = new ConnectError("sign in again", Code.Unauthenticated);
const KEY = { key_id: "k", key: "right" };
const TOKEN = { authorization: "Bearer t" };

/** A caller of plain HTTP; each of the two questions is answered, or fails. */
function rig(token: Error | Identity, caller: Error | object) {
  const wrong: string[] = [];
  const answer = <T>(given: Error | T) =>
    given instanceof Error ? Promise.reject(given) : Promise.resolve(given);
  const http = new HttpCallers({
    callers: { of: () => answer(caller) },
    verifiers: { byType: { "api-key": () => Promise.resolve(IDENTITY) } },
    verifyToken: () => answer(token),
    limiter: new AttemptLimiter(() => 0, { address: { burst: 1, perMinute: 1 } }),
    cookieToken: () => undefined,
    onWrongKey: (id: string) => Promise.resolve(void wrong.push(id)),
  } as unknown as HttpCallersOptions);
  const access = async (headers: Record<string, string>) => {
    const peer = { address: "192.0.2.1" } as never;
    return await http.accessOf({ header: (name) => headers[name], peer });
  };
  return { access, wrong };
}

Deno.test("credentials are neither refused nor counted as wrong while the database is away", async () => {
  for (const away of [AWAY, new Error("connection terminated")]) {
    for (const [token, caller, headers] of [[away, {}, TOKEN], [IDENTITY, away, KEY]] as const) {
      const { access, wrong } = rig(token, caller);
      // One wrong attempt would be all there may be.
      for (let time = 0; time < 3; time++) await assert.rejects(access(headers), away);
      assert.deepEqual(wrong, []);
    }
  }
});

Deno.test("credentials that do not count any more are refused, and counted", async () => {
  for (const [token, caller, headers] of [[OVER, {}, TOKEN], [IDENTITY, OVER, KEY]] as const) {
    const { access, wrong } = rig(token, caller);
    const first = await access(headers);
    assert.equal(first.kind === "refused" && first.status, 401);
    assert.deepEqual(wrong, headers === KEY ? ["k"] : []);
    const next = await access(headers);
    assert.equal(next.kind === "refused" && next.status, 429);
  }
});
