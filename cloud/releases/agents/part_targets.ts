import type { Program } from "../../storage/database/release_schema.ts";
import type { ReleaseCatalogue } from "../catalogue/release_catalogue.ts";
import type { WishesOfParts } from "../catalogue/part_wishes.ts";
import { type Resolution, resolve } from "../catalogue/resolve.ts";
import type { Wish } from "../catalogue/wishes.ts";

/** What one program of a part is to be. */
export interface PartTarget {
  readonly program: Program;
  readonly wish: Wish;
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
    private readonly wishes: WishesOfParts,
  ) {}

  /** What a part is to run, by its present configuration and the present releases. */
  async of(
    part: { readonly id: string; readonly revision_number: number },
    asking: AskingAgent,
  ): Promise<{ readonly agent: PartTarget; readonly server: PartTarget }> {
    const { byProgram, tags } = await this.wishes.of(part);
    const { releases } = await this.catalogue.read();
    const targetOf = (program: Program): PartTarget => {
      const wish = byProgram[program];
      const { platform, installed } = asking;
      const asker = { id: part.id, tags, platform, installed: installed[program] };
      return { program, wish, resolution: resolve(program, wish, releases, asker) };
    };
    return { agent: targetOf("machine-agent"), server: targetOf("machine-server") };
  }
}
