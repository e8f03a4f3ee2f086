// Where a value stands in a JSON document (RFC 6901): what the contract's field errors name.

/** The pointer of a path of keys and indices; "" is the whole document. */
export const jsonPointer = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
