/** A process that is the remote server of Telegram accounts: server, people and their phones. */
import { make } from "@messaging-service/telegram-server"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { runRemoteServer } from "./remoteServer.ts"
import type { LinkedAccount } from "./commands.ts"

const { DIRECTORY = "" } = process.env

runRemoteServer(
  Effect.gen(function* () {
    const server = yield* make()
    const keyFile = join(DIRECTORY, "telegram.pem")
    yield* Effect.promise(() => writeFile(keyFile, server.publicKey))
    return {
      settings: {
        TELEGRAM_API_ID: String(server.apiId),
        TELEGRAM_API_HASH: server.apiHash,
        TELEGRAM_DC: server.address,
        TELEGRAM_PUBLIC_KEY: keyFile,
      },
      link: (number) =>
        Effect.zipWith(server.person(number), server.linkedBefore(number), (userId, key) => {
          const linked: LinkedAccount = { userId, key: Buffer.from(key).toString("base64") }
          return JSON.stringify(linked)
        }),
      person: server.person,
      online: server.online,
      copies: server.copies,
      complaints: server.complaints,
      until: server.until,
    }
  }),
)
