import assert from "node:assert/strict";
import { createServer } from "node:https";
import { CertificateAuthority } from "../../accounts/certificates/authority.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { DirectoryError } from "./directory.ts";
import { HttpChallenges } from "./http_challenges.ts";
import { newAccountKey, order } from "./order.ts";

/** What an order at a server ends with. */
async function failureAt(directoryUrl: string): Promise<Error> {
  const challenges = new HttpChallenges(memoryLogger());
  const request = { domains: ["localhost"], email: undefined, directoryUrl, challenges };
  const failed = await order({ ...request, accountKey: await newAccountKey() })
    .then(() => undefined, (error) => error);
  assert.ok(failed instanceof DirectoryError, String(failed));
  return failed;
}

Deno.test("order() says why the ACME server cannot be reached", async () => {
  const dir = await Deno.makeTempDir({ prefix: "acme-order-" });
  const authority = await CertificateAuthority.open(dir, { now: new Date() });
  const names = ["localhost"];
  const { certificate: cert, key } = await authority.issue({
    ...{ names, commonName: "localhost", now: new Date() },
  });
  const server = createServer({ cert, key }, (_, response) => response.end("{}"));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  const url = `https://localhost:${port}/dir`;
  try {
    assert.match((await failureAt(url)).message, /^the ACME server at .*: .*(issuer|certificate)/i);
  } finally {
    await new Promise((done) => server.close(done));
    await Deno.remove(dir, { recursive: true });
  }
  assert.match((await failureAt(url)).message, /refused/i);
});
