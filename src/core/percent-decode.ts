// This module decodes percent-encoded text.

/** Returns undefined unless two hexadecimal digits follow each % (RFC 3986, 2.1) and the decoded bytes are UTF-8. */
export function percentDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
