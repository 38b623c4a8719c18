/**
 * docs/cloud.md, typed as it stands: from an empty computer to a team, a machine and a backup. The
 * computer is one whose process 1 is systemd; where there can be none, this is skipped.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CertificateAuthority } from "../../cloud/accounts/certificates/authority.ts";
import { FakeMailServer } from "../../cloud/triggers/mail/fake_mail_server.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { programPath } from "../../tools/run/options.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { eventually } from "./rig.ts";
import { noSystemdBecause, SystemdComputer } from "./systemd_computer.ts";
import { tinyProgram } from "./tiny_program.ts";
import { LONG_MS, runToEnd } from "./run_to_end.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const DOCUMENT = new URL("../../docs/cloud.md", import.meta.url);
const PASSWORD = "as long as it has to be";
const PROGRAMS = ["machine-cloud", "machine", "machine-server"] as const;
/** What programs of other computers trust: the authority that signed the cloud's certificate. */
const TRUST = {
  ...{ SSL_CERT_FILE: "/etc/test-ca.pem", CURL_CA_BUNDLE: "/etc/test-ca.pem" },
  // For programs that run from their sources: their own folder is the home of the cloud's user.
  DENO_DIR: "/tmp/deno",
};

/** The commands of each section, in blocks, by the number in its heading. */
async function sections(): Promise<Map<number, string[]>> {
  const text = await Deno.readTextFile(DOCUMENT);
  return new Map(
    text.split(/^## (?=\d+\. )/m).slice(1).map((section) => [
      parseInt(section),
      [...section.matchAll(/^```\n([^]*?)^```$/gm)].map(([, block = ""]) => block),
    ]),
  );
}

/** The document's commands on a computer, with what a test has in place of the reader's things. */
class Walk {
  readonly #blocks: Map<number, string[]>;
  readonly #used = new Set<string>();

  constructor(
    readonly computer: SystemdComputer,
    blocks: Map<number, string[]>,
    private readonly ours: ReadonlyMap<string, string>,
  ) {
    this.#blocks = new Map([...blocks].map(([number, each]) => [number, [...each]]));
  }

  /** Types the next block of a section. @returns what it printed */
  async type(section: number): Promise<string> {
    let block = this.#blocks.get(section)?.shift();
    assert.ok(block, `section ${section} has no further block`);
    for (const [theirs, own] of this.ours) {
      if (!block.includes(theirs)) continue;
      this.#used.add(theirs);
      block = block.replaceAll(theirs, own);
    }
    return await this.computer.ask(`set -e\ncd /root\n${block}`, TRUST);
  }

