// Grammars that are needed before anything else is loaded, zod included.

/** What a workspace-style id is made of, as a pattern; the rule against two dots in a row comes on top. */
export const WORKSPACE_STYLE_ID = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;

export const noTwoDots = (text: string): boolean => !text.includes("..");

/** 1-128 chars: a letter or digit, then letters, digits, `_ . : -`; no two consecutive dots. */
export const isWorkspaceStyleId = (text: string): boolean => WORKSPACE_STYLE_ID.test(text) && noTwoDots(text);
