/** Version 1's refusals and version 2's codes for them, as docs/migration.md maps them. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aKey, aNumber, expectBody, change, operate, remove, revoke } from "../Records.ts"
import type { Created, MessageBody } from "../Records.ts"
import { get, post } from "../v2/Asking.ts"
import { aClient, aLonelyClient, aText, request, assertRefusedV1, both } from "./Asking.ts"
import type { Credentials, Fields } from "./Asking.ts"

const full = (credentials: Credentials) =>
  request("send_msg/multi/", {
    ...credentials,
    phones: Array.from({ length: 1000 }, () => "15550001234"),
    msg: "Hi",
  })

interface Refused {
  readonly v1: string
  readonly status?: number
  readonly v2: readonly [status: number, code: string]
  /** Breaks the requests. */
  readonly spoil?: (client: {
    readonly workspace: Created
    readonly number: Created
    readonly key: Created
    readonly keyV2: Created
    readonly credentials: Credentials
  }) => Effect.Effect<unknown, never, HttpTestClients>
  readonly asV1?: Fields
  readonly asV2?: Fields
}

/** Refusals of version 1 and the codes of version 2 for them (docs/migration.md). */
const failures: ReadonlyArray<Refused> = [
  {
    v1: "Auth Error: invalid api key",
    v2: [401, "api_key_revoked"],
    spoil: ({ key, keyV2, workspace }) =>
      Effect.andThen(
        revoke(workspace, keyV2),
        operate({ method: "DELETE", path: `/admin/v1/workspaces/${workspace.id}/keys/${key.id}` }),
      ),
  },
  {
    v1: "Auth Error: invalid api key",
    v2: [401, "api_key_revoked"],
    spoil: ({ workspace }) => remove(workspace),
  },
  {
    v1: "Invalid phone number",
    v2: [422, "invalid_phone"],
    asV1: { country_code: null, phone: "0301234567" },
    asV2: { to: { phone: "0301234567" } },
  },
  { v1: "Msg cant be null", v2: [400, "text_required"], asV1: { msg: " " }, asV2: { text: " " } },
  {
    v1: "Message length is too long",
    v2: [400, "text_too_long"],
    asV1: { msg: "x".repeat(3001) },
    asV2: { text: "x".repeat(3001) },
  },
  {
    v1: "Invalid whatsapp client",
    v2: [422, "number_not_found"],
    asV1: { whatsapp_client: 999_999_999 },
    asV2: { from: 999_999_999 },
  },
  {
    v1: "Invalid whatsapp client id.",
    v2: [422, "from_required"],
    spoil: ({ workspace }) => aNumber(workspace),
  },
  {
    v1: "Not enough credits",
    v2: [402, "no_credits"],
    spoil: ({ workspace }) => change(workspace, { plan: null }),
  },
  {
    v1: "Daily limit reached",
    status: 429,
    v2: [429, "number_daily_cap_reached"],
    spoil: ({ credentials }) => full(credentials),
  },
  {
    v1: "Demo Account can not access apis",
    v2: [403, "demo_account"],
    spoil: ({ workspace }) => change(workspace, { demo: true }),
  },
  {
    v1: "Account Disabled",
    v2: [403, "account_disabled"],
    spoil: ({ workspace }) => change(workspace, { account_disabled: true }),
  },
]

layer(layerService())("what one version refuses", (it) => {
  for (const { asV1 = {}, asV2 = {}, spoil, status = 400, v1, v2 } of failures) {
    it.effect(`the other refuses: \`${v1}\` is ${v2.join(" ")}`, () =>
      Effect.gen(function* () {
        const client = yield* aClient()
        const keyV2 = yield* aKey(client.workspace)
        if (spoil !== undefined) yield* spoil({ ...client, keyV2 })
        const first = yield* request("send_msg/", { ...client.credentials, ...aText, ...asV1 })
        assert.strictEqual(first.status, status, first.text)
        assert.deepInclude(first.body, { status: 0, message: v1 })
        const second = yield* post(keyV2.key, {
          to: { phone: "+15550001234" },
          text: "Hello",
          ...asV2,
        })
        assert.deepStrictEqual([second.status, errorBody(second).code], [...v2])
      }),
    )
  }

  it.effect("the other refuses: `Invalid Contact Number` is 422 invalid_phone", () =>
    Effect.gen(function* () {
      const { credentials, token } = yield* both()
      const wrong = { ...credentials, phones: "nothing", msg: "Hi" }
      assertRefusedV1(yield* request("send_msg/multi/", wrong), 400, "Invalid Contact Number")
      const batch = yield* post(
        token,
        { to: [{ phone: "nothing" }], text: "Hi" },
        "/api/v2/messages/batch",
      )
      assert.deepStrictEqual([batch.status, errorBody(batch).code], [422, "invalid_phone"])
    }),
  )

  it.effect("the other refuses: `Auth Error: invalid api key` is 401 invalid_api_key", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aLonelyClient()
      assertRefusedV1(
        yield* request("me/", { ...credentials, api_key: "mistyped" }),
        400,
        "Auth Error: invalid api key",
      )
      const answer = yield* get("mistyped", "/api/v2/me")
      assert.deepStrictEqual([answer.status, errorBody(answer).code], [401, "invalid_api_key"])
    }),
  )

  it.effect("the other refuses: `Invalid JSON format` is 400 invalid_json", () =>
    Effect.gen(function* () {
      const { token } = yield* both()
      const { socket } = yield* HttpTestClients
      const broken = {
        method: "POST",
        token,
        headers: [["content-type", "application/json"]] as const,
        body: "{",
      }
      assertRefusedV1(
        yield* socket.call({ ...broken, path: "/api/v1/send_msg/" }),
        400,
        "Invalid JSON format",
      )
      const answer = yield* socket.call({ ...broken, path: "/api/v2/messages" })
      assert.deepStrictEqual([answer.status, errorBody(answer).code], [400, "invalid_json"])
    }),
  )

  it.effect("version 1 stores a send over the daily limit, version 2 does not", () =>
    Effect.gen(function* () {
      const { credentials, token } = yield* both()
      yield* full(credentials)
      yield* post(token, { to: { phone: "+15550001234" }, text: "Two" })
      yield* request("send_msg/", { ...credentials, ...aText, msg: "One" })
      const failed = yield* get(token, "/api/v2/messages?status=failed")
      const { data } = expectBody<{ data: ReadonlyArray<MessageBody> }>(failed, 200)
      assert.deepStrictEqual(
        data.map(({ text }) => text),
        ["One"],
      )
    }),
  )
})
