import { createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { AuthService } from "../../gen/proto/rpc/v1/auth_pb.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { SensorService } from "../../gen/viam/component/sensor/v1/sensor_pb.ts";
import { createInProcessTransport } from "../../rpc/server/in_process.ts";
import { RpcRouter } from "../../rpc/server/router.ts";
import { AttemptLimiter } from "./attempt_limiter.ts";
import { createAuthService } from "./auth_service.ts";
import { generateEd25519Key, privateKeyToPem } from "./ed25519_key.ts";
import { type Identity, identityKey } from "./identity.ts";
import { hashKey, verifyKey } from "./key_hash.ts";
import { requireAuthentication } from "./require_auth.ts";
import { Secret } from "../../base/redaction/secret.ts";
import { TokenIssuer } from "./token_issuer.ts";

const alice: Identity = {
  entity: "key-1",
  credentialType: "api-key",
  claims: { organization: "o1" },
};

function issuer(options: { issuer?: string; pem?: string } = {}): Promise<TokenIssuer> {
  return TokenIssuer.create({
    issuer: options.issuer ?? "test",
    audience: ["test"],
    ...(options.pem !== undefined && { privateKeyPkcs8Pem: options.pem }),
  });
}

async function pemKey(): Promise<string> {
  return await privateKeyToPem((await generateEd25519Key()).privateKey);
}

Deno.test("hashKey() makes another hash each time, and verifyKey() accepts only the right key", async () => {
  const first = await hashKey("correct");
  const second = await hashKey("correct");
  assert.notEqual(first, second);
  assert.match(first, /^\$scrypt\$ln=12,r=8,p=1\$/);
  assert.ok(!first.includes("correct"));
  assert.equal(await verifyKey("correct", first), true);
  assert.equal(await verifyKey("correct", second), true);
  assert.equal(await verifyKey("wrong", first), false);
  assert.equal(await verifyKey("", first), false);
});

Deno.test("verifyKey() accepts nothing when the stored text is no hash of ours", async () => {
  for (
    const hash of ["", "correct", "$scrypt$", "$scrypt$ln=40,r=8,p=1$YQ$YQ", "$argon2id$x$y$z"]
  ) {
    assert.equal(await verifyKey("correct", hash), false, hash);
  }
});

Deno.test("TokenIssuer.verify() gives back the identity of an issued token", async () => {
  const tokens = await issuer();
  const token = await tokens.issue(alice);
  assert.deepEqual(await tokens.verify(token), alice);
  assert.deepEqual(await tokens.verify(token), alice, "from memory");
});

Deno.test("TokenIssuer.verify() refuses tokens of another key, another issuer, and changed ones", async () => {
  const tokens = await issuer();
  const token = await tokens.issue(alice);
  const [header, payload, signature] = token.split(".") as [string, string, string];
  const other = JSON.stringify({ ...JSON.parse(atob(payload)), sub: "key-2" });
  const changed = `${header}.${btoa(other).replace(/=+$/, "")}.${signature}`;
  const unsigned = `${btoa('{"alg":"none"}').replace(/=+$/, "")}.${payload}.`;
  const foreign = await (await issuer()).issue(alice);
  for (const bad of [changed, unsigned, foreign, "x", ""]) {
    await assert.rejects(async () => await tokens.verify(bad), /authenticate again/, bad);
  }
  const pem = await pemKey();
  const elsewhere = await (await issuer({ pem, issuer: "elsewhere" })).issue(alice);
  const here = await issuer({ pem });
  await assert.rejects(async () => await here.verify(elsewhere), /authenticate again/);
});

Deno.test("TokenIssuer.create() with the same key accepts tokens from before a restart", async () => {
  const pem = await pemKey();
  const token = await (await issuer({ pem })).issue(alice);
  assert.deepEqual(await (await issuer({ pem })).verify(token), alice);
});

Deno.test("Secret prints as *** in text, JSON and inspection", () => {
  const secret = new Secret("hunter2");
  const shown = [
    `${secret}`,
    JSON.stringify({ secret }),
    inspect({ secret }),
    Deno.inspect({ secret }),
  ];
  for (const text of shown) {
    assert.ok(!text.includes("hunter2"), text);
    assert.ok(text.includes("***"), text);
  }
  assert.equal(secret.reveal(), "hunter2");
});

async function protectedRouter() {
  const tokens = await issuer();
  const seen: (Identity | undefined)[] = [];
  const limiter = new AttemptLimiter(() => 0, { entity: { burst: 3, perMinute: 1 } });
  const router = new RpcRouter()
    .service(
      AuthService,
      createAuthService({
        issuer: tokens,
        limiter,
        verifiers: {
          "api-key": (entity, payload) =>
            Promise.resolve(entity === "key-1" && payload === "right" ? alice : undefined),
        },
      }),
    )
    .service(SensorService, {
      getReadings: (_request, context) => {
        seen.push(context.values.get(identityKey));
        return { readings: {} };
      },
    })
    .service(Health, { check: () => ({ status: 1 }) })
    .service(ServerReflection, {});
  const interceptors = [requireAuthentication({ verify: (token) => tokens.verify(token) })];
  return { transport: createInProcessTransport(router, { interceptors }), seen };
}

Deno.test("authenticate() gives a token that opens other services, with the identity in the context", async () => {
  const { transport, seen } = await protectedRouter();
  const { accessToken } = await createClient(AuthService, transport).authenticate({
    entity: "key-1",
    credentials: { type: "api-key", payload: "right" },
  });
  await createClient(SensorService, transport).getReadings(
    { name: "s" },
    { headers: { authorization: `Bearer ${accessToken}` } },
  );
  assert.deepEqual(seen, [alice]);
});

Deno.test("requireAuthentication() refuses calls without a good token, and leaves health open", async () => {
  const { transport, seen } = await protectedRouter();
  const sensor = createClient(SensorService, transport);
  await assert.rejects(() => sensor.getReadings({}), /unauthenticated.*authentication required/);
  for (const authorization of ["Bearer", "Bearer x", "Basic eDp5", "x"]) {
    await assert.rejects(
      () => sensor.getReadings({}, { headers: { authorization } }),
      /\[unauthenticated\]/,
      authorization,
    );
  }
  assert.deepEqual(seen, []);
  assert.equal((await createClient(Health, transport).check({})).status, 1);
});

Deno.test("authenticate() says the same of a wrong entity and a wrong secret", async () => {
  const { transport } = await protectedRouter();
  const auth = createClient(AuthService, transport);
  const messages: string[] = [];
  for (const [entity, payload] of [["key-1", "wrong"], ["nobody", "right"]] as const) {
    await auth.authenticate({ entity, credentials: { type: "api-key", payload } }).then(
      () => assert.fail("was let in"),
      (error) => messages.push(String(error)),
    );
  }
  assert.equal(messages[0], messages[1]);
  assert.equal(messages[0], "ConnectError: [unauthenticated] invalid credentials of type api-key");
});

Deno.test("authenticate() names the allowed types for an unknown one, and slows down guessing", async () => {
  const { transport } = await protectedRouter();
  const auth = createClient(AuthService, transport);
  const attempt = (type: string, payload: string) =>
    auth.authenticate({ entity: "key-1", credentials: { type, payload } });
  await assert.rejects(() => attempt("password", "x"), /invalid_argument.*allowed: api-key/);
  for (let i = 0; i < 3; i++) await assert.rejects(() => attempt("api-key", `guess ${i}`));
  await assert.rejects(() => attempt("api-key", "right"), /resource_exhausted/);
});
