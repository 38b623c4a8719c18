/** Signing in with a real browser: at a real OpenID Connect issuer, and for `machine login`. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import Provider from "oidc-provider";
import type { Page } from "playwright-core";
import { bootstrapFolder } from "../../cloud/local/bootstrap/bootstrap_testing.ts";
import { addOwner } from "../../cloud/local/people/people_command.ts";
import { type Cloud, startCloud } from "../../cloud/serve/cloud.ts";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { Secret } from "../../shared/base/redaction/secret.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { launchBrowser } from "../../shared/test_tools/browser.ts";
import { IDLE_DEPS } from "../../cli/program/idle_deps.ts";
import { runMachine } from "../cli/rig.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";

const ignore = ignoreWithout(import.meta.url, "chromium");
const ANN = "ann@example.com";
const CLIENT = { id: "cloud", secret: "a secret of the issuer" };
const WAIT_MS = 90_000;

/** A certified issuer, which asks who somebody is and takes any password. */
async function startIssuer(redirectUri: string) {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const provider = new Provider(url, {
    clients: [{
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      redirect_uris: [redirectUri],
    }],
    cookies: { keys: ["a key of the test"] },
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true }),
    }),
  });
  server.on("request", provider.callback());
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { url, close };
}

async function inBrowser(run: (page: Page, cloud: Cloud, dir: string) => Promise<void>) {
  const dir = await Deno.makeTempDir({ prefix: "machine-sign-in-" });
  const port = freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const issuer = await startIssuer(`${publicUrl}/account/single-sign-on/done`);
  const dataDir = join(dir, "cloud");
  const deps = { clock: systemClock, random: systemRandom, log: memoryLogger("machine-cloud") };
  const made = await bootstrapFolder(dataDir, {});
  const { database } = await openDataFolder(dataDir, systemRandom);
  await addOwner(database.queries, { email: ANN, orgId: made.org_id }, deps);
  database.close();
  const cloud = await startCloud({
    ...{ dataDir, publicUrl, listen: { hostname: "127.0.0.1", port }, hostname: "localhost" },
    ...{ domain: "machine.internal", packageLimitBytes: 1_000_000 },
    singleSignOn: {
      ...{ issuer: issuer.url, clientId: CLIENT.id, clientSecret: new Secret(CLIENT.secret) },
      ...{ name: "Example", domains: [], trustsSecondFactor: false },
    },
  }, deps);
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(WAIT_MS);
    await run(page, cloud, dir);
  } finally {
    await browser.close();
    await cloud.close({ graceMs: 0 });
    await issuer.close();
    await Deno.remove(dir, { recursive: true });
  }
}

async function signInAtIssuer(page: Page, who: string): Promise<void> {
  await page.click("text=Sign in with Example");
  await page.fill('input[name="login"]', who);
  await page.fill('input[name="password"]', "any");
  await page.click('button[type="submit"]');
  await page.click('button[type="submit"]');
}

Deno.test({
  name: "a browser signs in at an issuer, and lets machine login in, here and elsewhere",
  ignore,
  fn: () =>
    inBrowser(async (page, cloud, dir) => {
      const settings = { MACHINE_CONFIG_DIR: join(dir, "settings") };
      const login = (argv: string[], browser: Partial<typeof IDLE_DEPS.browser>) =>
        runMachine(["login", "--cloud", cloud.url, "--json", ...argv], {
          env: settings,
          deps: { browser: { ...IDLE_DEPS.browser, ...browser } },
        });

      // The first sign-in goes to the issuer and comes back to what the program requested.
      const here = await login([], {
        isInteractive: true,
        open: async (url) => {
          await page.goto(url);
          await signInAtIssuer(page, "ann");
          await page.waitForSelector("text=wants to work as ann@example.com");
          await page.getByRole("button", { name: "Let it in" }).click();
          await page.waitForSelector("text=You are signed in");
          return true;
        },
      });
      assert.deepEqual(
        [JSON.parse(here.out).email, JSON.parse(here.out).organizations[0].name],
        [ANN, "Acme"],
      );

      const shown = Promise.withResolvers<string>();
      const elsewhere = login(["--device-code", "--profile", "server"], {
        tell: shown.resolve,
        computer: "rack-7",
      });
      const [, address = "", code = ""] = /(http:\S+)[^]* ([A-Z]{4}-[A-Z]{4})/.exec(
        await shown.promise,
      ) ?? [];
      await page.goto(address);
      await page.waitForSelector(`text=${code}`);
      await page.waitForSelector("text=machine on rack-7");
      await page.getByRole("button", { name: "Let it in" }).click();
      await page.waitForSelector("text=The program is let in");
      assert.equal(JSON.parse((await elsewhere).out).email, ANN);
      const me = await runMachine(["whoami", "--json"], { env: settings });
      assert.deepEqual([JSON.parse(me.out).email, JSON.parse(me.out).profile], [ANN, "server"]);

      await assert.rejects(
        login([], {
          isInteractive: true,
          open: async (url) => {
            await page.goto(url);
            await page.getByRole("button", { name: "Refuse" }).click();
            await page.waitForSelector("text=The program was refused");
            return true;
          },
        }),
        /you refused/,
      );
    }),
});

Deno.test({
  name: "a page of another port can neither sign in, nor out, nor read who is signed in",
  ignore,
  fn: () =>
    inBrowser(async (page, cloud) => {
      await page.goto(`${cloud.url}/account/sign-in`);
      await signInAtIssuer(page, "ann");
      await page.waitForURL(`${cloud.url}/`);
      const evil = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () =>
        new Response(
          `<!doctype html><form method="post" action="${cloud.url}/account/sign-out"></form>`,
          { headers: { "content-type": "text/html" } },
        ));
      try {
        const url = `http://127.0.0.1:${evil.addr.port}/`;
        await page.goto(url);
        const tried = await page.evaluate(async (cloudUrl: string) => {
          const send = async (path: string, init: RequestInit) => {
            try {
              const response = await fetch(`${cloudUrl}${path}`, {
                credentials: "include",
                ...init,
              });
              return `${response.status} ${await response.text()}`;
            } catch {
              return "not readable";
            }
          };
          return [
            await send("/account/session", {}),
            await send("/account/session", { method: "DELETE" }),
            await send("/machine.cloud.v1.AccountService/GetAccount", {
              method: "POST",
              headers: { "content-type": "application/json" },
              body: "{}",
            }),
          ];
        }, cloud.url);
        assert.deepEqual(tried.slice(0, 2), ["not readable", "not readable"]);
        assert.ok(!tried.join().includes(ANN), tried.join());
        assert.match(tried[2] ?? "", /^401|not readable/);
        await page.evaluate("document.forms[0].submit()");
        await page.waitForSelector("text=A page of somebody else sent this form");
        await page.goto(`${cloud.url}/account/session`);
        assert.match(await page.innerText("body"), /"email":"ann@example.com"/);
      } finally {
        await evil.shutdown();
      }
    }),
});
