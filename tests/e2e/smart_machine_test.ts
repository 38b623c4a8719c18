// From the manufacturer's image to a machine that is online, as a customer does it with a phone: real
// NetworkManager, agent, browser and cloud; only the radio is simulated. The file runs itself once
// more, in a network without any way out.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions, Page } from "playwright-core";
import { credentialsLink } from "../../shared/cloud/credentials/credentials_link.ts";
import { noNetworkManagerBecause } from "../../agent/networks/manager/testing.ts";
import { ignoreBecause, missingTools } from "../../shared/test_tools/skips.ts";
import { launchBrowser } from "../../shared/test_tools/browser.ts";
import { eventually } from "./rig.ts";
import { HOTSPOT, SmartMachine } from "./smart_machine.ts";
import { LONG_MS, runToEnd } from "./run_to_end.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const INSIDE = "MACHINE_TEST_SMART_MACHINE_INSIDE";
const DEADLINE_MS = 240_000;
const PHONE = { width: 360, height: 740 };
const HOME = { ssid: "Home ☕", psk: "correct horse", strength: 80 };
const DEFAULTS = {
  network_configuration: {
    manufacturer: "Acme",
    model: "Rover 2",
    hotspot_prefix: "acme-rover",
    hotspot_password: "one-for-each",
  },
  advanced_settings: { disable_system_configuration: true },
};

if (Deno.env.get(INSIDE) === undefined) {
  Deno.test({
    name: "from the manufacturer's image to a machine that is online",
    ignore: ignoreBecause(
      import.meta.url,
      noNetworkManagerBecause() ?? missingTools("chromium", "dnsmasq"),
    ),
    async fn() {
      const script = 'ip link set lo up && exec "$@"';
      const test = ["test", "-A", "--no-check", "--quiet", fileURLToPath(import.meta.url)];
      const { success, stdout, stderr } = await runToEnd("unshare", {
        args: [
          ...["--net", "--mount", "--fork", "--kill-child", "sh", "-c", script, "sh"],
          ...[`${ROOT}tools/deno.sh`, ...test],
        ],
        env: { [INSIDE]: "1" },
        limitMs: LONG_MS,
      });
      const said = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
      assert.ok(success, said);
    },
  });
} else {
  flowTest(
    "with JavaScript: a wrong password first",
    { locale: "en-GB" },
    async (page, machine) => {
      // The link of the QR code, as the phone's camera opens it.
      await page.goto("about:blank");
      await page.goto(credentialsLink(await credentialsOf(machine)));
      await page.getByText(HOME.ssid).click();
      await page.locator("#psk").fill("wrong password");
      await page.getByRole("button", { name: "Connect" }).click();
      await page.getByText("The machine connects").waitFor();
      // The script sees the hotspot come back, and shows why.
      await page.getByText("The password is wrong").waitFor();
      assert.equal(profiles(machine).length, 0, "nothing of the try is on disk");
      // The credentials need not be given again.
      await page.locator("#psk").fill(HOME.psk);
      await page.getByRole("button", { name: "Connect" }).click();
      await page.getByText("The machine connects").waitFor();
    },
  );

  flowTest(
    "without JavaScript: the credentials as a file",
    { locale: "de-DE", javaScriptEnabled: false },
    async (page, machine) => {
      await page.getByText(HOME.ssid).click();
      await page.locator("#psk").fill(HOME.psk);
      await page.locator("#file").setInputFiles(machine.rig.credentialsFile);
      await page.getByRole("button", { name: "Verbinden" }).click();
      await page.getByText("Die Maschine verbindet sich").waitFor();
    },
  );
}

function flowTest(
  name: string,
  options: BrowserContextOptions,
  setUp: (page: Page, machine: SmartMachine) => Promise<void>,
): void {
  Deno.test(name, async () => {
    await using machine = await SmartMachine.create([
      HOME,
      { ssid: "Neighbour", psk: "their secret", strength: 30 },
    ]);
    const { rig } = machine;
    try {
      await rig.bootstrap();
      await rig.startCloud();
      await machine.startAgent(DEFAULTS);
      await machine.says("provisioning");
      await withPhone(options, (page) => setUp(page, machine));
      await machine.says("online");
      await eventually("the server is online in the cloud", async () => {
        const { online, agent, serverVersion } = await rig.liveStatus();
        return online && agent !== undefined && serverVersion !== "";
      }, DEADLINE_MS);
      const given = JSON.parse(await Deno.readTextFile(machine.credentialsFile));
      assert.equal(given.cloud.id, rig.partId);
      assert.equal(profiles(machine).length, 1, "the network is kept, and no hotspot");
      const said = rig.outputs();
      for (const secret of [HOME.psk, "wrong password", "one-for-each", given.cloud.secret]) {
        assert.ok(!said.includes(secret), "no secret in what the programs write");
      }
    } catch (error) {
      throw new Error(`${error}\n${rig.outputs()}`, { cause: error });
    }
  });
}

const credentialsOf = ({ rig }: SmartMachine) => Deno.readTextFile(rig.credentialsFile);
const profiles = ({ profilesFolder }: SmartMachine) => [...Deno.readDirSync(profilesFolder)];

/** A phone on the hotspot: every name leads to the machine, and the system looks for a sign-in. */
async function withPhone(
  options: BrowserContextOptions,
  run: (page: Page) => Promise<void>,
): Promise<void> {
  const nameServer = { ipAddr: HOTSPOT, port: 53 };
  const name = "connectivitycheck.gstatic.com";
  await eventually(
    "the hotspot",
    async () => (await Deno.resolveDns(name, "A", { nameServer })).includes(HOTSPOT),
    DEADLINE_MS,
  );
  const browser = await launchBrowser(`--host-resolver-rules=MAP * ${HOTSPOT}`);
  try {
    const page = await (await browser.newContext({ viewport: PHONE, ...options })).newPage();
    page.setDefaultTimeout(DEADLINE_MS);
    await eventually(
      "the portal",
      () => page.goto(`http://${name}/generate_204`).then(() => true, () => false),
      DEADLINE_MS,
    );
    assert.equal(page.url(), `http://${HOTSPOT}/`);
    await run(page);
  } finally {
    await browser.close();
  }
}
