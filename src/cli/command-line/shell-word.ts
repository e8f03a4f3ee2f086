// A word of a line that a person may copy: what others have chosen (an id, a key) must not become a command of its own.

export const shellWord = (text: string): string =>
  /^[\w.:/=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
