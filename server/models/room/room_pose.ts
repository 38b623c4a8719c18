/** Where a base is in a room, from how far a sensor says that it has moved. */

/** Metres east (x) and north (y) of the middle; degrees, clockwise from north. */
export interface RoomPose {
  readonly x: number;
  readonly y: number;
  readonly heading: number;
}

/** What a movement sensor says. */
export interface SensedPose {
  readonly latitude: number;
  readonly longitude: number;
  /** Degrees, clockwise from north. */
  readonly heading: number;
}

/** What stands in the way. Metres. */
export interface Obstacles {
  readonly width: number;
  readonly length: number;
  readonly balls: readonly { readonly x: number; readonly y: number; readonly radius: number }[];
}

/** The base is a disc of this radius. Metres. */
const BASE_RADIUS = 0.15;
/** Ways are looked at in pieces, so that nothing is jumped over. Metres. */
const PIECE = 0.05;
/** A sensor that jumps further was reset; the base has not moved. Metres. */
const LONGEST_WAY = 100;
const METERS_PER_DEGREE = 6_371_008.8 * Math.PI / 180;

/** Follows a sensor. Where wall or ball stand in the way the base stays, and its wheels slip. */
export class PoseInRoom {
  #pose: RoomPose = { x: 0, y: 0, heading: 0 };
  #last: SensedPose | undefined;

  constructor(private readonly obstacles: Obstacles) {}

  /** Where the base was last. */
  get current(): RoomPose {
    return this.#pose;
  }

  /** The pose after the way since the call before; the first call is the middle of the room. */
  follow(sensed: SensedPose): RoomPose {
    const last = this.#last;
    this.#last = sensed;
    let { x, y } = this.#pose;
    if (last) {
      const east = (sensed.longitude - last.longitude) * METERS_PER_DEGREE *
        Math.cos(last.latitude * Math.PI / 180);
      const north = (sensed.latitude - last.latitude) * METERS_PER_DEGREE;
      const way = Math.hypot(east, north);
      const pieces = way > LONGEST_WAY ? 0 : Math.ceil(way / PIECE);
      for (let piece = 0; piece < pieces; piece++) {
        [x, y] = this.#free(x + east / pieces, y + north / pieces);
      }
    }
    return this.#pose = { x, y, heading: sensed.heading };
  }

  /** The nearest place outside balls, inside walls. */
  #free(x: number, y: number): [number, number] {
    for (const ball of this.obstacles.balls) {
      const [dx, dy] = [x - ball.x, y - ball.y];
      const least = ball.radius + BASE_RADIUS;
      const distance = Math.hypot(dx, dy);
      if (distance >= least) continue;
      const out = distance > 0 ? least / distance : 0;
      [x, y] = out > 0 ? [ball.x + dx * out, ball.y + dy * out] : [ball.x, ball.y - least];
    }
    const within = (value: number, size: number) =>
      Math.max(BASE_RADIUS - size / 2, Math.min(size / 2 - BASE_RADIUS, value));
    return [within(x, this.obstacles.width), within(y, this.obstacles.length)];
  }
}
