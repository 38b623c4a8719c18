import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { Issuer } from "./issuer.ts";

const URL_OF_ISSUER = "https://login.example.com";
const document = {
  issuer: URL_OF_ISSUER,
  authorization_endpoint: `${URL_OF_ISSUER}/authorize`,
  token_endpoint: `${URL_OF_ISSUER}/token`,
  jwks_uri: `${URL_OF_ISSUER}/jwks`,
};

function issuerOf(answer: (url: string) => Response) {
  const clock = new FakeClock();
  let asked = 0;
  const settings = {
    ...{ issuer: URL_OF_ISSUER, clientId: "id", domains: [], trustsSecondFactor: false },
  };
  const issuer = new Issuer(settings, {
    clock,
    log: memoryLogger("test"),
    fetch: (input) => {
      asked++;
      return Promise.resolve(answer(String(input)));
    },
  });
  return { clock, issuer, asked: () => asked };
}

const codeOf = async (promise: Promise<unknown>) =>
  ConnectError.from(await promise.then(() => assert.fail("it worked"), (error) => error)).code;

Deno.test("Issuer asks one that is down only now and then, and works when it is back", async () => {
  let isUp = false;
  const { clock, issuer, asked } = issuerOf(() =>
    isUp ? Response.json(document) : new Response("no", { status: 502 })
  );
  for (let i = 0; i < 5; i++) {
    assert.equal(await codeOf(issuer.authorization("https://c/done")), Code.Unavailable);
  }
  assert.equal(asked(), 1);
  isUp = true;
  await clock.advance(6_000);
  const { url, checks } = await issuer.authorization("https://c/done");
  assert.equal(url.origin + url.pathname, document.authorization_endpoint);
  const query = Object.fromEntries(url.searchParams);
  assert.equal(query["code_challenge_method"], "S256");
  assert.deepEqual([query["state"], query["nonce"]], [checks.state, checks.nonce]);
  assert.ok(!url.href.includes(checks.verifier));
});

Deno.test("Issuer sends nobody to one that went down, and keeps what it knows for who comes back", async () => {
  let isUp = true;
  const { clock, issuer, asked } = issuerOf((url) =>
    isUp && url.includes("/.well-known/")
      ? Response.json(document)
      : new Response("no", { status: 502 })
  );
  const begun = await issuer.authorization("https://c/done");
  await issuer.authorization("https://c/done");
  assert.equal(asked(), 1, "it answered a moment ago");
  isUp = false;
  await clock.advance(6_000);
  for (let i = 0; i < 3; i++) {
    assert.equal(await codeOf(issuer.authorization("https://c/done")), Code.Unavailable);
  }
  assert.equal(asked(), 2);

  await clock.advance(2 * 60 * 60_000);
  const back = new URL(`https://c/done?code=1&state=${begun.checks.state}`);
  assert.equal(await codeOf(issuer.identity(back, begun.checks)), Code.Unavailable);
  assert.equal(asked(), 4, "its document and its token endpoint");
});

Deno.test("Issuer takes no endless answer, and none that is another issuer's", async () => {
  const long = issuerOf(() => new Response("x".repeat(3_000_000)));
  assert.equal(await codeOf(long.issuer.authorization("https://c/done")), Code.Unavailable);
  const foreign = issuerOf(() => Response.json({ ...document, issuer: "https://evil.example" }));
  assert.equal(await codeOf(foreign.issuer.authorization("https://c/done")), Code.Unavailable);
});
