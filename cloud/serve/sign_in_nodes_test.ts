import assert from "node:assert/strict";
import { Secret } from "../../shared/base/redaction/secret.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { codeOf, stepAt } from "../accounts/second_factor/totp.ts";
import { FakeIssuer } from "../accounts/single_sign_on/fake_issuer.ts";
import { addOwner } from "../local/people/people_command.ts";
import { systemRandom } from "../storage/keys/random.ts";
import type { TestCloud } from "./cloud_testing.ts";
import { Pair } from "./pair_testing.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
const ANN = "ann@example.com";
const PEER = { address: "192.0.2.7", port: 1, transport: "tcp", local: false } as const;

/** What a browser sends to a node, and what it gets. */
async function send(cloud: TestCloud, path: string, init: RequestInit = {}) {
  const url = new URL(path, "http://127.0.0.1:8080");
  const headers = { ...init.headers, origin: url.origin, host: url.host };
  const response = await cloud.services.accountRoutes(
    new Request(url, { ...init, headers, redirect: "manual" }),
    PEER,
  );
  const cookies = response.headers.getSetCookie().map((each) => each.split(";")[0] ?? "");
  return {
    status: response.status,
    text: await response.text(),
    location: response.headers.get("location") ?? "",
    session: cookies.find((each) => /^machine_session_\d+=./.test(each)) ?? "",
    flow: cookies.find((each) => /^machine_single_sign_on=./.test(each)) ?? "",
  };
}

Deno.test({
  name:
    "a single sign-on begins on one node, ends on the other, and its code is taken on the first",
  ignore,
  async fn() {
    await using issuer = await FakeIssuer.start();
    const singleSignOn = {
      ...{ issuer: issuer.url, clientId: issuer.clientId, name: "Example", domains: [] },
      clientSecret: new Secret(issuer.clientSecret),
      trustsSecondFactor: false,
    };
    await using pair = await Pair.open(systemClock, { singleSignOn });
    const { one, other } = pair;
    const { queries } = one.folder.database;
    const made = await one.bootstrap();
    const deps = { clock: systemClock, random: systemRandom };
    await addOwner(queries, { email: ANN, orgId: made.org_id }, deps);
    const toIssuer = async (cloud: TestCloud) => {
      const begun = await send(cloud, "/account/single-sign-on?return_to=/fleet");
      assert.equal(begun.status, 303, begun.text);
      const answer = await fetch(begun.location, { redirect: "manual" });
      await answer.body?.cancel();
      return { cookie: begun.flow, callback: answer.headers.get("location") ?? "" };
    };
    const back = async (cloud: TestCloud, from: { cookie: string; callback: string }) =>
      await send(cloud, from.callback, { headers: { cookie: from.cookie } });

    const plain = await toIssuer(one);
    const answers = await Promise.all([back(other, plain), back(one, plain), back(other, plain)]);
    assert.equal(answers.filter(({ session }) => session !== "").length, 1);
    assert.equal((await back(one, plain)).status, 401);

    await queries.updateTable("users").set({ totp_generation: 1, totp_enabled: 1 }).execute();
    const asked = await back(other, await toIssuer(one));
    assert.equal(asked.session, "");
    const token = /name="token"[^>]*value="([\w-]+)"/.exec(asked.text)?.[1] ?? "";
    const give = (cloud: TestCloud, code: string) =>
      send(cloud, "/account/single-sign-on/code", {
        method: "POST",
        body: new URLSearchParams({ token, code }),
      });
    assert.match((await give(other, "000000")).text, /code is wrong/);
    const { id } = await queries.selectFrom("users").select("id").executeTakeFirstOrThrow();
    const secret = one.folder.keys.secrets.secondFactorSecret(id, 1);
    const step = stepAt(new Date());
    // Two codes that are right: what counts once is the step.
    const given = await Promise.all([
      give(one, codeOf(secret, step)),
      give(other, codeOf(secret, step + 1)),
    ]);
    const [right, ...more] = given.filter(({ session }) => session !== "");
    assert.deepEqual(more, []);
    assert.match(right?.text ?? "", /url=\/fleet/);
    assert.equal((await give(one, codeOf(secret, step + 1))).status, 401);
    assert.equal((await give(other, codeOf(secret, step + 1))).status, 401);
  },
});
