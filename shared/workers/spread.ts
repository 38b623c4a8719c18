/** Machines that started together are to ask at different times: ±5 %. */
const SPREAD = 0.05;

/**
 * A wait a little shorter or longer than `ms`.
 *
 * @param random in [0, 1)
 */
export function spread(ms: number, random: number): number {
  return ms * (1 - SPREAD + 2 * SPREAD * random);
}
