/** Longitude and latitude, degrees. */
export type Place = readonly [longitude: number, latitude: number];

/**
 * The outlines in `land.txt`: one area a line, its rings apart by `;` (the first is the edge, others
 * are holes), each a list of steps `longitude,latitude` in tenths of a degree. Made from Natural
 * Earth's land at 1:110 million, which is in the public domain.
 */
export function landOf(text: string): Place[][][] {
  return text.trim().split("\n").map((area) => area.split(";").map(ringOf));
}

function ringOf(text: string): Place[] {
  let [longitude, latitude] = [0, 0];
  return text.split(" ").map((step) => {
    const [east = 0, north = 0] = step.split(",").map(Number);
    longitude += east;
    latitude += north;
    return [longitude / 10, latitude / 10];
  });
}
