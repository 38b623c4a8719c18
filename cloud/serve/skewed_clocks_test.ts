import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { AccountService } from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { type Clock, systemClock } from "../../shared/base/time/clock.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { codeOf, stepAt } from "../accounts/second_factor/totp.ts";
import { addOwner } from "../local/people/people_command.ts";
import { systemRandom } from "../storage/keys/random.ts";
import { failure, type TestCloud } from "./cloud_testing.ts";
import { Pair } from "./pair_testing.ts";

const ANN = "ann@example.com";
const PASSWORD = "correct horse battery";
const PEER = { address: "192.0.2.7", port: 1, transport: "tcp", local: false } as const;

/** A host whose clock is off. */
const off = (ms: number): Clock => ({
  ...systemClock,
  now: () => new Date(systemClock.now().getTime() + ms),
});

Deno.test({
  name: "what one node writes counts on another whose clock is ten minutes away",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    const minutes = 60_000;
    await using pair = await Pair.open(off(-5 * minutes), { clockOfOne: off(5 * minutes) });
    const { one, other } = pair;
    const apart = one.clock.now().getTime() - other.clock.now().getTime();
    assert.ok(Math.abs(apart) < minutes, `${apart} ms`);

    const made = await one.bootstrap();
    const { queries } = one.folder.database;
    // Commands have the clock of their host.
    const deps = { clock: systemClock, random: systemRandom };
    const token = await addOwner(queries, { email: ANN, orgId: made.org_id }, deps);
    const accounts = [one, other].map((cloud) => cloud.client(AccountService));
    await accounts[0]!.setPassword({ token: token ?? "", password: PASSWORD });

    for (const [first, second] of [[one, other], [other, one]] as const) {
      const { result } = await first.client(AccountService)
        .signIn({ email: ANN, password: PASSWORD });
      assert.equal(result.case, "signedIn");
      const { value: signedIn } = result;
      const headers = { authorization: `Bearer ${signedIn.accessToken}` };
      await second.client(AccountService).getAccount({}, { headers });

      // A code for a program lasts a minute.
      const cookie = await cookieOf(first);
      const verifier = "v".repeat(50);
      const wanted = {
        redirect_uri: "http://127.0.0.1:40000/callback",
        state: "state-of-the-program",
        code_challenge: createHash("sha256").update(verifier).digest("base64url"),
        code_challenge_method: "S256",
        decision: "allow",
      };
      const granted = await post(first, "/account/authorize", new URLSearchParams(wanted), cookie);
      const code = /[?&;]code=([\w-]+)/.exec(await granted.text())?.[1] ?? "";
      await second.client(AccountService).exchangeSignInCode({
        ...{ code, codeVerifier: verifier, redirectUri: wanted.redirect_uri },
      });

      const started = await first.client(AccountService).startDeviceSignIn({});
      const pending = await second.client(AccountService)
        .finishDeviceSignIn({ deviceCode: started.deviceCode });
      assert.equal(pending.result.case, "pending");
    }

    // Codes of authenticators are those of the moment, and count once.
    const { id } = await queries.selectFrom("users").select("id").executeTakeFirstOrThrow();
    await queries.updateTable("users").set({ totp_generation: 1, totp_enabled: 1 }).execute();
    const secret = one.folder.keys.secrets.secondFactorSecret(id, 1);
    const given = { email: ANN, password: PASSWORD, code: codeOf(secret, stepAt(new Date())) };
    const { result } = await accounts[1]!.signIn(given);
    assert.equal(result.case, "signedIn");
    assert.equal((await failure(accounts[0]!.signIn(given))).code, Code.Unauthenticated);
  },
});

async function post(cloud: TestCloud, path: string, body: BodyInit, cookie = "") {
  const url = new URL(path, "http://127.0.0.1:8080");
  const headers = { origin: url.origin, host: url.host, cookie };
  const type = typeof body === "string" ? { "content-type": "application/json" } : undefined;
  const init = { method: "POST", headers: { ...headers, ...type }, body };
  return await cloud.services.accountRoutes(new Request(url, init), PEER);
}

/** The cookie of a browser in which Ann has signed in. */
async function cookieOf(cloud: TestCloud): Promise<string> {
  const body = JSON.stringify({ email: ANN, password: PASSWORD });
  const response = await post(cloud, "/account/session", body);
  await response.body?.cancel();
  return response.headers.get("set-cookie")?.split(";")[0] ?? "";
}
