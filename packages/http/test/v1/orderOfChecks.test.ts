/**
 * The order of version 1's checks (contract: Version 1: requests): each request also fails every later one.
 */
import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { HttpTestClients } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aNumber, change, operate } from "../Records.ts"
import {
  aClient,
  aLonelyClient,
  aText,
  answered,
  request,
  call,
  assertRefusedV1,
} from "./Asking.ts"
import type { Credentials, Fields } from "./Asking.ts"

const noPlan = { workspace: { plan: null } }

/** Its requests of this minute are used up. */
const exhaust = (credentials: Credentials) =>
  Effect.replicateEffect(request("me/", credentials), 60, { discard: true })

/** A client for which every check of stored state fails too. */
const scenes = {
  "a demo workspace over its limit": Effect.gen(function* () {
    const client = yield* aLonelyClient({ plan: null })
    yield* exhaust(client.credentials)
    yield* change(client.workspace, { demo: true })
    return client
  }),
  "a demo workspace whose account is disabled": Effect.tap(
    aLonelyClient({ plan: null, demo: true }),
    ({ workspace }) => change(workspace, { account_disabled: true }),
  ),
  "a client over its limit": Effect.tap(aLonelyClient({ plan: null }), ({ credentials }) =>
    exhaust(credentials),
  ),
  "a client without number and plan": aLonelyClient({ plan: null }),
  "a client without plan": aClient(noPlan),
  "a client without messages whose number is full": Effect.gen(function* () {
    const client = yield* aClient()
    const phones = Array.from({ length: 1000 }, () => "15550001234")
    const sent = yield* request("send_msg/multi/", { ...client.credentials, phones, msg: "Hi" })
    answered(sent)
    yield* change(client.workspace, { plan: null })
    return client
  }),
} satisfies Record<
  string,
  Effect.Effect<{ readonly credentials: Credentials }, never, HttpTestClients>
>

/** Wrong in every field, or in the later ones alone. */
const wrongFields: Fields = {
  msg_type: 9,
  expire_after_seconds: -1,
  webhook: "nowhere",
  whatsapp_client: 999_999_999,
}

interface Case {
  readonly scene: keyof typeof scenes
  readonly fields: Fields
  readonly status?: number
  readonly message: string
}

const aFile = { msg_type: 2, file_url: "https://example.com/a.pdf" }

/** In the order of the checks. */
const cases: ReadonlyArray<Case> = [
  {
    scene: "a demo workspace over its limit",
    fields: { ...wrongFields, api_key: null, client_id: "x" },
    message: "Auth Error - Please send correct API key and Client id",
  },
  {
    scene: "a demo workspace over its limit",
    fields: { ...wrongFields, api_key: "wrong", client_id: "x" },
    message: "Invalid client id.",
  },
  {
    scene: "a demo workspace over its limit",
    fields: { ...wrongFields, api_key: "wrong" },
    message: "Auth Error: invalid api key",
  },
  {
    scene: "a demo workspace whose account is disabled",
    fields: wrongFields,
    message: "Account Disabled",
  },
  {
    scene: "a demo workspace over its limit",
    fields: wrongFields,
    message: "Demo Account can not access apis",
  },
  {
    scene: "a client over its limit",
    fields: wrongFields,
    status: 429,
    message: "Too many requests",
  },
  {
    scene: "a client without number and plan",
    fields: wrongFields,
    message: "Either phone or group_name parameter is required",
  },
  {
    scene: "a client without number and plan",
    fields: { ...wrongFields, phone: "nothing", group_name: "Team" },
    message: "Please provide either phone OR group_name, not both",
  },
  {
    scene: "a client without number and plan",
    fields: { ...wrongFields, phone: "nothing" },
    message: "Invalid phone number",
  },
  {
    scene: "a client without number and plan",
    fields: { ...wrongFields, ...aText, msg: "" },
    message: "Invalid msg_type",
  },
  {
    scene: "a client without number and plan",
    fields: { ...wrongFields, ...aText, msg_type: 0, msg: "" },
    message: "Msg cant be null",
  },
  {
    scene: "a client without number and plan",
    fields: { ...wrongFields, ...aText, msg_type: 2 },
    message: "File Url Can't be null",
  },
  {
    scene: "a client without number and plan",
    fields: { ...wrongFields, ...aText, ...aFile },
    message: "Invalid expire_after_seconds",
  },
  {
    scene: "a client without number and plan",
    fields: { ...wrongFields, ...aText, ...aFile, expire_after_seconds: 60 },
    message: "Invalid webhook url",
  },
  {
    scene: "a client without number and plan",
    fields: { ...aText, ...aFile },
    message: "Invalid file url, Can't download",
  },
  {
    scene: "a client without number and plan",
    fields: aText,
    message: "Invalid whatsapp client id.",
  },
  {
    scene: "a client without plan",
    fields: { ...aText, whatsapp_client: 999_999_999 },
    message: "Invalid whatsapp client",
  },
  {
    scene: "a client without messages whose number is full",
    fields: aText,
    message: "Not enough credits",
  },
]

layer(layerService())("the order of checks in version 1", (it) => {
  for (const { fields, message, scene, status = 400 } of cases) {
    it.effect(`${scene} gets \`${message}\``, () =>
      Effect.gen(function* () {
        yield* TestClock.adjust("1 minute")
        const { credentials } = yield* scenes[scene]
        assertRefusedV1(yield* request("send_msg/", { ...credentials, ...fields }), status, message)
      }),
    )
  }

  it.effect("checks the method before the body, and the body before credentials", () =>
    Effect.gen(function* () {
      const broken = { headers: [["content-type", "application/json"]] as const, body: "{" }
      assertRefusedV1(
        yield* call("send_msg/", { method: "PUT", ...broken }),
        400,
        "Invalid request method",
      )
      assertRefusedV1(yield* call("send_msg/", broken), 400, "Invalid JSON format")
    }),
  )

  it.effect("looks up a named number before credits", () =>
    Effect.gen(function* () {
      const { credentials, workspace } = yield* aClient(noPlan)
      yield* aNumber(workspace)
      const fields = { ...credentials, ...aText }
      assertRefusedV1(yield* request("send_msg/", fields), 400, "Invalid whatsapp client id.")
    }),
  )

  it.effect("treats a deleted key of a disabled account as invalid", () =>
    Effect.gen(function* () {
      const { credentials, key, workspace } = yield* aClient()
      yield* change(workspace, { account_disabled: true })
      yield* operate({
        method: "DELETE",
        path: `/admin/v1/workspaces/${workspace.id}/keys/${key.id}`,
      })
      assertRefusedV1(yield* request("me/", credentials), 400, "Auth Error: invalid api key")
    }),
  )
})
