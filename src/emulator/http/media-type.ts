// Content-Type of a request: type and, at most, charset=utf-8.

/** Whether `value` is this media type, without parameters other than charset=utf-8 (RFC 9110, 8.3.1). */
export function isMediaType(value: string, expected: string): boolean {
  const [type = "", ...parameters] = value.split(";").map((part) => part.trim().toLowerCase());
  return type === expected && parameters.every((parameter) => /^(|charset=("?)utf-8\2)$/.test(parameter));
}
