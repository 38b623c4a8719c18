/** Profiles of WiFi as a NetworkManager without a radio can keep them: as wired ones with a note. */
import { Variant } from "@jellybrick/dbus-next";
import type { WifiSettings } from "./simulated_air.ts";

/** `a{sa{sv}}` */
export type Settings = Record<string, Record<string, Variant>>;

const WIFI = "802-11-wireless";
const SECURITY = "802-11-wireless-security";
const WIRED = "802-3-ethernet";
/** In `user.data`. */
const NOTE = "test.wifi";

/** What is kept of the radio's part of a profile, to be given back. */
interface Note extends WifiSettings {
  readonly hidden: boolean;
  readonly powersave: number;
  /** Empty: there is no such section. */
  readonly keyManagement: string;
  readonly autoconnect: boolean;
}

/** A profile of WiFi as one of the simulated radio; others as they are. */
export function toWired(settings: Settings): Settings {
  const { [WIFI]: wifi, [SECURITY]: security, ...rest } = settings;
  if (!wifi) return settings;
  const { connection = {}, user = {} } = settings;
  const note: Note = {
    ssid: new Uint8Array(valueOf(wifi.ssid) as Uint8Array).toHex(),
    mode: String(valueOf(wifi.mode)),
    psk: String(valueOf(security?.psk) ?? ""),
    hidden: valueOf(wifi.hidden) === true,
    powersave: Number(valueOf(wifi.powersave) ?? 0),
    keyManagement: String(valueOf(security?.["key-mgmt"]) ?? ""),
    autoconnect: valueOf(connection.autoconnect) !== false,
  };
  const data = { ...(valueOf(user.data) as Record<string, string> | undefined) };
  return {
    ...rest,
    connection: {
      ...connection,
      type: new Variant("s", WIRED),
      "interface-name": new Variant("s", "wlan0"),
      // A cable is always there; a radio has to be let in.
      autoconnect: new Variant("b", false),
    },
    [WIRED]: {},
    user: { data: new Variant("a{ss}", { ...data, [NOTE]: JSON.stringify(note) }) },
  };
}

/** A profile as the machine made it, without its secrets, as NetworkManager answers. */
export function toWireless(settings: Settings): Settings {
  const note = noteOf(settings);
  if (!note) return settings;
  const { [WIRED]: _, ...rest } = settings;
  const { [NOTE]: __, ...data } = valueOf(settings.user?.data) as Record<string, string>;
  const security = note.keyManagement === ""
    ? {}
    : { [SECURITY]: { "key-mgmt": new Variant("s", note.keyManagement) } };
  return {
    ...rest,
    connection: {
      ...settings.connection,
      type: new Variant("s", WIFI),
      autoconnect: new Variant("b", note.autoconnect),
    },
    [WIFI]: {
      ssid: new Variant("ay", [...Uint8Array.fromHex(note.ssid)]),
      mode: new Variant("s", note.mode),
      ...(note.hidden ? { hidden: new Variant("b", true) } : {}),
      ...(note.powersave > 0 ? { powersave: new Variant("u", note.powersave) } : {}),
      ...(note.keyManagement === "" ? {} : { security: new Variant("s", SECURITY) }),
    },
    ...security,
    user: { data: new Variant("a{ss}", data) },
  };
}

/** Of a profile as NetworkManager keeps it; undefined for one that is no WiFi. */
export function wifiOf(settings: Settings): WifiSettings | undefined {
  return noteOf(settings);
}

function noteOf(settings: Settings): Note | undefined {
  const data = valueOf(settings.user?.data) as Record<string, string> | undefined;
  const note = data?.[NOTE];
  return note === undefined ? undefined : JSON.parse(note) as Note;
}

const valueOf = (variant: Variant | undefined): unknown => variant?.value;
