import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import { createCertificate } from "./own_certificate.ts";

Deno.test("createCertificate() makes a certificate that its own key has signed", () => {
  const { der, key, fingerprint } = createCertificate();
  const certificate = new X509Certificate(der);
  assert.ok(certificate.checkPrivateKey(key));
  assert.ok(certificate.verify(certificate.publicKey));
  assert.equal(certificate.subject, "CN=machine");
  assert.equal(certificate.issuer, "CN=machine");
  assert.equal(fingerprint.value.replaceAll(":", ""), sha256(der));
  const [from, to] = [certificate.validFrom, certificate.validTo].map((text) => Date.parse(text));
  assert.ok(from! < Date.now() && to! > Date.now(), `${from} to ${to}`);
});

Deno.test("createCertificate() gives no two certificates one key or number", () => {
  const [one, other] = [createCertificate(), createCertificate()].map(({ der }) =>
    new X509Certificate(der)
  );
  assert.notEqual(one!.serialNumber, other!.serialNumber);
  assert.ok(!one!.publicKey.equals(other!.publicKey));
});

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex").toUpperCase();
}
