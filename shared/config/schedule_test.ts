import { deepStrictEqual, throws } from "node:assert/strict";
import { parseSchedule, type Schedule, ScheduleError } from "./schedule.ts";

Deno.test("parseSchedule() tells durations, cron expressions and continuous apart", () => {
  const table: [string, Schedule][] = [
    ["continuous", { kind: "continuous" }],
    ["5m", { kind: "interval", ms: 300_000 }],
    ["1h20m", { kind: "interval", ms: 4_800_000 }],
    ["* * * * *", { kind: "cron", expression: "* * * * *" }],
    ["  0 9 * * 1 ", { kind: "cron", expression: "0 9 * * 1" }],
    ["@daily", { kind: "cron", expression: "@daily" }],
    [
      "CRON_TZ=Europe/Berlin 0 9 * * *",
      { kind: "cron", expression: "0 9 * * *", timeZone: "Europe/Berlin" },
    ],
    ["TZ=UTC @hourly", { kind: "cron", expression: "@hourly", timeZone: "UTC" }],
  ];
  for (const [text, schedule] of table) deepStrictEqual(parseSchedule(text), schedule, text);
});

Deno.test("parseSchedule() takes every form that a field may have", () => {
  const good = [
    "0 */5 * * * *",
    "0 9-17 * * MON-FRI",
    "1-10/3,40 ? * * ?",
    "5/15 * * * *",
    "0 0 L * *",
    "0 0 LW,15W * *",
    "0 0 * feb-Nov sun",
    "0 0 * * 5#2,1L",
    "0 0 * * FRI-SUN",
    "00 07 * * 0-7",
    "*/60 * * * *",
  ];
  for (const text of good) deepStrictEqual(parseSchedule(text).kind, "cron", text);
});

Deno.test("parseSchedule() says what is wrong with a text that is no schedule", () => {
  const table: [string, RegExp][] = [
    ["", /this is not a schedule/],
    ["every day", /this is not a schedule/],
    ["* * * *", /this is not a schedule/],
    ["* * * * * * *", /this is not a schedule/],
    ["@reboot", /this is not a schedule/],
    ["0s", /not longer than 0/],
    ["-5m", /not longer than 0/],
    ["60 * * * *", /^minute "60" of the cron expression is not within 0 to 59$/],
    ["60 * * * * *", /^second "60"/],
    ["* 24 * * *", /^hour "24"/],
    ["* * 0 * *", /^day of month "0"/],
    ["* * * 13 *", /^month "13"/],
    ["* * * * 8", /^day of week "8"/],
    ["a$ * * * *", /^minute "A\$"/],
    ["1,,2 * * * *", /^minute ""/],
    ["*/0 * * * *", /^minute "\*\/0" .* step outside 1 to 60/],
    ["*/61 * * * *", /step outside/],
    ["* 22-4 * * *", /^hour "22-4" .* runs backwards/],
    ["1-5-7 * * * *", /^minute "1-5-7"/],
    ["1/2/3 * * * *", /^minute "1\/2\/3"/],
    ["* * L-3 * *", /^day of month "L-3"/],
    ["* * 32W * *", /^day of month "32W"/],
    ["* * * * 5#6", /^day of week "5#6"/],
    ["* * * * L", /^day of week "L"/],
    ["TZ=Nowhere/Town 0 9 * * *", /there is no time zone Nowhere\/Town/],
  ];
  for (const [text, message] of table) {
    throws(() => parseSchedule(text), (error) => {
      return error instanceof ScheduleError && message.test(error.message);
    }, text);
  }
});
