/**
 * Measurements of live numbers per platform: a remote server, the bare library next to the worker, and
 * the vault's content for a number that connected long ago.
 */
import type { KeyChange } from "@messaging-service/core"
import type { LinkedAccount } from "./commands.ts"

export interface Platform {
  readonly name: "whatsapp" | "telegram"
  /** In titles: what is bare. */
  readonly bareName: string
  /** Programs. */
  readonly remoteServer: string
  readonly bare: string
  /** What the vault keeps, from what the remote server's own client keeps. */
  stored(
    phone: string,
    credentials: string,
  ): { readonly credentials: string; readonly keys: ReadonlyArray<KeyChange> }
}

export const whatsApp: Platform = {
  name: "whatsapp",
  bareName: "bare sockets",
  remoteServer: import.meta.resolve("./whatsAppServer.ts"),
  bare: import.meta.resolve("./bareSockets.ts"),
  stored: (_, credentials) => ({ credentials, keys: [] }),
}

export const telegram: Platform = {
  name: "telegram",
  bareName: "bare clients",
  remoteServer: import.meta.resolve("./telegramServer.ts"),
  bare: import.meta.resolve("./bareClients.ts"),
  stored: (phone, credentials) => {
    const { key, userId } = JSON.parse(credentials) as LinkedAccount
    return {
      credentials: JSON.stringify({ kind: "account", userId, phone, login: null }),
      keys: [{ type: "auth-key", id: "2", value: key }],
    }
  },
}
