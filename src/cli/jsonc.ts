// This module re-exports the required parts of jsonc-parser. client-files.ts imports it on first use, because servers do not need it.
export { applyEdits, modify, type ParseError, parse } from "jsonc-parser";
