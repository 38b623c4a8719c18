import { BlockList, isIP } from "node:net";
import { plainAddress } from "./peer.ts";

/** Addresses and networks, such as `10.0.0.0/8` or `fd00::1`. */
export class AddressList {
  readonly #list = new BlockList();

  /** @throws {RangeError} that names the entry that is none, for the operator */
  constructor(readonly entries: readonly string[]) {
    for (const entry of entries) this.#add(entry);
  }

  has(address: string): boolean {
    const plain = plainAddress(address);
    const version = isIP(plain);
    return version !== 0 && this.#list.check(plain, version === 4 ? "ipv4" : "ipv6");
  }

  #add(entry: string): void {
    const [address = "", bits, ...more] = entry.split("/");
    const version = isIP(address);
    const longest = version === 4 ? 32 : 128;
    const prefix = bits === undefined ? longest : /^\d{1,3}$/.test(bits) ? Number(bits) : NaN;
    if (version === 0 || address.includes("%") || more.length > 0 || !(prefix <= longest)) {
      throw new RangeError(
        `${JSON.stringify(entry)} is no address and no network; write 10.0.0.7 or 10.0.0.0/8`,
      );
    }
    this.#list.addSubnet(address, prefix, version === 4 ? "ipv4" : "ipv6");
  }
}
