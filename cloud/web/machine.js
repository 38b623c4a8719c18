import { app, liveStatus } from "./api.js";
import { every, h } from "./dom.js";
import { softwareView } from "./software.js";
import { duration, enumWord, hostTiles, isHost, plain, timeOfDay } from "./format.js";

const LOG_LINES = "100";
const LEVELS = {
  all: [],
  "info and above": ["info", "warn", "error"],
  "warn and above": ["warn", "error"],
  error: ["error"],
};

/**
 * Shows one machine and keeps it up to date until the returned function is called.
 * `attempt` runs work that may fail, by its name, and tells the user.
 */
export function showMachine(main, machineId, attempt) {
  const title = h("h1", {}, "…");
  const facts = h("dl", { className: "card facts" });
  const odd = h("ul", { className: "card", hidden: true });
  const problem = h("p", { className: "problem card", role: "alert", hidden: true });
  const readings = h("div", {}, h("p", { className: "soft" }, "Waiting for readings …"));
  const resources = h("div", {});
  const software = h("div", {});
  const logs = h("ol", { className: "logs", tabIndex: 0, "aria-label": "Log lines" });
  const level = h(
    "select",
    { id: "level" },
    Object.keys(LEVELS).map((name) => h("option", { value: name }, name)),
  );
  main.replaceChildren(
    h("p", {}, h("a", { href: "/", "data-link": "" }, "← All machines")),
    title,
    problem,
    odd,
    facts,
    section("Readings", readings),
    section("Resources", resources),
    section("Software", software),
    h(
      "section",
      {},
      h(
        "div",
        { className: "row heading" },
        h("h2", {}, "Latest logs"),
        h("label", { htmlFor: "level", className: "soft" }, "Level"),
        level,
      ),
      logs,
    ),
  );

  let part;
  const findPart = async () => {
    const { robot } = await app("GetRobot", { id: machineId });
    const { parts = [] } = await app("GetRobotParts", { robotId: machineId });
    part = parts.find((each) => each.mainPart) ?? parts[0];
    title.textContent = robot.name;
    document.title = robot.name;
  };
  const showLive = async () => {
    if (!part) await findPart();
    const live = await liveStatus(part.id);
    facts.replaceChildren(...factRows(live, part));
    problem.hidden = !live.configError;
    problem.textContent = live.configError
      ? `The newest configuration is not applied: ${live.configError}`
      : "";
    odd.hidden = !live.configWarnings?.length;
    odd.replaceChildren(...(live.configWarnings ?? []).map((text) => h("li", {}, text)));
    readings.replaceChildren(...readingCards(live));
    resources.replaceChildren(resourceTable(live.status?.resources ?? []));
    software.replaceChildren(softwareView(live));
  };
  const showLogs = async () => {
    if (!part) return;
    const asked = { id: part.id, limit: LOG_LINES, levels: LEVELS[level.value] };
    const { logs: lines = [] } = await app("GetRobotPartLogs", asked);
    logs.replaceChildren(...lines.map(logLine));
  };
  const stops = [
    every(1000, () => attempt("live", showLive)),
    every(1500, () => attempt("logs", showLogs)),
    every(10_000, () => attempt("machine", findPart)),
  ];
  level.onchange = () => attempt("logs", showLogs);
  return () => stops.forEach((stop) => stop());
}

function section(title, content) {
  return h("section", {}, h("h2", {}, title), content);
}

function factRows(live, part) {
  const seconds = live.lastSeen ? (Date.now() - Date.parse(live.lastSeen)) / 1000 : undefined;
  const state = live.online
    ? "online"
    : seconds === undefined
    ? "awaiting setup"
    : `offline, last seen ${duration(seconds)} ago`;
  const dot = live.online ? "online" : "offline";
  const stateView = h(
    "span",
    {},
    h("span", { className: `dot ${dot}`, "aria-hidden": "true" }),
    ` ${state}`,
  );
  const rows = [
    ["State", stateView],
    ["Server", live.serverVersion || "not known"],
    ["Agent", live.agentVersion || "not known"],
    ["Configuration", live.status?.config?.revision || "not known"],
    ["Address", part.fqdn],
  ];
  return rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)));
}

function readingCards(live) {
  const sensors = live.readings ?? [];
  if (sensors.length === 0) {
    const text = live.online ? "Waiting for readings …" : "No readings: the machine is offline.";
    return [h("p", { className: "soft" }, text)];
  }
  return sensors.map((sensor) => {
    const heading = h("h3", {}, sensor.name);
    if (sensor.error) return h("div", {}, heading, h("p", { className: "problem" }, sensor.error));
    const values = sensor.readings ?? {};
    return h("div", {}, heading, isHost(values) ? hostView(values) : valueTable(values));
  });
}

function hostView(values) {
  const where = [values.hostname, values.os].filter(Boolean).join(" · ");
  return h(
    "div",
    {},
    where ? h("p", { className: "soft" }, where) : undefined,
    h("div", { className: "tiles" }, hostTiles(values).map(tileView)),
  );
}

function tileView(tile) {
  return h(
    "div",
    { className: "card tile" },
    h("span", { className: "soft" }, tile.title),
    h("strong", {}, tile.value),
    tile.second ? h("strong", {}, tile.second) : undefined,
    tile.full === undefined ? undefined : meter(tile.title, tile.full),
    h("small", { className: "soft" }, tile.note),
  );
}

function meter(title, full) {
  const fill = h("div", { className: full >= 90 ? "fill high" : "fill" });
  fill.style.width = `${Math.min(100, Math.max(0, full))}%`;
  return h("div", {
    className: "meter",
    role: "meter",
    "aria-label": title,
    "aria-valuemin": "0",
    "aria-valuemax": "100",
    "aria-valuenow": full.toFixed(1),
  }, fill);
}

function valueTable(values) {
  const rows = Object.entries(values).map(([name, value]) =>
    h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, plain(value)))
  );
  return h("table", { className: "card" }, h("tbody", {}, rows));
}

function resourceTable(resources) {
  if (resources.length === 0) return h("p", { className: "soft" }, "None reported.");
  const rows = resources.map((resource) => {
    const { namespace, type, subtype, name } = resource.name ?? {};
    const state = enumWord(resource.state, "STATE_");
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, name ?? ""),
      h("td", { className: "soft" }, [namespace, type, subtype].filter(Boolean).join(":")),
      h("td", { className: `state ${state}` }, state),
      h("td", { className: "problem" }, resource.error ?? ""),
    );
  });
  return h(
    "div",
    { className: "scroll" },
    h(
      "table",
      { className: "card" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Name", "API", "State", "Error"].map((text) => h("th", { scope: "col" }, text)),
        ),
      ),
      h("tbody", {}, rows),
    ),
  );
}

function logLine(entry) {
  const level = entry.level ?? "info";
  return h(
    "li",
    { className: level },
    h("time", { dateTime: entry.time ?? "" }, timeOfDay(entry.time)),
    h("span", { className: "level" }, level.toUpperCase()),
    h("span", { className: "soft" }, entry.loggerName ?? ""),
    h("span", { className: "message" }, entry.message ?? ""),
  );
}
