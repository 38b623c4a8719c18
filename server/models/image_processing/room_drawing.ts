/** Draws a room with balls, as a camera close to the floor sees it. */
import type { RgbImage } from "../../../shared/image/decode.ts";

type Colour = readonly [number, number, number];

/** Metres; x east, y north, of the middle of the room. */
export interface RoomScene {
  /** Heading in degrees, clockwise from north. */
  readonly pose: { readonly x: number; readonly y: number; readonly heading: number };
  readonly room: { readonly width: number; readonly length: number };
  readonly balls: readonly {
    readonly x: number;
    readonly y: number;
    readonly radius: number;
    readonly color: Colour;
  }[];
  /** Pixels; `focal` is the focal length. */
  readonly image: { readonly width: number; readonly height: number; readonly focal: number };
}

/** Height of the camera and of the room. Metres. */
const EYE = 0.25;
const CEILING = 2.2;
/** Pale, so that a detector of colours finds the balls only. North, east, south, west. */
const WALLS: readonly Colour[] = [[205, 208, 214], [188, 194, 203], [214, 210, 204], [
  196,
  190,
  186,
]];
const BOARD_HEIGHT = 0.08;
/** Direction to the lamp, of length 1. */
const LAMP: Colour = [0.3, -0.4, 0.866];
/** Distance at which half the light is left. Metres. */
const DIM = 14;

/** The image. Takes some 20 ms for 480 × 270 and a few balls. */
export function drawRoom({ pose, room, balls, image }: RoomScene): RgbImage {
  const { width, height, focal } = image;
  const rgb = new Uint8Array(width * height * 3);
  const heading = pose.heading * Math.PI / 180;
  const [sin, cos] = [Math.sin(heading), Math.cos(heading)];
  for (let row = 0, at = 0; row < height; row++) {
    const up = (height / 2 - row - 0.5) / focal;
    for (let column = 0; column < width; column++, at += 3) {
      const right = (column + 0.5 - width / 2) / focal;
      const [dx, dy] = [sin + right * cos, cos - right * sin];
      const surface = hitRoom(pose.x, pose.y, dx, dy, up, room);
      let { distance } = surface;
      let [red, green, blue] = surface.colour;
      for (const ball of balls) {
        const nearer = hitBall(pose, dx, dy, up, ball);
        if (nearer === undefined || nearer >= distance) continue;
        distance = nearer;
        const light = ballLight(pose, dx, dy, up, nearer, ball);
        [red, green, blue] = ball.color.map((value) => value * light) as unknown as Colour;
      }
      const dim = DIM / (DIM + distance);
      rgb[at] = red * dim;
      rgb[at + 1] = green * dim;
      rgb[at + 2] = blue * dim;
    }
  }
  return { width, height, rgb };
}

/** Wall, floor or ceiling; distances are in lengths of the ray's direction, about metres. */
function hitRoom(
  x: number,
  y: number,
  dx: number,
  dy: number,
  up: number,
  { width, length }: RoomScene["room"],
): { distance: number; colour: Colour } {
  const toX = dx === 0 ? Infinity : ((dx > 0 ? width / 2 : -width / 2) - x) / dx;
  const toY = dy === 0 ? Infinity : ((dy > 0 ? length / 2 : -length / 2) - y) / dy;
  const toWall = Math.min(toX, toY);
  const toFlat = up === 0 ? Infinity : (up > 0 ? CEILING - EYE : -EYE) / up;
  if (toFlat < toWall) {
    if (up > 0) return { distance: toFlat, colour: [232, 232, 230] };
    const [fx, fy] = [x + dx * toFlat, y + dy * toFlat];
    const odd = (Math.floor(fx * 2) + Math.floor(fy * 2)) & 1;
    return { distance: toFlat, colour: odd ? [150, 146, 140] : [118, 115, 111] };
  }
  const above = EYE + up * toWall;
  if (above < BOARD_HEIGHT) return { distance: toWall, colour: [92, 90, 88] };
  const wall = toX < toY ? (dx > 0 ? 1 : 3) : (dy > 0 ? 0 : 2);
  const along = toX < toY ? y + dy * toWall : x + dx * toWall;
  const seam = Math.abs(along - Math.round(along)) < 0.02;
  const colour = WALLS[wall]!;
  return {
    distance: toWall,
    colour: seam ? colour.map((value) => value * 0.85) as unknown as Colour : colour,
  };
}

type Ball = RoomScene["balls"][number];

/** Where a ray meets the ball first; undefined when it misses, or the eye is inside. */
function hitBall(
  { x, y }: RoomScene["pose"],
  dx: number,
  dy: number,
  up: number,
  ball: Ball,
): number | undefined {
  const [ox, oy, oz] = [x - ball.x, y - ball.y, EYE - ball.radius];
  const a = dx * dx + dy * dy + up * up;
  const b = ox * dx + oy * dy + oz * up;
  const c = ox * ox + oy * oy + oz * oz - ball.radius * ball.radius;
  const root = b * b - a * c;
  if (root < 0 || c < 0) return undefined;
  const distance = (-b - Math.sqrt(root)) / a;
  return distance > 0 ? distance : undefined;
}

/** Share of its colour that a point of the ball shows. */
function ballLight(
  { x, y }: RoomScene["pose"],
  dx: number,
  dy: number,
  up: number,
  distance: number,
  { x: bx, y: by, radius }: Ball,
): number {
  const normal = [x + dx * distance - bx, y + dy * distance - by, EYE + up * distance - radius];
  const toLamp = normal.reduce((sum, part, index) => sum + part * LAMP[index]!, 0) / radius;
  return 0.65 + 0.35 * Math.max(0, toLamp);
}
