import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { AttemptLimiter } from "../../../shared/cloud/auth/attempt_limiter.ts";
import { SingleSignOnRoutes, type SingleSignOnRoutesOptions } from "./single_sign_on_routes.ts";

for (const code of [Code.Unauthenticated, Code.Unavailable]) {
  Deno.test(`answers that an issuer fails with ${Code[code]} are counted by address`, async () => {
    const limiter = new AttemptLimiter(() => 0, { address: { burst: 3, perMinute: 1 } });
    let asked = 0;
    const identity = () => {
      asked++;
      return Promise.reject(new ConnectError("it fails", code));
    };
    const flows = { open: () => ({ value: { back: "/" } }), isUsed: () => Promise.resolve(false) };
    const routes = new SingleSignOnRoutes({
      ...{ limiter, issuer: { identity }, seal: { flows }, publicUrl: () => "http://localhost" },
    } as unknown as SingleSignOnRoutesOptions);
    const origin = { address: "192.0.2.1", client: "" };
    const codes: Code[] = [];
    for (let n = 0; n < 5; n++) {
      const end = routes.end(new URL("http://localhost/?code=c&state=s"), () => "", origin);
      codes.push(await end.then(() => assert.fail(), (error) => ConnectError.from(error).code));
    }
    assert.deepEqual(codes, [code, code, code, Code.ResourceExhausted, Code.ResourceExhausted]);
    assert.equal(asked, 3);
  });
}
