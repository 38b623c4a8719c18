// install.sh against a cloud that lies, or leads elsewhere.
import assert from "node:assert/strict";
import * as x509 from "@peculiar/x509";
import { join } from "node:path";
import { LeadingCloud, TESTDATA } from "./leading_cloud.ts";
import { everythingBut, installTest, PLATFORM } from "./install_rig.ts";

/** A cloud that answers what the test says. */
async function withLyingCloud(
  answers: (path: string) => string | undefined,
  body: (url: string) => Promise<void>,
): Promise<void> {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      const answer = answers(new URL(request.url).pathname);
      return answer === undefined ? new Response("", { status: 404 }) : new Response(answer);
    },
  );
  await body(`http://127.0.0.1:${server.addr.port}`);
}

const PROGRAM = "#!/bin/sh\nexit 0\n";
const BROKEN = "#!/bin/sh\nexit 9\n";
const SHA256 = await sha256Of(PROGRAM);

async function sha256Of(text: string): Promise<string> {
  return new Uint8Array(
    await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)),
  ).toHex();
}

function manifest(change: Record<string, string> = {}): string {
  const facts = {
    binary: "machine-agent",
    version: "1.0.0",
    platform: PLATFORM,
    size: `${PROGRAM.length}`,
    sha256: SHA256,
    ...change,
  };
  const lines = Object.entries(facts).map(([name, value]) => `${name} ${value}`);
  return ["machine release 1", ...lines, ""].join("\n");
}

interface Lie {
  readonly name: string;
  readonly manifest: string | undefined;
  readonly program: string | undefined;
  readonly says: RegExp;
}

const LIES: readonly Lie[] = [
  { name: "has no release", manifest: undefined, program: PROGRAM, says: /has no release stable/ },
  {
    name: "has no file",
    manifest: manifest(),
    program: undefined,
    says: /could not be downloaded/,
  },
  {
    name: "sends another file",
    manifest: manifest(),
    program: PROGRAM.replace("0", "1"),
    says: /is not the release \(SHA-256\)/,
  },
  {
    name: "cuts the file",
    manifest: manifest(),
    program: PROGRAM.slice(0, 5),
    says: /not as long as the release/,
  },
  {
    name: "names another platform",
    manifest: manifest({ platform: "windows/amd64" }),
    program: PROGRAM,
    says: /does not describe machine-agent for linux/,
  },
  {
    name: "names another program",
    manifest: manifest({ binary: "machine-server" }),
    program: PROGRAM,
    says: /does not describe machine-agent/,
  },
  {
    name: "sends a page in place of the manifest",
    manifest: "<html>sign in</html>",
    program: PROGRAM,
    says: /does not describe machine-agent/,
  },
  {
    name: "names a version that leads elsewhere",
    manifest: manifest({ version: "../../x" }),
    program: PROGRAM,
    says: /a version that is none/,
  },
  {
    name: "sends a program that does not run",
    manifest: manifest({ sha256: await sha256Of(BROKEN) }),
    program: BROKEN,
    says: /does not run here/,
  },
];

for (const { name, manifest, program, says } of LIES) {
  installTest(
    import.meta.url,
    `install.sh changes nothing when the cloud ${name}`,
    async (computer) => {
      await Deno.mkdir(computer.root("etc"), { recursive: true });
      await Deno.writeTextFile(computer.root("etc/machine.json"), "{}", { mode: 0o600 });
      const answers = (path: string) => path.endsWith(".manifest") ? manifest : program;
      await withLyingCloud(answers, async (url) => {
        const { code, stderr } = await computer.run("install.sh", { MACHINE_CLOUD_ADDRESS: url });
        assert.equal(code, 1);
        assert.match(stderr, says);
        assert.equal(await computer.exists("opt"), false);
      });
    },
  );
}

