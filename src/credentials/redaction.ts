// Redacts secrets by value: a registered secret never leaves the process in a result, a log line or an error.

export type Redactor = ReturnType<typeof createRedactor>;

const MIN_LENGTH = 6;
/** Maximum depth of JSON quoting: for example a text in a message in a result in a log line. */
const MAX_JSON_LEVELS = 4;

const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Returns the secret as it is, and as a URL or a form encodes it, each also in several levels of JSON quoting. */
function formsOf(secret: string): string[] {
  const forms = [secret, encodeURIComponent(secret), new URLSearchParams({ "": secret }).toString().slice(1)];
  return forms.flatMap((form) => {
    const layers = [form];
    for (let layer = 1; layer <= MAX_JSON_LEVELS; layer++) layers.push(quoted(layers.at(-1) ?? form));
    return layers;
  });
}

/** Returns the parts of a secret with blanks that `excerpt` leaves if it cuts within the secret. */
const cutFormsOf = (secret: string): string[] =>
  [...secret.matchAll(/\s/g)]
    .filter(({ index }) => index >= MIN_LENGTH)
    .map(({ index }) => `${secret.slice(0, index)}…`);

/** Creates a redactor. It also redacts the secrets that are registered in `shared`, and registers none there. */
export function createRedactor(shared?: { redact(text: string): string; hasSecret(text: string): boolean }) {
  let forms: readonly string[] = [];
  return {
    /** Registers a secret. Values shorter than 6 characters are ignored, because their redaction would remove ordinary words. */
    add(secret: string): void {
      if (secret.length < MIN_LENGTH || forms.includes(secret)) return;
      // Longest first, because a form that contains another one must be replaced as a whole.
      forms = [...new Set([...forms, ...[secret, ...cutFormsOf(secret)].flatMap(formsOf)])].sort(
        (a, b) => b.length - a.length,
      );
    },
    redact(text: string): string {
      let clean = shared?.redact(text) ?? text;
      for (const form of forms) if (clean.includes(form)) clean = clean.replaceAll(form, "[redacted]");
      return clean;
    },
    /** Whether the text contains a registered secret. */
    hasSecret: (text: string): boolean => shared?.hasSecret(text) === true || forms.some((form) => text.includes(form)),
  };
}
