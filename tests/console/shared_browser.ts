import type { Browser } from "playwright-core";
import { launchBrowser } from "../../shared/test_tools/browser.ts";

/**
 * The browser of all tests that are loaded together, as each start of one takes a second of
 * processor time. Each page has a context of its own, which shares nothing with others.
 */
class SharedBrowser {
  #browser: Promise<Browser> | undefined;

  /** The browser, started when there is none or it has crashed. */
  async launched(): Promise<Browser> {
    const known = await this.#browser?.catch(() => undefined);
    if (known?.isConnected()) return known;
    return await (this.#browser = launchBrowser());
  }

  async close(): Promise<void> {
    await (await this.#browser?.catch(() => undefined))?.close();
    this.#browser = undefined;
  }
}

const SHARED = new SharedBrowser();
Deno.test.afterAll(() => SHARED.close());

/** The browser that tests share; it is closed after the last of them. */
export function sharedBrowser(): Promise<Browser> {
  return SHARED.launched();
}
