import type { AgentField, TextForm } from "./agent_fields.ts";
import { byteLength, durationMs, isIpv4, isIpv4Cidr, isVersionSetting } from "./forms.ts";
import { type Path, problemAt, type Report } from "./problem.ts";

const MS_PER_MINUTE = 60_000;

interface Form {
  allowed: string;
  isGood: (text: string) => boolean;
}

const orEmpty = (isGood: (text: string) => boolean) => (text: string) =>
  text === "" || isGood(text);

/** Longest interface name of Linux is 15 bytes; an SSID has 32; a WPA key 8 to 64 characters. */
const FORMS: { readonly [F in TextForm]: Form } = {
  "any": { allowed: "text", isGood: () => true },
  "version": {
    allowed: "a version such as 1.2.3, a range such as ^1.2, stable, dev, or a URL http://…, " +
      "https://…, file:///…",
    isGood: isVersionSetting,
  },
  "interface": {
    allowed: "at most 15 bytes, no spaces and no /",
    isGood: (text) => byteLength(text) <= 15 && !/[\s/]/.test(text),
  },
  "ssid": { allowed: "at most 32 bytes", isGood: (text) => byteLength(text) <= 32 },
  "psk": {
    allowed: "8 to 64 characters, or empty for an open network",
    isGood: orEmpty((text) => byteLength(text) >= 8 && byteLength(text) <= 64),
  },
  "hotspot-password": {
    allowed: "8 to 64 characters",
    isGood: (text) => byteLength(text) >= 8 && byteLength(text) <= 64,
  },
  "hotspot-prefix": {
    allowed: "1 to 31 bytes; the SSID <prefix>-<hostname> has at most 32",
    isGood: (text) => byteLength(text) >= 1 && byteLength(text) <= 31,
  },
  "bluetooth-brand": {
    allowed: "1 to 32 of a-z, 0-9 and -",
    isGood: (text) => /^[a-z0-9-]{1,32}$/.test(text),
  },
  "http-url": {
    allowed: "a URL http://… or https://…",
    isGood: orEmpty((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? "")),
  },
  "ipv4": { allowed: "an IPv4 address, for example 192.168.0.1", isGood: orEmpty(isIpv4) },
  "ipv4-cidr": {
    allowed: "auto, or an address with network length, for example 192.168.0.10/24",
    isGood: (text) => text === "" || text.toLowerCase() === "auto" || isIpv4Cidr(text),
  },
};

/**
 * Reads the value of one field as written. Minutes given as a duration text become a number.
 *
 * @returns the value to use, or undefined after a problem was reported
 */
export function readAgentField(
  field: AgentField,
  value: unknown,
  path: Path,
  report: Report,
): { value: unknown } | undefined {
  const allowed = allowedValues(field);
  const wrong = (message: string) => {
    report(problemAt(path, value, message, allowed));
    return undefined;
  };
  switch (field.kind) {
    case "boolean":
      return typeof value === "boolean" ? { value } : wrong("this is not true or false");
    case "tristate":
      return typeof value === "boolean" || value === null
        ? { value }
        : wrong("this is not true, false or null");
    case "integer":
      if (typeof value !== "number" || !Number.isInteger(value)) {
        return wrong("this is not a whole number");
      }
      return value < field.min || value > field.max
        ? wrong("the number is out of range")
        : { value };
    case "minutes": {
      const minutes = readMinutes(value);
      if (minutes === undefined) return wrong("this is not a number of minutes");
      const isGood = minutes >= field.min || (minutes === 0 && field.zeroDisables === true);
      return isGood ? { value: minutes } : wrong("the time is out of range");
    }
    case "text":
      if (typeof value !== "string") return wrong("this is the wrong kind of value");
      return FORMS[field.form].isGood(value) ? { value } : wrong("the text is not of this form");
    case "choice":
      return typeof value === "string" && field.choices.includes(value)
        ? { value }
        : wrong("this is not one of the choices");
    case "ipv4-list":
      return Array.isArray(value) && value.every((item) => typeof item === "string" && isIpv4(item))
        ? { value }
        : wrong("this is not a list of IPv4 addresses");
    case "environment":
      return readEnvironment(value, path, report);
  }
}

/** What a field may hold, in words. */
export function allowedValues(field: AgentField): string {
  switch (field.kind) {
    case "boolean":
      return "true or false";
    case "tristate":
      return "true, false or null";
    case "integer":
      return `${field.min} to ${field.max}`;
    case "minutes": {
      const zero = field.zeroDisables ? "0 (never), or " : "";
      return `${zero}${field.min} minute or more, as a number or a text such as 1h20m`;
    }
    case "text":
      return FORMS[field.form].allowed;
    case "choice":
      return field.choices.map((choice) => choice === "" ? "empty" : choice).join(", ");
    case "ipv4-list":
      return 'a list such as ["192.168.0.1"]';
    case "environment":
      return "object of texts";
  }
}

function readMinutes(value: unknown): number | undefined {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (typeof value !== "string") return undefined;
  const ms = durationMs(value);
  return ms === undefined ? undefined : ms / MS_PER_MINUTE;
}

/** Takes the variables that are texts (or null, which removes one) and reports the others. */
function readEnvironment(
  value: unknown,
  path: Path,
  report: Report,
): { value: unknown } | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    report(problemAt(path, value, "this is the wrong kind of value", "object of texts"));
    return undefined;
  }
  const good = Object.entries(value).filter(([name, item]) => {
    const isGood = item === null || typeof item === "string";
    if (!isGood) {
      report(problemAt([...path, name], item, "this is the wrong kind of value", "text"));
    }
    return isGood;
  });
  return { value: Object.fromEntries(good) };
}
