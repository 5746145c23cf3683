/**
 * The demonstration workspace of a first start (operator API: configuration): made through the same
 * services as any other, and explained with lines that can be pasted into a shell.
 */
import {
  Ids,
  Keys,
  Numbers,
  ServiceSecrets,
  WorkspaceStore,
  Workspaces,
} from "@messaging-service/core"
import type { Refusal, StoreUnavailable, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"

/** The simulated number, and a phone to send to; both reserved for fiction. */
const numberPhone = "+15550100001"
const recipientPhone = "+15550100002"

export interface Example {
  readonly clientId: number
  readonly liveKey: string
  readonly testKey: string
  readonly keyV1: string
}

/**
 * Makes the workspace when the store is empty; null when it is not. Of several servers that start at
 * once only one makes it: the one whose mark the store keeps.
 */
export const seedExample: Effect.Effect<
  Example | null,
  Refusal | StoreUnavailable,
  Ids | Keys | Numbers | ServiceSecrets | WorkspaceStore | Workspaces
> = Effect.gen(function* () {
  if (!(yield* (yield* WorkspaceStore).isEmpty)) return null
  const mark = (yield* Ids).hex(32)
  const kept = yield* (yield* ServiceSecrets).getOrCreate("example-workspace", mark)
  if (kept !== mark) return null

  const workspace = yield* (yield* Workspaces).create("owner", { name: "Example" })
  const id = workspace.id as WorkspaceId
  const keys = yield* Keys
  yield* (yield* Numbers).create("owner", id, {
    platform: "whatsapp",
    phone: numberPhone,
    label: "Simulated phone",
  })
  const live = yield* keys.create("owner", id, { version: 2, name: "Live", mode: "live" })
  const test = yield* keys.create("owner", id, { version: 2, name: "Test", mode: "test" })
  const version1 = yield* keys.create("owner", id, { version: 1 })
  return {
    clientId: workspace.client_id,
    liveKey: live.key,
    testKey: test.key,
    keyV1: version1.key,
  }
})

/** What whoever started the server reads; `url` is where it listens. */
export const exampleText = (example: Example, url: string): string => {
  const authorization = `-H "Authorization: Bearer ${example.liveKey}"`
  return `Made the demonstration workspace "Example" with a simulated WhatsApp number, ${numberPhone}.
These keys are shown only now:

  live key       ${example.liveKey}
  test key       ${example.testKey}
  version 1 key  ${example.keyV1}  (client_id ${example.clientId})

Send a message:

  curl -s ${url}/api/v2/messages ${authorization} -H "Content-Type: application/json" -d '{"to": {"phone": "${recipientPhone}"}, "text": "Hello"}'

Read it back:

  curl -s ${url}/api/v2/messages/1 ${authorization}
`
}

/** Where a client on the same machine reaches a server that listens on every address. */
export const localUrl = (url: string): string =>
  url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
