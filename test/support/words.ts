// Writes a list of words in few lines.

/** Returns the words of a text, which white space separates. */
export const words = (text: string): readonly string[] => text.trim().split(/\s+/);
