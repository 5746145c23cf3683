/**
 * The demonstration workspace of a first start (contract: Configuration). It uses the same services as
 * any other, and prints lines to paste into a shell.
 */
import { Ids, Keys, Numbers, Workspaces, clientId, Store } from "@messaging-service/core"
import type { Refusal, StoreUnavailable } from "@messaging-service/core"
import { storeSecret } from "@messaging-service/service/compose"
import type { ServiceSettings } from "@messaging-service/service/compose"
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
 * Creates the workspace when the store is empty; else returns null. Of several servers that start at
 * once only one creates it: the one with the mark that the store keeps.
 */
export const seedExample: Effect.Effect<
  Example | null,
  Refusal | StoreUnavailable,
  Ids | Keys | Numbers | Store | Workspaces
> = Effect.gen(function* () {
  if (!(yield* (yield* Store).workspaces.isEmpty)) return null
  const mark = (yield* Ids).hex(32)
  const stored = yield* (yield* Store).system.getOrCreateSecret("example-workspace", mark)
  if (stored !== mark) return null

  const workspace = yield* (yield* Workspaces).create("owner", { name: "Example" })
  const { id } = workspace
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
    clientId: clientId(workspace),
    liveKey: live.key,
    testKey: test.key,
    keyV1: version1.key,
  }
})

/**
 * The same workspace with file paths in place of its keys: others can read a log, unlike a terminal.
 * Keys of a memory store end with its process, so they get their own files. The directory may belong
 * to an embedded database: its keys still work.
 */
export const keepKeys = Effect.fnUntraced(function* keepKeys(
  example: Example,
  { dataDirectory, store }: Pick<ServiceSettings, "dataDirectory" | "store">,
) {
  const ending = store.kind === "memory" ? ".memory" : ""
  const getStored = (name: string, key: string) =>
    storeSecret(dataDirectory, { name: `${name}${ending}`, what: "keys of the example" }, key)
  return {
    clientId: example.clientId,
    liveKey: yield* getStored("example-live-key", example.liveKey),
    testKey: yield* getStored("example-test-key", example.testKey),
    keyV1: yield* getStored("example-version-1-key", example.keyV1),
  }
})

/** A path quoted for a shell, with any characters in it. */
const quoted = (path: string): string =>
  /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`

/**
 * Lines for the person who started the server; `url` is where it listens. With `inFiles` the keys are
 * the paths of files that contain them.
 */
export const exampleText = (example: Example, url: string, inFiles: boolean): string => {
  const token = inFiles ? `$(cat ${quoted(example.liveKey)})` : example.liveKey
  const authorization = `-H "Authorization: Bearer ${token}"`
  return `Created the demo workspace "Example" with a simulated WhatsApp number, ${numberPhone}.
${inFiles ? "Its keys are in files that only the service's user can read:" : "These keys are shown only once:"}

  live key       ${example.liveKey}
  test key       ${example.testKey}
  version 1 key  ${example.keyV1}  (client_id ${example.clientId})

Send a message:

  curl -s ${url}/api/v2/messages ${authorization} -H "Content-Type: application/json" -d '{"to": {"phone": "${recipientPhone}"}, "text": "Hello"}'

Read it back:

  curl -s ${url}/api/v2/messages/1 ${authorization}
`
}

/** The line with the link that signs the operator in. */
export const signInText = (link: string): string =>
  `Open the dashboard; this link signs in once, within 15 minutes:\n\n  ${link}\n`

/** The same without a link, for a log. */
export const howToSignInText = (url: string): string =>
  `Open the dashboard at ${url}/. "messaging-server sign-in-link" prints a link that signs in.\n`

/** URL for a client on the same machine when the server listens on every address. */
export const localUrl = (url: string): string =>
  url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
