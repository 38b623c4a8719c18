import assert from "node:assert/strict";
import { Secret } from "../../../shared/base/redaction/secret.ts";
import { TransferError } from "../../../shared/transfer/download/transfer_error.ts";
import { packageRequests } from "./package_requests.ts";

/** The addresses are never reached: what matters is whether and with what they are queried. */
Deno.test("packageRequests() sends nothing over plaintext unless that is allowed", async () => {
  const asked: string[] = [];
  const fetchNothing: typeof fetch = (input, init) => {
    asked.push(`${input} ${new Headers(init?.headers).get("secret")}`);
    return Promise.resolve(new Response());
  };
  const to = (allowInsecure: boolean) =>
    packageRequests({
      address: "http://cloud.example",
      credentials: { type: "robot-secret", entity: "who", payload: new Secret("s3cret") },
      allowInsecure,
      fetch: fetchNothing,
    });
  const never = new AbortController().signal;
  await assert.rejects(
    to(false).send("GET", "/p?sign=hidden", {}, never),
    (error) =>
      error instanceof TransferError && /cloud\.example\/p is plaintext/.test(error.message),
  );
  assert.deepEqual(asked, []);
  await to(true).send("GET", "/p", {}, never);
  await to(true).send("GET", "http://store.example/p", {}, never);
  assert.deepEqual(asked, ["http://cloud.example/p s3cret", "http://store.example/p null"]);
});
