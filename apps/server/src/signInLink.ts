/**
 * The command `sign-in-link`: asks the running server for a link that signs an operator in. Asks by HTTP,
 * since only one process can open an embedded database.
 */
import { CannotStart } from "@messaging-service/node"
import { Console, Effect, Redacted } from "effect"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { localUrl } from "./Example.ts"
import { operatorTokenKind } from "./ServerSettings.ts"
import type { ServerSettings } from "./ServerSettings.ts"

const cannot = (message: string) => new CannotStart({ message })

/** The given token, or the one that the first start has kept. */
const getToken = ({ operatorToken, service }: ServerSettings) => {
  if (operatorToken !== null) return Effect.succeed(Redacted.value(operatorToken))
  const file = join(service.dataDirectory ?? ".", operatorTokenKind.name)
  return Effect.tryPromise({
    try: async () => (await readFile(file, "utf8")).trim(),
    catch: () => cannot(`there is no operator token: OPERATOR_TOKEN is not set, and no ${file}`),
  })
}

export const signInLink = Effect.fnUntraced(function* signInLink(
  settings: ServerSettings,
  [extra]: ReadonlyArray<string>,
) {
  if (extra !== undefined) return yield* cannot(`unexpected argument "${extra}"`)
  const token = yield* getToken(settings)
  const { adminPort, service } = settings
  const host = service.host.includes(":") ? `[${service.host}]` : service.host
  const origin = localUrl(`http://${host}:${adminPort ?? service.port}`)
  const url = yield* Effect.tryPromise({
    try: async () => {
      const response = await fetch(`${origin}/admin/v1/sign-in-links`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
      })
      const body = (await response.json()) as {
        readonly url?: string
        readonly error?: { readonly message: string }
      }
      return body.url ?? Promise.reject(new Error(body.error?.message))
    },
    catch: (cause) =>
      cannot(
        `the server at ${origin} gave no link: ${cause instanceof Error ? cause.message : ""}`,
      ),
  })
  yield* Console.log(url)
})
