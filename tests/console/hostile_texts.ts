/** Texts that people and machines may send, which have to be shown as they are. */
export const HOSTILE: readonly string[] = [
  `"><img src=x onerror="window.hacked=1">`,
  `<script>window.hacked=1</script>{@html "x"}{{constructor}}`,
  "\u202Eterces\u2066 right to left",
  "w".repeat(10_000),
  "javascript:window.hacked=1",
  "Z̷̛̦a̵̱͝l̸͇͠g̶̙͝o̵͔͗ \u0000\u0007 \u{1F9D1}\u200D\u{1F33E}",
];
