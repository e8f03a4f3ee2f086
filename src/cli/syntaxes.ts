// This module re-exports the parsers of configuration files. client-files.ts imports it on first use, because servers do not need it.
export { applyEdits, modify, type ParseError, parse as parseJson } from "jsonc-parser";
export { parse as parseToml } from "smol-toml";
