// A JSON pointer (RFC 6901) identifies a value in a JSON document, as in the contract's field errors.

/** Returns the pointer of a path of keys and indices; "" is the whole document. */
export const jsonPointer = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
