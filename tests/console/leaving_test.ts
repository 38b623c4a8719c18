/** Pages that are left while they load. */
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
