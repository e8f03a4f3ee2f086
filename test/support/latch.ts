// A gate that a test opens to let other code continue.

export interface Latch {
  readonly released: Promise<void>;
  release(): void;
}

export function createLatch(): Latch {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { released, release };
}
