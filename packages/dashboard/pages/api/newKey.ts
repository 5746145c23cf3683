/** An idempotency key. Not `randomUUID`, which plain http within a network does not have. */
export const newKey = (): string =>
  [...crypto.getRandomValues(new Uint32Array(4))]
    .map((word) => word.toString(16).padStart(8, "0"))
    .join("")
