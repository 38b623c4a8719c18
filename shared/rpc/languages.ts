/** The languages of the pages, in the order of their texts. */
export const LANGUAGES = ["en", "de"] as const;
export type Language = (typeof LANGUAGES)[number];

/** A text in each of {@link LANGUAGES}. */
export type Text = readonly [en: string, de: string];
