import assert from "node:assert/strict";
import * as x509 from "@peculiar/x509";
import { createClient } from "@connectrpc/connect";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { RpcRouter } from "../server/router.ts";
import { RpcServer } from "../server/server.ts";
import { createGrpcTransport } from "./grpc_transport.ts";

/** A self-signed certificate of an IP address, PEM. */
async function certificateOf(address: string): Promise<{ cert: string; key: string }> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=test",
    keys: keys as CryptoKeyPair,
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: "ip", value: address }])],
  });
  const key = await crypto.subtle.exportKey("pkcs8", (keys as CryptoKeyPair).privateKey);
  return { cert: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
}

async function* request() {
  yield { messageRequest: { case: "listServices" as const, value: "" } };
}

/** Asks a server behind a certificate for one thing. */
async function askAt(certified: string): Promise<string> {
  const tls = await certificateOf(certified);
  const router = new RpcRouter();
  const listen = { hostname: "127.0.0.1", port: 0 };
  const server = await RpcServer.start({ router, listen, tls });
  const baseUrl = `https://127.0.0.1:${server.address.port}`;
  const transport = createGrpcTransport({ baseUrl, ca: tls.cert });
  try {
    const answers = createClient(ServerReflection, transport)
      .serverReflectionInfo(request(), { timeoutMs: 60_000 });
    for await (const { messageResponse } of answers) return messageResponse.case ?? "";
    return "";
  } finally {
    transport.close();
    await server.close({ graceMs: 0 });
  }
}

Deno.test("createGrpcTransport() checks the certificate of an IP address against the address", async () => {
  assert.equal(await askAt("127.0.0.1"), "listServicesResponse");
  await assert.rejects(askAt("127.0.0.9"), /127\.0\.0\.1 is not in the cert's list/);
});
