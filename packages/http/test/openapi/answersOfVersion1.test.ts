/** Real answers of version 1, validated against the document, and each example of the document sent. */
import { describe, layer } from "@effect/vitest"
import { layerStoredClock } from "@messaging-service/emulator"
import { Effect } from "effect"
import type { Call } from "../HttpTestClients.ts"
import { layerService, operatorToken } from "../Service.ts"
import type { Created } from "../Records.ts"
import { aClient, sends, withFile } from "../v1/Asking.ts"
import { layerWithWayOut } from "../webhooks/Asking.ts"
import { listOperations } from "./Document.ts"
import { aTour, admin, phone } from "./Tour.ts"

describe("the document and the service", () => {
  layer(layerWithWayOut({ ports: layerStoredClock() }))("with a clock that can be moved", (it) => {
    it.effect("agree about version 1, in every kind of body", () =>
      Effect.gen(function* () {
        const { request, as } = yield* aTour
        const operator = as(operatorToken)
        const workspace = yield* request<Created & { readonly client_id: number }>(
          operator("POST", admin, { name: "Example" }),
          201,
        )
        const at = `${admin}/${workspace.id}`
        yield* request(
          operator("POST", `${at}/numbers`, { platform: "whatsapp", phone: "+15550009101" }),
          201,
        )
        const { key } = yield* request<{ readonly key: string }>(
          operator("POST", `${at}/keys`, { version: 1 }),
          201,
        )
        const credentials = { client_id: workspace.client_id, api_key: key }
        const post = (path: string, fields: Readonly<Record<string, unknown>>): Call => ({
          method: "POST",
          path: `/api/v1/${path}`,
          json: { ...credentials, ...fields },
        })
        const message = { country_code: "1", phone: "5550001234", msg: "Hello" }
        yield* request(post("me", {}), 200)
        const { msg_id } = yield* request<{ readonly msg_id: number }>(
          post("send_msg", message),
          200,
        )
        yield* request(
          {
            method: "POST",
            path: "/api/v1/send_msg",
            body: new URLSearchParams({
              client_id: String(workspace.client_id),
              api_key: key,
              ...message,
            }).toString(),
            headers: [["content-type", "application/x-www-form-urlencoded"]],
          },
          200,
        )
        yield* request(post("send_msg/group", { group_name: "Team", msg: "Hello" }), 200)
        yield* request(post("send_msg/group", { group_name: 5, msg: "Hello" }), 500)
        yield* request(post("send_msg", { ...message, msg: "" }), 400)
        yield* request(post("me", { api_key: "wrong" }), 400)
        yield* request(post("message/status", { msg_id }), 200)
        yield* request(
          {
            path: `/api/v1/message/status/${msg_id}?client_id=${workspace.client_id}&api_key=${key}`,
          },
          200,
        )
        yield* request(post("cancel_msg", { msg_id: 987_654 }), 400)
        yield* request(post("media/list", {}), 200)
        yield* request(post("reminder/list", {}), 200)
        yield* request(post("whatsapp/list", {}), 200)
      }),
    )
  })

  // Closed to the outside: requests go to the document's sample addresses.
  layer(layerService())("over real sockets", (it) => {
    it.effect("agree that each example of version 1 is a request that succeeds", () =>
      Effect.gen(function* () {
        const { request, document } = yield* aTour
        const { credentials, number } = yield* aClient()
        const make = <A>(path: string, overrides: Partial<Call>) =>
          request<A>({ method: "POST", path: `/api/v1/${path}`, ...overrides }, 200)
        const { data: file } = yield* make<{ readonly data: Created }>(
          "media/upload",
          withFile(credentials, [{}]),
        )
        const reminder = {
          ...credentials,
          reminder_name: "Rent",
          cron_expression: "0 9 * * *",
          phone,
          msg: "Hello",
        }
        const { reminder_id } = yield* make<{ readonly reminder_id: number }>("reminder/create", {
          json: reminder,
        })
        /** Replaces the sample ids, which do not exist. */
        const real = {
          ...credentials,
          whatsapp_client: number.id,
          msg_id: yield* sends(credentials, { date: "31/12/2099", time: "23:59" }, "schedule_msg"),
          media_id: file.id,
          reminder_id,
        }
        const placed = listOperations(document).filter(
          ({ method, path }) => method === "POST" && path.startsWith("/api/v1/"),
        )
        for (const { operation, path } of placed) {
          const { examples = {} } = operation.requestBody?.content["application/json"] ?? {}
          for (const { value } of Object.values(examples)) {
            const json = Object.fromEntries(
              Object.entries(value as object).map(([name, sample]) => [
                name,
                real[name as keyof typeof real] ?? sample,
              ]),
            )
            const inBody = operation.security.some((ways) => Object.keys(ways).length === 0)
            const token = inBody ? {} : { token: credentials.api_key }
            yield* request({ method: "POST", path, json, ...token }, 200)
          }
        }
      }),
    )
  })
})
