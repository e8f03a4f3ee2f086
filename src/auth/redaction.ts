// Secrets by value: whatever is registered here never leaves the process in a result, a log line or an error.
export interface Redactor {
  /** Registers a secret. Values shorter than 6 characters are ignored: they would blank out ordinary words. */
  add(secret: string): void;
  redact(text: string): string;
}

const MIN_LENGTH = 6;

export function createRedactor(): Redactor {
  const secrets = new Set<string>();
  return {
    add(secret) {
      if (secret.length < MIN_LENGTH) return;
      // As it stands, and as it would stand inside JSON, a URL and a Basic header.
      for (const form of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]) secrets.add(form);
    },
    redact(text) {
      let clean = text;
      for (const secret of secrets) clean = clean.replaceAll(secret, "[redacted]");
      return clean;
    },
  };
}
