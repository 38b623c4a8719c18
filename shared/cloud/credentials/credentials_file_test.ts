import assert from "node:assert/strict";
import { join } from "node:path";
import { CredentialsError, parseCredentials, readCredentialsFile } from "./credentials_file.ts";
import { isSecureAddress } from "./secure_address.ts";

const cloud = { app_address: "https://cloud.test:8443", id: "part-1", secret: "hush" };

function problemOf(json: unknown): string {
  try {
    parseCredentials(json, "/etc/machine.json");
  } catch (error) {
    assert(error instanceof CredentialsError);
    assert(!error.message.includes("hush"), "an error shows no secret");
    assert(!error.message.includes("\n"), "an error is one line");
    return error.message;
  }
  throw new Error("no CredentialsError");
}

Deno.test("parseCredentials() signs in as the part when there is a secret", () => {
  const { appAddress, partId, credentials } = parseCredentials({ cloud }, "f");
  assert.equal(appAddress, "https://cloud.test:8443");
  assert.equal(partId, "part-1");
  assert.deepEqual([credentials.type, credentials.entity], ["robot-secret", "part-1"]);
  assert.equal(credentials.payload.reveal(), "hush");
});

Deno.test("parseCredentials() prefers the API key when both are there", () => {
  const { credentials } = parseCredentials(
    { cloud: { ...cloud, api_key: { id: "k", key: "v" } } },
    "f",
  );
  assert.deepEqual([credentials.type, credentials.entity, credentials.payload.reveal()], [
    "api-key",
    "k",
    "v",
  ]);
});

Deno.test("parseCredentials() says which field is wrong", () => {
  const { secret: _, ...unsigned } = cloud;
  const cases: [unknown, RegExp][] = [
    [null, /\/etc\/machine\.json: there is no "cloud" object/],
    [{ cloud: [] }, /there is no "cloud" object/],
    [{ cloud: { ...cloud, id: "" } }, /"cloud\.id" must be a text that is not empty/],
    [{ cloud: { ...cloud, id: undefined } }, /"cloud\.id" is missing/],
    [{ cloud: unsigned }, /either "cloud\.secret" or "cloud\.api_key"/],
    [{ cloud: { ...cloud, secret: 5 } }, /"cloud\.secret" must be a text/],
    [{ cloud: { ...unsigned, api_key: { id: "k" } } }, /"cloud\.api_key\.key" is missing/],
    [{ cloud: { ...unsigned, api_key: "k" } }, /"cloud\.api_key" must be an object/],
    [{ cloud: { ...cloud, app_address: "cloud.test" } }, /must look like https:/],
    [{ cloud: { ...cloud, app_address: "ftp://cloud.test" } }, /must look like https:/],
    [
      { cloud: { ...cloud, app_address: "https://cloud.test/x" } },
      /only the scheme, host and port/,
    ],
    [{ cloud: { ...cloud, app_address: "http://cloud.test" } }, /accepted only for this host/],
  ];
  for (const [json, expected] of cases) assert.match(problemOf(json), expected);
});

Deno.test("parseCredentials() accepts plaintext to another host when that is allowed", () => {
  const json = { cloud: { ...cloud, app_address: "http://cloud.test" } };
  assert.equal(
    parseCredentials(json, "f", { allowInsecure: true }).appAddress,
    "http://cloud.test",
  );
});

Deno.test("isSecureAddress() is true for TLS and this host only", () => {
  for (
    const address of ["https://x", "http://localhost:1", "http://127.9.9.9", "http://[::1]:8080"]
  ) {
    assert.equal(isSecureAddress(address), true, address);
  }
  for (
    const address of ["http://x", "http://127.evil.test", "http://10.0.0.1", "http://[fe80::1]"]
  ) {
    assert.equal(isSecureAddress(address), false, address);
  }
});

Deno.test("readCredentialsFile() reads JSON with comments and warns when others can read it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = join(folder, "machine.json");
    await Deno.writeTextFile(path, `// ours\n${JSON.stringify({ cloud })}`);
    await Deno.chmod(path, 0o644);
    const open = await readCredentialsFile(path);
    assert.equal(open.partId, "part-1");
    assert.match(open.warnings.join(), /mode 0644.*chmod 600/);
    await Deno.chmod(path, 0o600);
    assert.deepEqual((await readCredentialsFile(path)).warnings, []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("readCredentialsFile() says in one line what to do when the file is unusable", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = join(folder, "machine.json");
    await assert.rejects(
      readCredentialsFile(path),
      (error: CredentialsError) => error.code === "missing" && error.message.includes(path),
    );
    await assert.rejects(
      readCredentialsFile(folder),
      (error: CredentialsError) => error.code === "unreadable",
    );
    await Deno.writeTextFile(path, '{"cloud": {"secret": "hush');
    await assert.rejects(
      readCredentialsFile(path),
      (error: CredentialsError) =>
        error.code === "invalid" && /line 1, column/.test(error.message) &&
        !error.message.includes("hush"),
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
