// Writes a list of words in few lines.

export const words = (text: string): readonly string[] => text.trim().split(/\s+/);
