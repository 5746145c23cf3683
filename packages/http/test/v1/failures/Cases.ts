/**
 * Failure messages of version 1, from a scene and a request to the text, and the suite that tests
 * them in each kind of body.
 */
import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { layerService } from "../../Service.ts"
import { aPlan, aNumber, change, operate, remove } from "../../Records.ts"
import type { Created } from "../../Records.ts"
import {
  aClient,
  aLonelyClient,
  answered,
  request,
  bodyAs,
  call,
  kinds,
  assertRefusedV1,
  sends,
} from "../Asking.ts"
import type { Credentials, Fields } from "../Asking.ts"

interface Scene {
  readonly credentials: Credentials
  /** Fields that only the scene knows. */
  readonly fields?: Fields
}

const plan = (messages_remaining: number | null) =>
  aPlan({ messages_remaining, media_storage_bytes: 1024 })

const deleteKey = (workspace: Created, key: Created) =>
  operate({ method: "DELETE", path: `/admin/v1/workspaces/${workspace.id}/keys/${key.id}` })

const scenes = {
  "a client": aClient(),
  "a deleted key": Effect.tap(aClient(), ({ key, workspace }) => deleteKey(workspace, key)),
  "the client id of another workspace": Effect.gen(function* () {
    const { credentials } = yield* aClient()
    const other = yield* aLonelyClient()
    return { credentials: { ...credentials, client_id: other.credentials.client_id } }
  }),
  "a deleted workspace": Effect.tap(aClient(), ({ workspace }) => remove(workspace)),
  "a demo workspace": aClient({ workspace: { demo: true } }),
  "a disabled account": Effect.tap(aClient(), ({ workspace }) =>
    change(workspace, { account_disabled: true }),
  ),
  "no number": aLonelyClient(),
  "two numbers": Effect.tap(aClient(), ({ workspace }) => aNumber(workspace)),
  "another workspace's number": Effect.gen(function* () {
    const { credentials } = yield* aClient()
    const other = yield* aClient()
    return { credentials, fields: { whatsapp_client: other.number.id } }
  }),
  "its WhatsApp number": Effect.map(aClient(), ({ credentials, number }) => ({
    credentials,
    fields: { whatsapp_client: number.id },
  })),
  "its Telegram account": Effect.map(
    aClient({ number: { platform: "telegram" } }),
    ({ credentials, number }) => ({ credentials, fields: { whatsapp_client: number.id } }),
  ),
  "no messages left": aClient({ workspace: { plan: plan(0) } }),
  "a plan without reminders and numbers": aClient({
    workspace: { plan: { ...plan(null), reminders: false, qr_code_api: false } },
  }),
  "a plan with room for one number": aClient({
    workspace: { plan: { ...plan(null), max_numbers: 1 } },
  }),
  "its disconnected number": Effect.map(
    aClient({ number: { status: "disconnected" } }),
    ({ credentials, number }) => ({ credentials, fields: { whatsapp_client: number.id } }),
  ),
  "its connecting number": Effect.gen(function* () {
    const { credentials } = yield* aClient()
    const answer = yield* request("whatsapp/connect/", { ...credentials })
    const { whatsapp_client } = answered<{ readonly whatsapp_client: number }>(answer)
    return { credentials, fields: { whatsapp_client } }
  }),
  "one message left": aClient({ workspace: { plan: plan(1) } }),
  "another workspace's message": Effect.gen(function* () {
    const other = yield* aClient()
    const msg_id = yield* sends(
      other.credentials,
      {
        date: "01/01/2100",
        time: "12:00",
      },
      "schedule_msg/",
    )
    return { ...(yield* aClient()), fields: { msg_id } }
  }),
} as const

export interface Case {
  readonly operation: string
  /** Default: a client. */
  readonly scene?: keyof typeof scenes
  readonly message: string
  /** The sent fields; null leaves a field out of a form. */
  readonly fields: Fields
}

const toTitle = ({ fields, operation, scene }: Case, at: number): string => {
  const formatted = JSON.stringify(fields)
  const text = formatted.length > 120 ? `${formatted.slice(0, 120)}…` : formatted
  return `${at + 1}. ${operation} ${scene === undefined ? "" : `of ${scene} `}with ${text}`
}

/** One test for each case, in each kind of body. */
export const says = (what: string, cases: ReadonlyArray<Case>) =>
  layer(layerService({ settings: { trustProxy: true } }))(what, (it) => {
    for (const [index, one] of cases.entries()) {
      it.effect(`${toTitle(one, index)}: ${one.message}`, () =>
        Effect.gen(function* () {
          const scene: Scene = yield* scenes[one.scene ?? "a client"]
          const fields = { ...scene.credentials, ...scene.fields, ...one.fields }
          for (const kind of kinds) {
            const { headers = [], ...body } = bodyAs(kind, fields)
            // Otherwise a wrong key would exceed its minute's limit.
            const address = ["x-forwarded-for", `192.0.2.${index % 250}`] as const
            const answer = yield* call(one.operation, { ...body, headers: [...headers, address] })
            assertRefusedV1(answer, 400, one.message)
          }
        }),
      )
    }
  })
