/** The portal in a browser, as wide as a phone. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { FakeProvisioning, visibleNetwork } from "../../agent/provisioning/fake_provisioning.ts";
import { portalWay } from "../../agent/provisioning/portal/portal_way.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { credentialsLink } from "../../shared/cloud/credentials/credentials_link.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { defaultAgentSettings } from "../../shared/config/agent_settings_testing.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { launchBrowser } from "../../shared/test_tools/browser.ts";
import { join } from "node:path";

const ignore = ignoreWithout(import.meta.url, "chromium");
const PHONE = { width: 360, height: 740 };
/** Folder for images of the pages, to be looked at; none are made without it. */
const PICTURES = Deno.env.get("MACHINE_TEST_PICTURES");
const WAIT = { deadlineMs: 60_000 };
const CREDENTIALS = JSON.stringify({
  cloud: { app_address: "https://cloud.test:8443", id: "part-1", secret: "the-part-secret" },
});

interface Rig {
  readonly port: FakeProvisioning;
  readonly page: Page;
  readonly url: string;
  /** Ends the portal, as the hotspot's end does. */
  readonly end: () => Promise<void>;
  /** What the browser complained of. */
  readonly complaints: string[];
  readonly picture: (name: string) => Promise<void>;
}

async function withPhone(
  options: BrowserContextOptions,
  run: (rig: Rig) => Promise<void>,
): Promise<void> {
  const port = new FakeProvisioning();
  port.visible = [
    visibleNetwork("Home", { signal: 90, isKnown: true }),
    visibleNetwork("Café", { signal: 60, security: "open" }),
    visibleNetwork(`"><img src=x onerror=alert(1)>`, { signal: 50, security: "wpa3" }),
    visibleNetwork("\u202eterces", { signal: 30 }),
    visibleNetwork("Corp", { signal: 20, security: "enterprise" }),
  ];
  const log = memoryLogger();
  const settings = defaultAgentSettings().network_configuration;
  const site = { port, address: "127.0.0.1", settings, name: "machine-setup-rover-7" };
  const way = await portalWay({ clock: systemClock, log }, { tcpPort: 0 }).start(site);
  let ended: Promise<void> | undefined;
  const end = () => ended ??= way[Symbol.asyncDispose]() as Promise<void>;
  const url = `http://127.0.0.1:${log.entries.at(-1)?.fields["port"]}/`;
  let browser: Browser | undefined;
  try {
    browser = await launchBrowser();
    const context = await browser.newContext({ viewport: PHONE, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT.deadlineMs);
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("dialog", () => complaints.push("a dialog"));
    const picture = async (name: string) => {
      if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
    };
    await page.goto(url);
    await run({ port, page, url, end, complaints, picture });
  } finally {
    await browser?.close();
    await end();
  }
}

const isWide = (page: Page) =>
  page.locator("html").evaluate((root: { scrollWidth: number }) => root.scrollWidth);

Deno.test({
  name: "the portal with JavaScript: choose, show the password, connect, hear of the outcome",
  ignore,
  fn: () =>
    withPhone({ locale: "en-GB" }, async ({ port, page, complaints, picture, end }) => {
      assert.equal(await page.locator("html").getAttribute("lang"), "en");
      assert.ok(await isWide(page) <= PHONE.width, "nothing is wider than the phone");
      assert.equal(await page.locator("img").count(), 0);
      assert.ok(await page.getByText(`"><img src=x onerror=alert(1)>`).isVisible());
      await picture("form-light");
      assert.ok(!await page.locator("#name").isVisible());
      await page.getByText("Another network").click();
      assert.ok(await page.locator("#name").isVisible());
      await page.getByText("Café").click();
      assert.ok(!await page.locator("#psk").isVisible(), "an open network asks for no password");
      await page.getByText("Home").click();
      await page.locator("#psk").fill("wrong");
      await page.getByRole("button", { name: "Show" }).click();
      assert.equal(await page.locator("#psk").getAttribute("type"), "text");
      await page.getByRole("button", { name: "Hide" }).click();
      await waitFor(() => port.active > 0, WAIT);
      await page.locator("#psk").press("Enter");
      await page.getByText("8 to 63 characters").waitFor();
      assert.equal(await page.locator("#psk").inputValue(), "");
      assert.ok(await page.locator("input[name=network]:checked").isVisible());
      await picture("refused-light");

      await page.locator("#psk").fill("long enough");
      await page.getByRole("button", { name: "Connect" }).click();
      await page.getByText("The machine connects").waitFor();
      await picture("trying-light");
      const error = "refused";
      const attempt = { ssid: "Home", security: "wpa2", signal: 90, error } as const;
      port.attempt = { ...attempt, result: "connecting" };
      await waitFor(() => port.commits === 1, WAIT);
      port.attempt = { ...attempt, result: "failed", failure: "wrong-password" };
      await page.getByText("The password is wrong").waitFor();
      await picture("failed-light");
      assert.deepEqual(complaints.filter((text) => !text.includes("422")), []);

      await page.locator("#psk").fill("long enough 2");
      await page.getByRole("button", { name: "Connect" }).click();
      await page.getByText("The machine connects").waitFor();
      await end();
      await page.locator("#gone").waitFor();
      await picture("gone-light");
    }),
});

Deno.test({
  name: "the link of a QR code fills in the credentials, and is not kept in the address",
  ignore,
  fn: () =>
    withPhone({}, async ({ port, page, url }) => {
      port.given = { hasCredentials: false };
      const link = new URL(credentialsLink(CREDENTIALS));
      await page.reload();
      // The page is there already: only what is behind the # changes.
      await page.goto(`${url}${link.hash}`);
      assert.equal(await page.locator("#credentials").inputValue(), CREDENTIALS);
      assert.equal(page.url(), url);
      await page.goto(`${url}scan#credentials=%ff`);
      assert.equal(await page.locator("#credentials").inputValue(), "");
    }),
});

Deno.test({
  name: "the portal without JavaScript: network, credentials by file, outcome",
  ignore,
  fn: () =>
    withPhone(
      { javaScriptEnabled: false, colorScheme: "dark", locale: "de-DE" },
      async ({ port, page, picture, url }) => {
        port.given = { hasCredentials: false };
        await page.goto(url);
        assert.equal(await page.locator("html").getAttribute("lang"), "de");
        assert.ok(!await page.locator("#show").isVisible());
        await picture("form-dark");
        await page.getByRole("button", { name: "Neu suchen" }).click();
        await waitFor(() => port.scans === 1, WAIT);
        await page.getByText("Anderes Netz").click();
        await page.locator("#name").fill("Hinterhaus");
        await page.locator("#psk").fill("lang genug");
        await page.getByRole("button", { name: "Verbinden" }).click();
        await page.getByText("Zugangsdaten der Maschine fehlen").waitFor();
        assert.equal(await page.locator("#name").inputValue(), "Hinterhaus");
        await picture("refused-dark");
        await page.locator("#psk").fill("lang genug");
        const buffer = Buffer.from(CREDENTIALS);
        await page.locator("#file").setInputFiles({
          name: "machine.json",
          mimeType: "application/json",
          buffer,
        });
        await page.getByRole("button", { name: "Verbinden" }).click();
        await page.getByText("Die Maschine verbindet sich").waitFor();
        await picture("trying-dark");
        await waitFor(() => port.commits === 1, WAIT);
        assert.equal(port.network?.isHidden, true);
        assert.equal(port.credentials?.partId, "part-1");
        port.given = { hasCredentials: true, isOnline: true };
        port.attempt = {
          ssid: "Hinterhaus",
          security: "wpa2",
          signal: 40,
          result: "connected",
          error: undefined,
        };
        await page.getByRole("link", { name: "Noch einmal nachsehen" }).click();
        await page.getByText("Die Maschine ist online").waitFor();
        await picture("connected-dark");
      },
    ),
});
