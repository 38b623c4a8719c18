/** Types of format.js, for its test. */
export interface Tile {
  title: string;
  value: string;
  second?: string;
  note: string;
  full?: number;
}
export function bytes(value: number): string;
export function duration(seconds: number): string;
export function percent(value: number): string;
export function plain(value: unknown): string;
export function enumWord(name: string | undefined, prefix: string): string;
export function timeOfDay(text: string | undefined): string;
export function hostTiles(readings: Record<string, unknown>): Tile[];
export function isHost(readings: Record<string, unknown>): boolean;
