/** Addresses of the emulator's receivers. */

/** An address that the emulator answers. */
export const exampleReceiver = "https://shop.receiver.test/hook"

/** The receiver of the emulator at that address; null for any other address. */
export const toReceiverName = (url: string): string | null =>
  /^https?:\/\/([a-z0-9_-]+)\.receiver\.test(?:[:/?#]|$)/.exec(url)?.[1] ?? null
