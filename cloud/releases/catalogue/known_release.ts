import type {
  Program,
  ReleaseChannel,
  RolloutState,
} from "../../storage/database/release_schema.ts";

/** The file of a release for one platform. */
export interface KnownFile {
  readonly id: string;
  /** `os/architecture`. */
  readonly platform: string;
  /** Bytes. */
  readonly size: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /** Base64. */
  readonly signature: string;
  readonly keyId: string;
  readonly addedAtMs: number;
}

/** Who gets a release that does not go to everybody at once. */
export interface KnownRollout {
  /** 0 to 100. */
  readonly percent: number;
  readonly tags: readonly string[];
  readonly state: RolloutState;
  readonly reason: string;
  /** It stops when so many percent of the machines that tried it rolled back; 0 is never. */
  readonly stopPercent: number;
  /** It does not stop before so many tried it. */
  readonly stopMinimum: number;
  readonly changedAtMs: number;
  /** What came of it before this time does not stop it any more. */
  readonly countedSinceMs: number;
}

/** One version of one program, with its files. */
export interface KnownRelease {
  readonly id: string;
  readonly program: Program;
  readonly version: string;
  readonly channel: ReleaseChannel;
  readonly notes: string;
  readonly addedAtMs: number;
  readonly withdrawnAtMs: number | undefined;
  /** Machines that run it although it was withdrawn go back to the one before. */
  readonly goesBack: boolean;
  readonly files: readonly KnownFile[];
  /** Undefined: everybody on its channel gets it. */
  readonly rollout: KnownRollout | undefined;
}
