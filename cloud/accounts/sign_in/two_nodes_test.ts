import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import { z } from "zod";
import { AttemptLimiter } from "../../../shared/cloud/auth/attempt_limiter.ts";
import { TokenIssuer } from "../../../shared/cloud/auth/token_issuer.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import type { CloudDatabase } from "../../storage/database/cloud_database.ts";
import { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { createLink, useLink } from "../links/one_time_links.ts";
import { type OpenedCode, SealedCodes, sweepUsedCodes } from "../links/sealed_codes.ts";
import { findOrCreateUser } from "../people/users.ts";
import { ProgramSignIn } from "../program_sign_in/program_sign_in.ts";
import { SecondFactor } from "../second_factor/second_factor.ts";
import { codeOf, stepAt } from "../second_factor/totp.ts";
import { Sessions } from "../sessions/sessions.ts";
import { testTwoOpenings, type TwoOpenings } from "./two_openings_testing.ts";

const secrets = new DerivedSecrets(new Uint8Array(32));
const origin = { address: "192.0.2.7", client: "test" };
const from = (last: number) => ({ address: `198.51.100.${last}`, client: "test" });
const VERIFIER = "v".repeat(50);
const request = {
  challenge: createHash("sha256").update(VERIFIER).digest("base64url"),
  redirectUri: "http://127.0.0.1:40000/callback",
};

/** What a node has for signing in. */
async function node({ queries }: CloudDatabase, clock: FakeClock) {
  const issuer = await TokenIssuer.create({ issuer: "test", audience: ["test"] });
  const changes = { drain: () => Promise.resolve() };
  const sessions = new Sessions({ queries, changes, issuer, clock, random: systemRandom });
  const begin = sessions.start.bind(sessions);
  const programs = new ProgramSignIn({
    ...{ queries, secrets, clock, sessions, random: systemRandom },
    signIn: { begin: (user, ...rest) => begin(user.id, ...rest) },
    limiter: new AttemptLimiter(() => clock.monotonicMs()),
  });
  const secondFactor = new SecondFactor({
    ...{ queries, secrets, clock, random: systemRandom, issuerName: () => "test" },
  });
  return { queries, sessions, programs, secondFactor };
}

async function twoNodes([first, second]: TwoOpenings) {
  const clock = new FakeClock();
  const one = await node(first, clock);
  const other = await node(second, clock);
  const ann = await findOrCreateUser(one.queries, { email: "ann@example.com" }, {
    ...{ random: systemRandom, now: clock.now() },
  });
  const { id } = await one.sessions.start(ann.id, "password", origin);
  return { clock, one, other, ann, approver: { userId: ann.id, sessionId: id } };
}

/** The code with which it failed; undefined: it worked. */
const failed = (promise: Promise<unknown>) =>
  promise.then(() => undefined, (error) => ConnectError.from(error).code);

testTwoOpenings(import.meta.url, {
  "a sealed code opens on each node, and is used on one": async (both) => {
    const clock = new FakeClock();
    const [one, other] = both.map(({ queries }) =>
      new SealedCodes({
        ...{ queries, clock, key: secrets.signInKey("program"), lastsMs: 60_000 },
        schema: z.string(),
      })
    );
    assert.ok(one && other);
    for (let turn = 0; turn < 20; turn++) {
      const opened: OpenedCode<string> | undefined = other.open(one.seal(`value ${turn}`));
      assert.ok(opened);
      assert.equal(opened.value, `value ${turn}`);
      assert.equal(await other.isUsed(opened), false);
      const uses: boolean[] = await Promise.all(
        [one, other, one, other].map((codes) => codes.use(opened)),
      );
      assert.deepEqual(uses.filter((isFirst) => isFirst), [true]);
      assert.equal(await one.isUsed(opened), true);
    }
    assert.equal(one.open("AAAA"), undefined);
    assert.equal(one.open(""), undefined);
    const [{ queries }] = both;
    const foreign = new SealedCodes({
      ...{ queries, clock, key: secrets.signInKey("second step"), lastsMs: 60_000 },
      schema: z.string(),
    });
    assert.equal(foreign.open(one.seal("of another purpose")), undefined);
    const old = one.seal("old");
    await clock.advance(60_000);
    assert.equal(other.open(old), undefined);
    const rows = () => queries.selectFrom("used_codes").selectAll().execute();
    await sweepUsedCodes(queries, clock.now());
    assert.equal((await rows()).length, 20, "a node whose clock is behind still knows them");
    await clock.advance(61 * 60_000);
    await sweepUsedCodes(queries, clock.now());
    assert.deepEqual(await rows(), []);
  },

  "a program is let in on one node and gets its session on the other": async (both) => {
    const { one, other, ann, approver, clock } = await twoNodes(both);
    const given = { code: one.programs.grant(approver, request), verifier: VERIFIER };
    const { redirectUri } = request;
    const exchanges = await Promise.all(
      [one, other, one, other].map(({ programs }) =>
        failed(programs.exchange({ ...given, redirectUri }, origin))
      ),
    );
    assert.deepEqual(exchanges.filter((code) => code === undefined).length, 1);
    assert.equal(exchanges.filter((code) => code === Code.Unauthenticated).length, 3);
    const stolen = { code: one.programs.grant(approver, request), redirectUri };
    assert.equal(
      await failed(other.programs.exchange({ ...stolen, verifier: "another" }, origin)),
      Code.Unauthenticated,
    );
    assert.equal(
      await failed(one.programs.exchange({ ...stolen, verifier: VERIFIER }, origin)),
      Code.Unauthenticated,
    );
    assert.equal((await other.sessions.list(ann.id)).length, 2);

    const { device, deviceCode } = await one.programs.start("a robot", origin);
    assert.equal((await other.programs.waiting(device.userCode, origin)).clientName, "a robot");
    assert.equal(await other.programs.finish(deviceCode, origin), undefined);
    const decisions = await Promise.all([
      failed(one.programs.decide(device.userCode.toLowerCase(), approver, origin)),
      failed(other.programs.decide(device.userCode, "refused", origin)),
    ]);
    assert.deepEqual(decisions.toSorted(), [Code.NotFound, undefined], "the first one counts");
    await clock.advance(5_000);
    const ends = await Promise.all(
      [one, other].map(({ programs }) => failed(programs.finish(deviceCode, origin))),
    );
    const first = decisions[0] === undefined ? undefined : Code.PermissionDenied;
    assert.deepEqual(ends.toSorted(), [Code.NotFound, first].toSorted());

    const forgotten = await one.programs.start("a robot", origin);
    await clock.advance(10 * 60_000);
    assert.equal(await failed(other.programs.finish(forgotten.deviceCode, origin)), Code.NotFound);
  },

  "programs that wait are bounded over both nodes, by network and in all": async (both) => {
    const { one, other } = await twoNodes(both);
    const starts = await Promise.all(
      Array.from({ length: 24 }, (_, at) => [one, other][at % 2]!)
        .map(({ programs }, at) =>
          failed(programs.start("", { address: `2001:db8:0:1::${at}`, client: "" }))
        ),
    );
    assert.equal(starts.filter((code) => code === undefined).length, 20);
    const rows = await one.queries.selectFrom("device_sign_ins").selectAll().execute();
    assert.equal(rows.length, 20);
    assert.equal(await failed(other.programs.start("", from(1))), undefined);
    const template = rows[0]!;
    for (let at = 0; at < 1_979; at += 100) {
      await one.queries.insertInto("device_sign_ins").values(
        Array.from({ length: Math.min(100, 1_979 - at) }, (_, each) => ({
          ...template,
          ...{ device_hash: `hash ${at + each}`, user_code: `code ${at + each}`, block: "other" },
        })),
      ).execute();
    }
    assert.equal(await failed(other.programs.start("", from(2))), Code.ResourceExhausted);
  },

  "links, codes of authenticators and recovery codes count once over both nodes": async (both) => {
    const { one, other, ann, clock } = await twoNodes(both);
    const now = clock.now();
    const token = await one.queries.transaction().execute((transaction) =>
      createLink(transaction, { userId: ann.id, purpose: "sign-in" }, { random: systemRandom, now })
    );
    const owners = await Promise.all(
      [one, other, one, other].map(({ queries }) =>
        queries.transaction().execute((transaction) =>
          useLink(transaction, { token, purpose: "sign-in" }, now)
        )
      ),
    );
    assert.deepEqual(owners.filter((owner) => owner !== undefined), [ann.id]);

    await one.secondFactor.start(ann);
    const current = await other.queries.selectFrom("users").selectAll().executeTakeFirstOrThrow();
    const secret = secrets.secondFactorSecret(ann.id, current.totp_generation);
    const [recovery = ""] = await other.secondFactor.confirm(
      current,
      codeOf(secret, stepAt(clock.now()) - 1),
    );
    for (const code of [codeOf(secret, stepAt(clock.now())), recovery]) {
      const taken = await Promise.all(
        [one, other, one, other].map(({ secondFactor }) => secondFactor.take(current, code)),
      );
      assert.deepEqual(taken.filter((isRight) => isRight), [true], code);
    }
  },
});
