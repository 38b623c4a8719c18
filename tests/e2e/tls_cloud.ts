import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { CertificateAuthority } from "../../cloud/accounts/certificates/authority.ts";
import { waitForPort } from "../../tools/run/ports.ts";
import type { Rig } from "./rig.ts";

/** A cloud with TLS, by a certificate that another authority issued. */
export interface TlsCloud {
  readonly url: string;
  /** Root certificate of that authority, and the file with it. */
  readonly roots: string;
  readonly rootsFile: string;
}

/** Bootstraps a machine with a configuration and starts the rig's cloud with TLS. */
export async function startTlsCloud(rig: Rig, config: JsonObject): Promise<TlsCloud> {
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
  await rig.bootstrap(config, url);
  const cloud = rig.spawn("machine-cloud", [
    ...["serve", "--listen", `127.0.0.1:${rig.cloudPort}`, "--data", join(rig.dir, "cloud")],
    ...["--public-url", url, "--tls-cert", join(folder, "tls.crt")],
    ...["--tls-key", join(folder, "tls.key")],
  ]);
  await waitForPort("127.0.0.1", rig.cloudPort, cloud);
  return { url, roots: known.rootPem, rootsFile: join(folder, "roots.pem") };
}
