import type { Program } from "../../storage/database/release_schema.ts";
import type { ReleaseCatalogue } from "../catalogue/release_catalogue.ts";
import type { SelectorsOfParts } from "../catalogue/part_selectors.ts";
import { type Resolution, resolve } from "../catalogue/resolve.ts";
import type { VersionSelector } from "../catalogue/selectors.ts";

/** What one program of a part is to be. */
export interface PartTarget {
  readonly program: Program;
  readonly selector: VersionSelector;
  readonly resolution: Resolution;
}

/** What a part says of itself when it asks. */
export interface AskingAgent {
  /** `os/architecture`; empty when it does not report it. */
  readonly platform: string;
  /** Versions that it would start now; empty when it does not report it. */
  readonly installed: Readonly<Record<Program, string>>;
}

/** Which versions parts are to run. */
export class PartTargets {
  constructor(
    private readonly catalogue: ReleaseCatalogue,
    private readonly selectors: SelectorsOfParts,
  ) {}

  /** What a part is to run, by its present configuration and the present releases. */
  async of(
    part: { readonly id: string; readonly revision_number: number },
    asking: AskingAgent,
  ): Promise<{ readonly agent: PartTarget; readonly server: PartTarget }> {
    const { byProgram, tags } = await this.selectors.of(part);
    const { releases } = await this.catalogue.read();
    const targetOf = (program: Program): PartTarget => {
      const selector = byProgram[program];
      const { platform, installed } = asking;
      const asker = { id: part.id, tags, platform, installed: installed[program] };
      return { program, selector, resolution: resolve(program, selector, releases, asker) };
    };
    return { agent: targetOf("machine-agent"), server: targetOf("machine-server") };
  }
}
