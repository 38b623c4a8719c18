import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { CurrentSession } from "./current_session.ts";

Deno.test("nobody counts as signed out while the database is away", async () => {
  const of = (failure: Error) =>
    new CurrentSession(
      {
        cookie: { token: () => "t" },
        verifyToken: () => Promise.reject(failure),
      } as unknown as ConstructorParameters<typeof CurrentSession>[0],
    ).of(() => undefined);
  const away = new ConnectError("the cloud's database cannot be reached", Code.Unavailable);
  await assert.rejects(of(away), away);
  assert.equal(await of(new ConnectError("sign in again", Code.Unauthenticated)), undefined);
});
