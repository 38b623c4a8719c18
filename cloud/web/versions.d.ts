/** Types of versions.js, for its test. */
export interface Note {
  text: string;
  kind: "" | "soft" | "problem";
}
export interface ProgramView {
  installed: string;
  running: string;
  wanted: string;
  step: string;
  notes: Note[];
}
export interface ReleaseView {
  program: string;
  version: string;
  channel: string;
  platforms: string;
  goesTo: string;
  isStopped: boolean;
  progress: string;
  notes: string;
}
export function programView(status?: object, target?: object, now?: number): ProgramView;
export function machineNotes(agent?: object, now?: number): Note[];
export function releaseView(release: object, progress?: object): ReleaseView;
