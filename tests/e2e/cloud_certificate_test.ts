/** A machine of a cloud with TLS serves its port with a certificate that the cloud issued. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { CertificateAuthority } from "../../cloud/accounts/certificates/authority.ts";
import { waitForPort } from "../../tools/run/ports.ts";
import { rigTest } from "./rig.ts";

const TESTDATA = fileURLToPath(new URL("../../shared/rpc/testdata", import.meta.url));

rigTest("a machine's port is trusted by who trusts the cloud's authority", async (rig) => {
  const folder = join(rig.dir, "elsewhere");
  await Deno.mkdir(folder);
  const now = new Date();
  const known = await CertificateAuthority.open(folder, { now });
  const { certificate, key } = await known.issue({
    ...{ names: ["localhost"], commonName: "localhost", now },
  });
  const files = { "tls.crt": certificate, "tls.key": key, "roots.pem": known.rootPem };
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(join(folder, name), text);
  }
  const url = `https://localhost:${rig.cloudPort}`;
  const network = { bind_address: `:${rig.serverPort}` };
  const { fqdn } = await rig.bootstrap({ network }, url);
  const cloud = rig.spawn("machine-cloud", [
    ...["serve", "--listen", `127.0.0.1:${rig.cloudPort}`, "--data", join(rig.dir, "cloud")],
    ...["--public-url", url, "--tls-cert", join(folder, "tls.crt")],
    ...["--tls-key", join(folder, "tls.key")],
  ]);
  await waitForPort("127.0.0.1", rig.cloudPort, cloud);
  await rig.startServer(["-disable-mdns"], {
    SSL_CERT_FILE: join(folder, "roots.pem"),
    // What is set for other programs of the host changes nothing.
    GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: join(TESTDATA, "ca.pem"),
  });

  using client = Deno.createHttpClient({ caCerts: [known.rootPem] });
  const root = await (await fetch(`${url}/ca.pem`, { signal: AbortSignal.timeout(60_000), client }))
    .text();
  const reached = Promise.withResolvers<boolean>();
  const socket = connect(
    { host: "127.0.0.1", port: rig.serverPort, ca: root, servername: fqdn },
    () => reached.resolve(socket.authorized),
  );
  socket.on("error", reached.reject);
  assert.equal(await reached.promise, true);
  socket.destroy();
});
