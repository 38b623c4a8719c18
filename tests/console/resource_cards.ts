import type { Locator, Page } from "playwright-core";

/** Finds the card of a fake component on the control page, by its kind: `motor`. */
export function cardsOf(page: Page): (kind: string) => Locator {
  return (kind) =>
    page.getByRole("region", { name: `${kind}-1, rdk:component:${kind}`, exact: true });
}

/** Uses what every program that serves a machine has, until the page shows that it worked. */
export async function useResources(page: Page): Promise<void> {
  const card = cardsOf(page);
  await card("motor").scrollIntoViewIfNeeded();
  await card("motor").getByLabel("Revolutions").fill("2");
  await card("motor").getByLabel("Speed, rpm").fill("6000");
  await card("motor").getByRole("button", { name: "Turn" }).click();
  await card("motor").getByText(/^[1-9][\d.]* revolutions/).waitFor();

  await card("switch").scrollIntoViewIfNeeded();
  await card("switch").getByRole("button", { name: "Position 1" }).click();
  await card("switch").locator("[aria-pressed=true]").getByText("Position 1").waitFor();

  await card("servo").scrollIntoViewIfNeeded();
  await card("servo").getByLabel(/Angle/).fill("120");
  await card("servo").getByText("at 120°").waitFor();

  await card("generic").scrollIntoViewIfNeeded();
  await card("generic").getByLabel("Command, as JSON").fill('{"hello": "there"}');
  await card("generic").getByRole("button", { name: "Send" }).click();
  await card("generic").getByText('"there"').waitFor();

  await card("sensor").scrollIntoViewIfNeeded();
  await card("sensor").getByRole("img").first().waitFor();
}
