/** How values are written for people. Pure functions. */

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** 1536000000 → "1.54 GB". */
export function bytes(value) {
  let amount = Math.abs(value);
  let unit = 0;
  while (amount >= 1000 && unit < UNITS.length - 1) {
    amount /= 1000;
    unit++;
  }
  const digits = unit === 0 || amount >= 100 ? 0 : amount >= 10 ? 1 : 2;
  return `${value < 0 ? "-" : ""}${amount.toFixed(digits)} ${UNITS[unit]}`;
}

/** 93784 → "1 d 2 h". The two largest units. */
export function duration(seconds) {
  const total = Math.max(0, Math.floor(seconds));
  const parts = [
    [Math.floor(total / 86400), "d"],
    [Math.floor(total / 3600) % 24, "h"],
    [Math.floor(total / 60) % 60, "min"],
    [total % 60, "s"],
  ];
  const first = parts.findIndex(([amount]) => amount > 0);
  if (first === -1) return "0 s";
  return parts.slice(first, first + 2).filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`).join(" ");
}

/** 12.345 → "12.3 %". */
export function percent(value) {
  return `${value.toFixed(1)} %`;
}

/** Any reading as text. */
export function plain(value) {
  if (typeof value === "number") return String(Math.round(value * 1000) / 1000);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** "STATE_READY" → "ready". */
export function enumWord(name, prefix) {
  return (name ?? "").replace(prefix, "").replaceAll("_", " ").toLowerCase() || "unknown";
}

/** "2026-01-02T03:04:05.678Z" → the time of day here, with milliseconds. */
export function timeOfDay(text) {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return "";
  const two = (n) => String(n).padStart(2, "0");
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(":");
  return `${clock}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

const has = (readings, ...keys) => keys.every((key) => typeof readings[key] === "number");

/**
 * The tiles of a host's readings, as far as they are there: title, value, what stands below it,
 * and for bars how full they are, 0 to 100.
 */
export function hostTiles(readings) {
  const tiles = [];
  if (has(readings, "cpu_percent")) {
    const loads = ["load_1m", "load_5m", "load_15m"].filter((key) => has(readings, key))
      .map((key) => readings[key].toFixed(2));
    const cores = has(readings, "cpu_count") ? `${readings.cpu_count} cores` : "";
    const load = loads.length > 0 ? `load ${loads.join(" ")}` : "";
    tiles.push({
      title: "CPU",
      value: percent(readings.cpu_percent),
      note: [cores, load].filter(Boolean).join(", "),
      full: readings.cpu_percent,
    });
  }
  for (const [title, key] of [["Memory", "memory"], ["Disk", "disk"]]) {
    if (!has(readings, `${key}_used_percent`)) continue;
    const sizes = has(readings, `${key}_used_bytes`, `${key}_total_bytes`)
      ? `${bytes(readings[`${key}_used_bytes`])} of ${bytes(readings[`${key}_total_bytes`])}`
      : "";
    tiles.push({
      title,
      value: percent(readings[`${key}_used_percent`]),
      note: sizes,
      full: readings[`${key}_used_percent`],
    });
  }
  if (has(readings, "network_rx_bytes_per_second", "network_tx_bytes_per_second")) {
    const totals = has(readings, "network_rx_bytes", "network_tx_bytes")
      ? `in all ↓ ${bytes(readings.network_rx_bytes)}, ↑ ${bytes(readings.network_tx_bytes)}`
      : "";
    tiles.push({
      title: "Network",
      value: `↓ ${bytes(readings.network_rx_bytes_per_second)}/s`,
      second: `↑ ${bytes(readings.network_tx_bytes_per_second)}/s`,
      note: totals,
    });
  }
  if (has(readings, "uptime_seconds")) {
    const processes = has(readings, "process_count") ? `${readings.process_count} processes` : "";
    tiles.push({ title: "Uptime", value: duration(readings.uptime_seconds), note: processes });
  }
  return tiles;
}

/** Whether readings are those of a host sensor. */
export function isHost(readings) {
  return has(readings, "cpu_percent", "memory_used_percent", "uptime_seconds");
}
