import type { Locator, Page } from "playwright-core";

/** How somebody uses a page. */
export interface Hands {
  readonly page: Page;
  /** Presses what it finds: a link, a button, a tab. */
  press(what: Locator): Promise<void>;
  /** Puts a text into a field, in place of what is there. */
  fill(field: Locator, text: string): Promise<void>;
  /** Checks a box. */
  check(box: Locator): Promise<void>;
  /** Pushes a joystick: a key that is held, or the pointer upwards. @returns what lets it go */
  push(stick: Locator, key: string): Promise<() => Promise<void>>;
  /** Chooses an entry of a list by its text. */
  choose(list: Locator, entry: string): Promise<void>;
  /** Keys, or presses of the pointer, so far. */
  readonly count: number;
}

/** With a pointer, or a finger on a phone. */
export function pointerHands(page: Page): Hands {
  let count = 0;
  return {
    page,
    get count() {
      return count;
    },
    async press(what) {
      count++;
      await what.click();
    },
    async check(box) {
      count++;
      await box.check();
    },
    async push(stick) {
      count++;
      // Waits until nothing lies over it.
      await stick.hover();
      const box = await stick.boundingBox();
      if (!box) throw new Error("the joystick is not to be seen");
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 8, { steps: 4 });
      return () => page.mouse.up();
    },
    async fill(field, text) {
      count += 1 + text.length;
      await field.fill(text);
    },
    async choose(list, entry) {
      count += 2;
      await list.selectOption({ label: entry });
    },
  };
}

/** A page with more stops than that is not used by keyboard. */
const MOST_STOPS = 150;

/** With Tab, Enter, arrows and letters alone: what Tab does not reach cannot be used. */
export function keyboardHands(page: Page): Hands {
  let count = 0;
  const key = async (name: string) => {
    count++;
    await page.keyboard.press(name);
  };
  const reach = async (what: Locator): Promise<void> => {
    await what.waitFor();
    const isThere = () =>
      what.evaluate((element: { matches(selector: string): boolean }) => element.matches(":focus"));
    for (let stops = 0; stops < MOST_STOPS; stops++) {
      if (await isThere()) return;
      await key("Tab");
    }
    throw new Error(`Tab does not reach ${what}`);
  };
  return {
    page,
    get count() {
      return count;
    },
    async press(what) {
      await reach(what);
      await key("Enter");
    },
    async check(box) {
      await reach(box);
      await key("Space");
    },
    async push(stick, name) {
      await reach(stick);
      count++;
      await page.keyboard.down(name);
      return () => page.keyboard.up(name);
    },
    async fill(field, text) {
      await reach(field);
      await key("ControlOrMeta+a");
      count += text.length;
      await page.keyboard.type(text);
    },
    async choose(list, entry) {
      await reach(list);
      const chosen = () =>
        list.evaluate((element) => {
          const { selectedOptions } = element as unknown as {
            selectedOptions: { text: string }[];
          };
          return selectedOptions[0]?.text.trim();
        });
      await key("Home");
      for (let at = 0; at < MOST_STOPS && await chosen() !== entry; at++) await key("ArrowDown");
    },
  };
}
