/** A machine of a cloud with TLS serves its port with a certificate that the cloud issued. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { rigTest } from "./rig.ts";
import { startTlsCloud } from "./tls_cloud.ts";

const TESTDATA = fileURLToPath(new URL("../../shared/rpc/testdata", import.meta.url));

rigTest("a machine's port is trusted by who trusts the cloud's authority", async (rig) => {
  const network = { bind_address: `:${rig.serverPort}` };
  const { url, roots, rootsFile } = await startTlsCloud(rig, { network });
  await rig.startServer(["-disable-mdns"], {
    SSL_CERT_FILE: rootsFile,
    // What is set for other programs of the host changes nothing.
    GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: join(TESTDATA, "ca.pem"),
  });

  using client = Deno.createHttpClient({ caCerts: [roots] });
  const root = await (await fetch(`${url}/ca.pem`, { signal: AbortSignal.timeout(60_000), client }))
    .text();
  const reached = Promise.withResolvers<boolean>();
  const socket = connect(
    { host: "127.0.0.1", port: rig.serverPort, ca: root, servername: rig.bootstrapped.fqdn },
    () => reached.resolve(socket.authorized),
  );
  socket.on("error", reached.reject);
  assert.equal(await reached.promise, true);
  socket.destroy();
});
