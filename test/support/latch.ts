// A gate that a test opens to let other code continue.

export function createLatch() {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { released, release };
}
