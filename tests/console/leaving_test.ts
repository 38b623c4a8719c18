/** Pages that are left while they load. */
import type { Route } from "playwright-core";
import { consoleTest } from "./console_rig.ts";

consoleTest(
  import.meta.url,
  "logs that are left before they came are read no further",
  async (rig) => {
    const opened = await rig.signedIn("/");
    const { page } = opened;
    await page.getByRole("link", { name: "rover" }).waitFor();
    const asked = Promise.withResolvers<void>();
    // Never answered: only the page itself ends it.
    await page.route("**/GetRobotPartLogs", () => asked.resolve());
    const ended = page.waitForEvent("requestfailed", {
      predicate: (request) => request.url().endsWith("/GetRobotPartLogs"),
    });
    await page.getByRole("link", { name: "rover" }).click();
    await page.getByRole("link", { name: "Logs" }).click();
    await asked.promise;
    await page.getByRole("link", { name: "Fleet" }).first().click();
    await ended;
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
  },
);

consoleTest(
  import.meta.url,
  "a configuration that is looked up again when its page is left is read no further",
  async (rig) => {
    const { page } = await rig.signedIn(`/machines/${rig.made.machine_id}/configure`);
    await page.getByText("Saved. No changes.").waitFor();
    const asked = Promise.withResolvers<Route>();
    await page.route("**/GetRobotPart", (route) => asked.resolve(route));
    // The page looks every few seconds; this answer comes when it is gone.
    const late = await asked.promise;
    await page.getByRole("link", { name: "Fleet" }).first().click();
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
    const answered = page.waitForResponse("**/GetRobotPart");
    await late.continue();
    await (await answered).finished();
    await page.evaluate("new Promise((done) => requestIdleCallback(done))"); // it has taken it
  },
);
