/** What a joystick and keys mean for a base. */

/** From -1 to 1: forward, and turning to the left. */
export interface Drive {
  readonly forward: number;
  readonly left: number;
}

export const STILL: Drive = { forward: 0, left: 0 };

/** Pushes less than this far from the middle count as none. */
const DEAD_ZONE = 0.08;

const KEYS: Readonly<Record<string, Drive>> = {
  KeyW: { forward: 1, left: 0 },
  ArrowUp: { forward: 1, left: 0 },
  KeyS: { forward: -1, left: 0 },
  ArrowDown: { forward: -1, left: 0 },
  KeyA: { forward: 0, left: 1 },
  ArrowLeft: { forward: 0, left: 1 },
  KeyD: { forward: 0, left: -1 },
  ArrowRight: { forward: 0, left: -1 },
};

/** Whether a key, by its place on the keyboard (`KeyboardEvent.code`), drives. */
export function drives(code: string): boolean {
  return Object.hasOwn(KEYS, code);
}

/** What keys that are held mean together; opposite ones cancel out. */
export function driveOfKeys(held: Iterable<string>): Drive {
  let [forward, left] = [0, 0];
  for (const code of held) {
    forward += KEYS[code]?.forward ?? 0;
    left += KEYS[code]?.left ?? 0;
  }
  return { forward: Math.sign(forward), left: Math.sign(left) };
}

/** What a joystick means that is pushed by `x` to the right and `y` down, in parts of its radius. */
export function driveOfStick(x: number, y: number): Drive {
  const length = Math.hypot(x, y);
  if (length < DEAD_ZONE) return STILL;
  const scale = Math.min(1, length) / length;
  // Not minus zero.
  return { forward: 0 - y * scale, left: 0 - x * scale };
}
