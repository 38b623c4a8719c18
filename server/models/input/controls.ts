/** Names of controls and events, as all input controllers use them. */

/** Axes by their codes in linux/input-event-codes.h. */
export const AXES: ReadonlyMap<number, string> = new Map([
  [0, "AbsoluteX"],
  [1, "AbsoluteY"],
  [2, "AbsoluteZ"],
  [3, "AbsoluteRX"],
  [4, "AbsoluteRY"],
  [5, "AbsoluteRZ"],
  [16, "AbsoluteHat0X"],
  [17, "AbsoluteHat0Y"],
]);

/** Triggers rest at 0; every other axis rests in the middle. */
export const TRIGGERS: ReadonlySet<string> = new Set(["AbsoluteZ", "AbsoluteRZ"]);

/** Buttons by their codes. */
export const BUTTONS: ReadonlyMap<number, string> = new Map([
  [0x130, "ButtonSouth"],
  [0x131, "ButtonEast"],
  [0x133, "ButtonNorth"],
  [0x134, "ButtonWest"],
  [0x136, "ButtonLT"],
  [0x137, "ButtonRT"],
  [0x13a, "ButtonSelect"],
  [0x13b, "ButtonStart"],
  [0x13c, "ButtonMenu"],
  [0x13d, "ButtonLThumb"],
  [0x13e, "ButtonRThumb"],
]);

/** Kinds of events. */
export const EVENT = {
  connect: "Connect",
  disconnect: "Disconnect",
  press: "ButtonPress",
  release: "ButtonRelease",
  position: "PositionChangeAbs",
  /** Stands for every kind where a caller names what it wants. */
  all: "AllEvents",
} as const;
