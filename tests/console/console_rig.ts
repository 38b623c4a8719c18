import type { Browser, BrowserContext, Page } from "playwright-core";
import axe from "axe-core";
import assert from "node:assert/strict";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { DescService } from "@bufbuild/protobuf";
import type { Client, Transport } from "@connectrpc/connect";
import { type Cloud, type CloudOptions, startCloud } from "../../cloud/serve/cloud.ts";
import { bootstrap, type BootstrapResult } from "../../cloud/local/bootstrap/bootstrap.ts";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { placeEmptyDatabase } from "../../cloud/storage/data_folder/empty_database_testing.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { launchBrowser } from "../../shared/test_tools/browser.ts";
import { sharedBrowser } from "./shared_browser.ts";

/** Folder for images of the pages, to be looked at; none are made without it. */
const PICTURES = Deno.env.get("MACHINE_TEST_PICTURES");
/** On a loaded host a page may take long; nothing waits that long when all is well. */
const WAIT_MS = 90_000;

export const DESKTOP = { width: 1280, height: 800 };
export const LARGE = { width: 3840, height: 2160 };
export const PHONE = { width: 390, height: 844 };

/** How a rig differs from others. */
export interface ConsoleRigOptions
  extends
    Partial<Pick<CloudOptions, "training" | "mapTiles" | "iceServers" | "packageLimitBytes">> {
  /** The cloud sends mail by it; default: it sends none. */
  readonly smtpUrl?: string;
  /** No other test's pages are in its browser; default false. */
  readonly hasOwnBrowser?: boolean;
}

/** A cloud on a port of its own, with one machine, and pages of a browser. */
export class ConsoleRig implements AsyncDisposable {
  readonly #browser: Browser;
  readonly #partToken: string;
  readonly #pages: ConsolePage[] = [];

  private constructor(
    readonly dataDir: string,
    /** The cloud that runs now. */
    private readonly running: { cloud: Cloud },
    readonly made: BootstrapResult,
    browser: Browser,
    private readonly token: string,
    partToken: string,
  ) {
    this.#browser = browser;
    this.#partToken = partToken;
  }

  static async open(
    { hasOwnBrowser = false, ...options }: ConsoleRigOptions = {},
  ): Promise<ConsoleRig> {
    await using opened = new AsyncDisposableStack();
    const dataDir = await Deno.makeTempDir({ prefix: "machine-console-" });
    opened.defer(() => Deno.remove(dataDir, { recursive: true }));
    const made = await bootstrapped(dataDir);
    const cloud = await cloudIn(dataDir, freePort(), options);
    const running = { cloud };
    opened.defer(() => running.cloud.close({ graceMs: 1_000 }));
    const browser = await (hasOwnBrowser ? launchBrowser() : sharedBrowser());
    if (hasOwnBrowser) opened.defer(() => browser.close());
    const [token, partToken] = await Promise.all([
      tokenOf(cloud.url, "api-key", made.api_key_id, made.api_key),
      tokenOf(cloud.url, "robot-secret", made.part_id, made.part_secret),
    ]);
    const rig = new ConsoleRig(dataDir, running, made, browser, token, partToken);
    rig.#close = opened.move();
    return rig;
  }

  #close: AsyncDisposableStack | undefined;

  get cloud(): Cloud {
    return this.running.cloud;
  }

  /** Ends the cloud at once, as a power cut does; the returned function starts it at the same port. */
  async cutOff(): Promise<() => Promise<void>> {
    const port = Number(new URL(this.cloud.url).port);
    await this.cloud.close({ graceMs: 0 });
    return async () => void (this.running.cloud = await cloudIn(this.dataDir, port));
  }

  /** Calls of the cloud by the key of the organisation. */
  client<S extends DescService>(service: S): Client<S> {
    return createClient(service, transportTo(this.cloud.url, this.token));
  }