  /** Everything was typed, and nothing is replaced that is not there. */
  finish(): void {
    assert.deepEqual([...this.#blocks].filter(([, left]) => left.length > 0), []);
    assert.deepEqual([...this.ours.keys()].filter((each) => !this.#used.has(each)), []);
  }

  /** Sets a password at the page that a link leads to, as its form does. */
  async setPassword(link: string): Promise<void> {
    const { origin, pathname, searchParams } = new URL(link);
    const fields = new URLSearchParams({
      token: searchParams.get("token") ?? "",
      password: PASSWORD,
    });
    await this.computer.ask(
      `curl -fsS -o /dev/null -H 'origin: ${origin}' -d '${fields}' '${origin}${pathname}'`,
      TRUST,
    );
  }
}

async function prepare(computer: SystemdComputer): Promise<void> {
  for (const name of ["pam.d", "security", "login.defs", "nsswitch.conf", "default"]) {
    await runToEnd("cp", { args: ["-a", `/etc/${name}`, computer.path("etc")] });
  }
  for (const folder of [computer.localPath("bin"), computer.path("etc/systemd/system")]) {
    await Deno.mkdir(folder, { recursive: true });
  }
  for (const name of PROGRAMS) {
    const program = programPath(name, { binaries: Deno.env.get("MACHINE_TEST_BINARIES") }, ROOT);
    const here = name === "machine-cloud"
      ? computer.path("root/machine-cloud-linux-x64")
      : computer.localPath(`bin/${name}`);
    await Deno.writeFile(here, tinyProgram(program, name), { mode: 0o755 });
    // From its sources a program is put together at its first start; users of services cannot.
    await runToEnd(program, { args: ["-h"], stdout: "null", stderr: "null", limitMs: LONG_MS });
  }
  const authority = await CertificateAuthority.open(computer.path("etc"), { now: new Date() });
  const names = ["cloud.example.com"];
  const pair = await authority.issue({ names, commonName: names[0] ?? "", now: new Date() });
  const put = (name: string, text: string) =>
    Deno.writeTextFile(computer.path(join("etc", name)), text);
  await put("test-ca.pem", authority.rootPem);
  await put("test-cert.pem", pair.certificate);
  await put("test-key.pem", pair.key);
  await put("hosts", "127.0.0.1 localhost cloud.example.com\n");
}

Deno.test({
  name:
    "docs/cloud.md, typed, leads to a team with TLS, mail, members, roles, a machine and a backup",
  ignore: ignoreBecause(import.meta.url, noSystemdBecause()),
  async fn() {
    await using mail = await FakeMailServer.start();
    await using computer = await SystemdComputer.create();
    await prepare(computer);
    await computer.boot();
    await computer.ask(`install -d -m 1777 ${TRUST.DENO_DIR}`);
    const port = freePort();
    const walk = new Walk(
      computer,
      await sections(),
      new Map([
        ["https://cloud.example.com", `https://cloud.example.com:${port}`],
        ["--listen :443", `--listen 127.0.0.1:${port}`],
        [
          "TLS=--acme-domain cloud.example.com --acme-email you@example.com",
          "TLS=--tls-cert /etc/test-cert.pem --tls-key /etc/test-key.pem",
        ],
        ["smtp://USER:PASSWORD@mail.example.com:587", mail.url],
        // The person types it.
        ["machine login", `printf '%s\\n' '${PASSWORD}' | machine login`],
      ]),
    );

    await walk.type(1);
    await walk.type(2);
    await walk.type(3);
    await computer.ask(
      `printf 'SSL_CERT_FILE=/etc/test-ca.pem\\nDENO_DIR=/tmp/deno\\nPATH=${computer.searchPath}\\n' >> /etc/machine-cloud.env`,
    );
    assert.match(await walk.type(4), /"ready":\s*true/);

    const made = JSON.parse(await walk.type(5)) as Record<string, string>;
    await walk.setPassword(made["owner_password_url"] ?? "");
    assert.match(await walk.type(6), /ben@example\.com +invited/);
    await eventually("both mails", () => Promise.resolve(mail.mails.length === 2));
    for (const { text } of mail.mails) {
      const [link] = /https:\S+\/account\/invitation\?token=\w+/.exec(text) ?? [];
      await walk.setPassword(link ?? text);
    }
    assert.match(await walk.type(6), /ben@example\.com is owner of location Lab now/);
    const members = JSON.parse(await computer.ask("machine members list --json", TRUST));
    assert.deepEqual(members.members.map(({ emails }: { emails: string[] }) => emails[0]).sort(), [
      "ann@example.com",
      "ben@example.com",
    ]);

    await walk.type(7);
    const config = JSON.stringify({ network: { bind_address: "127.0.0.1:0" } });
    await computer.ask(
      `echo '${config}' > /root/c.json && machine config set kiosk /root/c.json --yes`,
      TRUST,
    );
    await computer.ask(
      "systemd-run --unit=kiosk --working-directory=/root --setenv=HOME=/root " +
        `--setenv=PATH=${computer.searchPath} --setenv=SSL_CERT_FILE=${TRUST.SSL_CERT_FILE} ` +
        "machine-server -config machine.json",
    );
    const online = async () => {
      const list = JSON.parse(await computer.ask("machine machines list --json", TRUST));
      return list.some((each: { name: string; state: string }) =>
        each.name === "kiosk" && each.state === "online"
      );
    };
    await eventually(
      "the machine is online and has logged",
      async () => await online() && await computer.ask("machine logs kiosk", TRUST) !== "",
      60_000,
    );
    assert.match(await walk.type(7), /kiosk.*online/);

    await walk.type(8);
    assert.match(await walk.type(8), /^ok/m);
    // The computer is lost.
    await computer.ask(
      "systemctl stop machine-cloud && find /var/lib/machine-cloud -mindepth 1 -delete",
    );
    await walk.type(8);
    await computer.ask("systemctl start machine-cloud");
    await eventually("the machine is back", online, 60_000);
    assert.match(await walk.type(9), /^ok +smtp/m);
    await walk.type(10);
    await eventually("people are still signed in", async () => {
      const { code } = await computer.run("machine whoami", TRUST);
      return code === 0;
    });
    walk.finish();
  },
});
