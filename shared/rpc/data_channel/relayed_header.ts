/** Metadata of answers that came through the cloud; its value is `cloud`. */
export const RELAYED_HEADER = "machine-relayed";
