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
  /** Draws a box into the picture that it lies on. */
  draw(box: Locator): Promise<void>;
  /** Chooses an entry of a list by its text. */
  choose(list: Locator, entry: string): Promise<void>;
  /** Keys, or presses of the pointer, so far. */
  readonly count: number;
}

/** A drag by mouse or finger, from one place of an element to another, in parts of its size. */
interface Drag {
  readonly what: Locator;
  readonly from: readonly [number, number];
  readonly to: readonly [number, number];
}

/** Begins a drag. @returns what lets go */
type Dragging = (drag: Drag) => Promise<() => Promise<void>>;

async function placesOf({ what, from, to }: Drag): Promise<[x: number, y: number][]> {
  // Waits until nothing lies over it.
  await what.click({ trial: true });
  const box = await what.boundingBox();
  if (!box) throw new Error(`${what} is not to be seen`);
  const steps = [0, 0.25, 0.5, 0.75, 1];
  return steps.map((step) => [
    box.x + box.width * (from[0] + (to[0] - from[0]) * step),
    box.y + box.height * (from[1] + (to[1] - from[1]) * step),
  ]);
}

/** With a mouse. */
export function mouseHands(page: Page): Hands {
  return pointerHands(page, (what) => what.click(), async (drag) => {
    const [start, ...others] = await placesOf(drag);
    await page.mouse.move(...start!);
    await page.mouse.down();
    for (const place of others) await page.mouse.move(...place);
    return () => page.mouse.up();
  });
}

/** With a finger, in a context that has touch. */
export function fingerHands(page: Page): Hands {
  return pointerHands(page, (what) => what.tap(), async (drag) => {
    const browser = await page.context().newCDPSession(page);
    const send = (type: "touchStart" | "touchMove" | "touchEnd", places: [number, number][]) =>
      browser.send("Input.dispatchTouchEvent", {
        type,
        touchPoints: places.map(([x, y]) => ({ x, y })),
      });
    const [start, ...others] = await placesOf(drag);
    await send("touchStart", [start!]);
    for (const place of others) await send("touchMove", [place]);
    return async () => {
      await send("touchEnd", []);
      await browser.detach();
    };
  });
}

function pointerHands(
  page: Page,
  press: (what: Locator) => Promise<void>,
  drag: Dragging,
): Hands {
  let count = 0;
  return {
    page,
    get count() {
      return count;
    },
    async press(what) {
      count++;
      await press(what);
    },
    async check(box) {
      count++;
      await press(box);
    },
    async push(stick) {
      count++;
      return await drag({ what: stick, from: [0.5, 0.5], to: [0.5, 0.125] });
    },
    async draw(box) {
      count++;
      const letGo = await drag({ what: box.locator(".."), from: [0.2, 0.2], to: [0.7, 0.8] });
      await letGo();
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
    async draw(box) {
      await reach(box);
      await key("ArrowLeft");
      await key("Shift+ArrowDown");
      await key("Enter");
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