installTest(import.meta.url, "install.sh takes no credentials that are none", async (computer) => {
  const env = { MACHINE_API_KEY_ID: "a", MACHINE_API_KEY: "b", MACHINE_PART_ID: "part-1" };
  await withLyingCloud(() => '{"cloud":{"id":"part-2"}}', async (url) => {
    const { code, stderr } = await computer.run("install.sh", {
      ...env,
      MACHINE_CLOUD_ADDRESS: url,
    });
    assert.equal(code, 1);
    assert.match(stderr, /is no credentials file/);
    assert.equal(await computer.exists("etc"), false);
  });
});

/** What a true cloud answers. */
const answer = ({ url }: Request) => new Response(url.endsWith(".manifest") ? manifest() : PROGRAM);

const WITHOUT = { curl: "wget", wget: "curl" } as const;

for (const program of ["curl", "wget"] as const) {
  for (const isSafe of [true, false]) {
    const what = isSafe ? "follows redirects" : "follows no redirect from https to http";
    installTest(import.meta.url, `install.sh with ${program} ${what}`, async (computer) => {
      await using cloud = new LeadingCloud(isSafe, answer);
      const ca = join(TESTDATA, "ca.pem");
      await Deno.writeTextFile(computer.path("wgetrc"), `ca_certificate = ${ca}\n`);
      await Deno.mkdir(computer.root("etc"), { recursive: true });
      await Deno.writeTextFile(computer.root("etc/machine.json"), "{}", { mode: 0o600 });
      const { code, stderr } = await computer.run("install.sh", {
        PATH: await everythingBut(computer, WITHOUT[program]),
        CURL_CA_BUNDLE: ca,
        WGETRC: computer.path("wgetrc"),
        MACHINE_CLOUD_ADDRESS: cloud.url,
      });
      assert.deepEqual(cloud.asked, [], "nothing is asked for without TLS");
      assert.equal(code, isSafe ? 0 : 1, stderr);
      if (!isSafe) assert.match(stderr, /has no release stable/);
    }, [program]);
  }
}

/** A self-signed certificate of 127.0.0.1, PEM, for a week from a time on. */
async function certificateFrom(notBefore: Date): Promise<{ cert: string; key: string }> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=test",
    keys: keys as CryptoKeyPair,
    signingAlgorithm: algorithm,
    notBefore,
    notAfter: new Date(notBefore.getTime() + 7 * 86_400_000),
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: "ip", value: "127.0.0.1" }])],
  });
  const key = await crypto.subtle.exportKey("pkcs8", (keys as CryptoKeyPair).privateKey);
  return { cert: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
}

for (const program of ["curl", "wget"] as const) {
  for (const years of [-1, 0, 1]) {
    const isRight = years === 0;
    const when = isRight ? "right" : `a year ${years > 0 ? "behind" : "ahead"}`;
    const does = isRight ? "installs" : "changes nothing and asks for the clock";
    const name = `install.sh with ${program} ${does} where the clock is ${when}`;
    installTest(import.meta.url, name, async (computer) => {
      const hourAgo = Date.now() - 3_600_000;
      const tls = await certificateFrom(new Date(hourAgo + years * 365 * 86_400_000));
      const ca = computer.path("ca.pem");
      await Deno.writeTextFile(ca, tls.cert);
      await Deno.writeTextFile(computer.path("wgetrc"), `ca_certificate = ${ca}\n`);
      await Deno.mkdir(computer.root("etc"), { recursive: true });
      await Deno.writeTextFile(computer.root("etc/machine.json"), "{}", { mode: 0o600 });
      const listen = { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...tls };
      await using cloud = Deno.serve(listen, answer);
      const { code, stderr } = await computer.run("install.sh", {
        PATH: await everythingBut(computer, WITHOUT[program]),
        CURL_CA_BUNDLE: ca,
        WGETRC: computer.path("wgetrc"),
        MACHINE_CLOUD_ADDRESS: `https://127.0.0.1:${cloud.addr.port}`,
      });
      assert.equal(code, isRight ? 0 : 1, stderr);
      if (isRight) return;
      assert.match(
        stderr,
        /^install\.sh: .* is the clock right, \d{4}-\d\d-\d\d, and the certi.*\n$/,
      );
      assert.equal(await computer.exists("opt"), false);
    }, [program]);
  }
}