  /** Calls of the cloud by the secret of the first machine's part. */
  part<S extends DescService>(service: S): Client<S> {
    return createClient(service, transportTo(this.cloud.url, this.#partToken));
  }

  /** Calls of the cloud with other credentials. */
  async as<S extends DescService>(
    type: string,
    entity: string,
    payload: string,
    service: S,
  ): Promise<Client<S>> {
    return createClient(
      service,
      transportTo(this.cloud.url, await this.tokenFor(type, entity, payload)),
    );
  }

  /** An access token for credentials. */
  async tokenFor(type: string, entity: string, payload: string): Promise<string> {
    return await tokenOf(this.cloud.url, type, entity, payload);
  }

  get app(): Client<typeof AppService> {
    return this.client(AppService);
  }

  /** A page in a browser without cookies or anything kept. */
  async page(options: Parameters<Browser["newContext"]>[0] = {}): Promise<ConsolePage> {
    const context = await this.#browser.newContext({
      viewport: DESKTOP,
      locale: "en-GB",
      reducedMotion: "reduce",
      ...options,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const opened = new ConsolePage(this, context, page);
    this.#pages.push(opened);
    return opened;
  }

  /** A page that is signed in with the key of the organisation. */
  async signedIn(
    path = "/",
    options: Parameters<Browser["newContext"]>[0] = {},
  ): Promise<ConsolePage> {
    const page = await this.page(options);
    await page.keepKey(this.token, this.made.api_key_id);
    await page.go(path);
    return page;
  }

  /** Makes a key that operates the organisation and changes nothing. */
  async viewer(): Promise<{ id: string; key: string }> {
    return await this.app.createKey({
      name: "viewer",
      authorizations: [{
        ...{ authorizationType: "role", authorizationId: "organization_operator" },
        ...{ resourceType: "organization", resourceId: this.made.org_id },
        ...{ organizationId: this.made.org_id, identityType: "api-key" },
      }],
    });
  }

  /** A page that is signed in with another key. */
  async signedInBy(keyId: string, key: string, path: string): Promise<ConsolePage> {
    const page = await this.page();
    await page.keepKey(await tokenOf(this.cloud.url, "api-key", keyId, key), keyId);
    await page.go(path);
    return page;
  }

  /** What the browser complained of on all pages. */
  get complaints(): string[] {
    return this.#pages.flatMap(({ complaints, refusals }) => [...complaints, ...refusals]);
  }

  async close(): Promise<void> {
    for (const [at, page] of this.#pages.entries()) {
      await page.picture(`last-${at}`);
      await page.context.close();
    }
    await this.#close?.disposeAsync();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    assert.deepEqual(this.complaints, []);
  }
}

/**
 * A test with a rig of its own, skipped where there is no Chromium. It also fails for what the
 * browser complained of.
 *
 * @param url `import.meta.url` of the test
 */
export function consoleTest(
  url: string,
  name: string,
  run: (rig: ConsoleRig) => Promise<void>,
  options?: ConsoleRigOptions,
): void {
  const ignore = ignoreWithout(url, "chromium");
  Deno.test({
    name,
    ignore,
    async fn() {
      const rig = await ConsoleRig.open(options);
      let failure: unknown;
      try {
        await run(rig);
      } catch (error) {
        failure = error;
      }
      await rig.close();
      const { complaints } = rig;
      if (failure instanceof Error && complaints.length > 0) {
        failure.message += `\nThe browser complained:\n${complaints.join("\n")}`;
      }
      if (failure !== undefined) throw failure;
      assert.deepEqual(complaints, []);
    },
  });
}

/** One tab of a browser on the console. */
export class ConsolePage {
  /**
   * What the browser complained of. Tests take out what they mean to cause; the rig fails for the
   * rest.
   */
  readonly complaints: string[] = [];
  /** Likewise what the policy refused, apart, as only attacks cause it. */
  readonly refusals: string[] = [];

  constructor(
    private readonly rig: ConsoleRig,
    readonly context: BrowserContext,
    readonly page: Page,
  ) {
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) {
        const isOfPolicy = message.text().includes("Content Security Policy");
        (isOfPolicy ? this.refusals : this.complaints).push(
          `${message.text()} ${message.location().url}`,
        );
      }
    });
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("dialog", (dialog) => {
      this.complaints.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  async go(path: string): Promise<void> {
    await this.page.goto(this.rig.cloud.url + path);
  }

  /** Signs in without the form, as the form leaves it. */
  async keepKey(token: string, keyId: string): Promise<void> {
    await this.context.addInitScript(`
      sessionStorage.setItem("machine-cloud.token", ${JSON.stringify(token)});
      sessionStorage.setItem("machine-cloud.key-id", ${JSON.stringify(keyId)});
    `);
  }

  /** What axe finds, one line each. */
  async axe(): Promise<string[]> {
    // A policy without inline code refuses script elements; this way it is no element.
    const isThere = await this.page.evaluate("typeof axe === 'object'");
    if (!isThere) await this.page.evaluate(axe.source);
    const found = await this.page.evaluate('axe.run({ resultTypes: ["violations"] })') as {
      violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[];
    };
    return found.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`)
    );
  }

  /** Fails unless the page is as wide as the window: nothing pushes it apart. */
  async assertFits(): Promise<void> {
    const [content, window] = await this.page.evaluate(
      "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
    ) as [number, number];
    assert.ok(content <= window, `the page is ${content} px wide in a window of ${window} px`);
  }

  /** Writes an image, where `MACHINE_TEST_PICTURES` names a folder. */
  async picture(name: string): Promise<void> {
    if (PICTURES && !this.page.isClosed()) {
      await this.page.screenshot({ path: join(PICTURES, `${name}.png`), caret: "initial" });
    }
  }

  /**
   * Images at desktop and phone width, dark and light; axe and the width are checked in each.
   */
  async inspect(name: string): Promise<void> {
    for (const [width, size] of [["desktop", DESKTOP], ["phone", PHONE]] as const) {
      await this.page.setViewportSize(size);
      for (const scheme of ["light", "dark"] as const) {
        await this.page.emulateMedia({ colorScheme: scheme });
        await this.picture(`${name}-${width}-${scheme}`);
        assert.deepEqual(await this.axe(), [], `${name} ${width} ${scheme}`);
        await this.assertFits();
      }
    }
    await this.page.setViewportSize(DESKTOP);
    await this.page.emulateMedia({ colorScheme: "light" });
  }
}

/** Of passwords and keys: they are not what is tested. */
const LOW_COST = { ln: 4, r: 8, p: 1 };

const deps = { clock: systemClock, random: systemRandom, log: memoryLogger("machine-cloud") };

async function cloudIn(
  dataDir: string,
  port: number,
  { smtpUrl, ...options }: Omit<ConsoleRigOptions, "hasOwnBrowser"> = {},
): Promise<Cloud> {
  return await startCloud({
    ...{ dataDir, domain: "machine.internal", packageLimitBytes: 1_000_000 },
    listen: { hostname: "127.0.0.1", port },
    hostname: "localhost",
    notifications: { allowPrivateWebhooks: true, smtpUrl },
    passwordCost: LOW_COST,
    keyCost: LOW_COST,
    ...options,
  }, deps);
}

async function bootstrapped(dataDir: string): Promise<BootstrapResult> {
  await placeEmptyDatabase(dataDir);
  const folder = await openDataFolder(dataDir, systemRandom);
  try {
    return await bootstrap(folder, { ...deps, keyCost: LOW_COST }, {
      ...{ organization: "Acme", location: "Lab", machine: "rover" },
    });
  } finally {
    folder.database.close();
  }
}

function transportTo(baseUrl: string, token?: string): Transport {
  return createConnectTransport({
    baseUrl,
    useBinaryFormat: true,
    interceptors: [(next) => (request) => {
      if (token !== undefined) request.header.set("authorization", `Bearer ${token}`);
      return next(request);
    }],
  });
}

async function tokenOf(
  url: string,
  type: string,
  entity: string,
  payload: string,
): Promise<string> {
  const auth = createClient(AuthService, transportTo(url));
  return (await auth.authenticate({ entity, credentials: { type, payload } })).accessToken;
}
