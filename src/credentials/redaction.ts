// Secrets by value: what is registered here never leaves the process in a result, a log line or an error.
export interface Redactor {
  /** Registers a secret. Values shorter than 6 characters are ignored: they would blank out ordinary words. */
  add(secret: string): void;
  redact(text: string): string;
  /** Whether there is anything to redact. */
  hasSecret(text: string): boolean;
}

const MIN_LENGTH = 6;
/** A text quoted inside a message inside a result inside a log line. */
const MAX_JSON_LEVELS = 4;

const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);

/** The secret as it stands, as a URL or a form carries it, and each of these as JSON quotes it, over and over. */
function formsOf(secret: string): string[] {
  const forms = [secret, encodeURIComponent(secret), new URLSearchParams({ "": secret }).toString().slice(1)];
  return forms.flatMap((form) => {
    const layers = [form];
    for (let layer = 1; layer <= MAX_JSON_LEVELS; layer++) layers.push(quoted(layers.at(-1) ?? form));
    return layers;
  });
}

/** `shared`: takes out what is secret for others as well; nothing is registered there. */
export function createRedactor(shared?: Omit<Redactor, "add">): Redactor {
  let forms: readonly string[] = [];
  return {
    add(secret) {
      if (secret.length < MIN_LENGTH || forms.includes(secret)) return;
      // Longest first: a form that holds another one must go as a whole.
      forms = [...new Set([...forms, ...formsOf(secret)])].sort((a, b) => b.length - a.length);
    },
    redact(text) {
      let clean = shared?.redact(text) ?? text;
      for (const form of forms) if (clean.includes(form)) clean = clean.replaceAll(form, "[redacted]");
      return clean;
    },
    hasSecret: (text) => shared?.hasSecret(text) === true || forms.some((form) => text.includes(form)),
  };
}
