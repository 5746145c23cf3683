/** Real answers of the running service, validated against its own document; refusals are in `refusals`. */
import { assert, describe, layer } from "@effect/vitest"
import { layerLogin, layerStoredClock } from "@messaging-service/emulator"
import { Effect, Layer } from "effect"
import type { Call } from "../HttpTestClients.ts"
import { operatorToken } from "../Service.ts"
import { expectBody } from "../Records.ts"
import type { Created } from "../Records.ts"
import { aPart, form, multipart } from "../v2/Uploading.ts"
import { layerWithWayOut } from "../webhooks/Asking.ts"
import { aReceiver, bodyOfDelivery } from "../webhooks/Receiver.ts"
import { checker, listOperations, undocumented } from "./Document.ts"
import { chatTour } from "./chatTour.ts"
import { workspaceTour } from "./workspaceTour.ts"
import { aTour, admin, simulator, v2, phone } from "./Tour.ts"

interface Listed {
  readonly data: ReadonlyArray<Created>
  readonly next_cursor?: string | null
}

const upload = (token: string): Call => ({
  method: "POST",
  path: `${v2}/media`,
  token,
  body: form([aPart()]),
  headers: [multipart, ["idempotency-key", "one upload"]],
})

const ports = Layer.merge(layerStoredClock(), layerLogin)

describe("the document and the service", () => {
  // Streams end at once.
  layer(layerWithWayOut({ ports, settings: { stopping: Effect.void } }))(
    "with a clock that can be moved",
    (it) => {
      it.effect(
        "agree about the success of every operation",
        () =>
          Effect.gen(function* () {
            const tour = yield* aTour
            const { document, request, as, seen } = tour
            const operator = as(operatorToken)

            // Workspaces, keys, numbers, contacts
            const workspace = yield* request(operator("POST", admin, { name: "Example" }), 201)
            const at = `${admin}/${workspace.id}`
            yield* request(operator("GET", `${admin}?limit=1`), 200)
            yield* request(operator("GET", at), 200)
            yield* request(operator("PATCH", at, { name: "Another", plan: null }), 200)
            yield* request(operator("PUT", `${at}/conversations`, { groups: true }), 200)
            yield* request(operator("GET", `${at}/conversations`), 200)
            const plan = {
              name: "Small",
              messages_remaining: 100,
              reminders: true,
              qr_code_api: true,
              max_numbers: 5,
              media_storage_bytes: 1_000_000,
            }
            yield* request(operator("PATCH", at, { plan }), 200)
            const number = yield* request(
              operator("POST", `${at}/numbers`, { platform: "whatsapp", phone: "+15550009001" }),
              201,
            )
            yield* request(
              operator("POST", `${at}/numbers`, { platform: "telegram", phone: "+15550009002" }),
              201,
            )
            const spare = yield* request(
              operator("POST", `${at}/numbers`, {
                platform: "whatsapp",
                phone: "+15550009003",
                status: "disconnected",
              }),
              201,
            )
            yield* request(operator("GET", `${at}/numbers`), 200)
            yield* request(operator("PATCH", `${at}/numbers/${spare.id}`, { label: "Spare" }), 200)
            yield* request(operator("DELETE", `${at}/numbers/${spare.id}`), 200)
            const contact = yield* request(
              operator("POST", `${at}/contacts`, { name: "Ada", phone }),
              201,
            )
            const friend = yield* request(
              operator("POST", `${at}/contacts`, { name: "Grace", username: "@grace" }),
              201,
            )
            yield* request(operator("GET", `${at}/contacts`), 200)
            const aKey = { version: 2, name: "Key" }
            const key = yield* request<Created & { readonly key: string }>(
              operator("POST", `${at}/keys`, { ...aKey, expires_in: "90d" }),
              201,
            )
            const old = yield* request(operator("POST", `${at}/keys`, { version: 1 }), 201)
            const narrow = yield* request<Created & { readonly key: string }>(
              operator("POST", `${at}/keys`, { ...aKey, number_ids: [number.id] }),
              201,
            )
            const reader = yield* request<Created & { readonly key: string }>(
              operator("POST", `${at}/keys`, { ...aKey, scopes: ["messages:read"] }),
              201,
            )
            yield* request(operator("GET", `${at}/callbacks/deliveries`), 200)
            yield* request(operator("GET", `${at}/callback-secret`), 200)
            yield* request(operator("POST", `${at}/callback-secret/rotate`), 200)
            yield* request(operator("GET", `${at}/keys`), 200)
            yield* request(operator("DELETE", `${at}/keys/${old.id}`), 200)
            const customer = as(key.key)
            yield* request(customer("GET", `${v2}/me`), 200)
            yield* request(as(narrow.key)("GET", `${v2}/me`), 200)

            yield* chatTour(tour, at, number.id)

            // Media
            yield* request(upload(key.key), 201)
            const file = yield* request<Created & { readonly url: string }>(upload(key.key), 201)
            yield* request(customer("GET", `${v2}/media?type=image`), 200)
            yield* request(customer("GET", `${v2}/media/${file.id}`), 200)
            const link = new URL(file.url).pathname
            yield* request({ path: link }, 200)
            yield* request({ path: link, headers: [["range", "bytes=0-3"]] }, 206)
            yield* request({ path: link, headers: [["range", "bytes=999999-"]] }, 416)
            yield* request({ path: "/media/no-token/x.png" }, 404)

            // Webhooks
            const receiver = yield* aReceiver
            const url = receiver.url
            const repeated = { headers: [["idempotency-key", "one endpoint"]] } as const
            const endpoint = yield* request(
              customer("POST", `${v2}/webhooks`, { url }, repeated),
              201,
            )
            yield* request(customer("POST", `${v2}/webhooks`, { url }, repeated), 201)
            yield* request(customer("POST", `${v2}/webhooks/${endpoint.id}/test`), 202)
            yield* request(customer("POST", `${v2}/webhooks/${endpoint.id}/rotate-secret`), 200)

            // Messages
            const messages = `${v2}/messages`
            const text = "Hello"
            const sent = yield* request(customer("POST", messages, { to: { phone }, text }), 202)
            const later = yield* request(
              customer("POST", messages, {
                to: { group: "Team" },
                media: { media_id: file.id },
                send_at: "2099-01-31T09:00:00+02:00",
                expires_at: "2099-02-01T09:00:00.5Z",
              }),
              202,
            )
            yield* request(
              customer("POST", messages, { to: { contact_id: contact.id }, text }),
              202,
            )
            yield* request(customer("POST", messages, { to: { contact_id: friend.id }, text }), 202)
            yield* request(customer("POST", messages, { to: { username: "@grace" }, text }), 202)
            yield* request(
              customer("POST", messages, { to: { group: "No such group" }, text }),
              202,
            )
            yield* request(
              customer("POST", messages, {
                to: { phone },
                media: { url, type: "file", file_name: "menu.pdf" },
                // It is shown, and not fetched before the test ends.
                send_at: "2099-01-31T09:00:00Z",
              }),
              202,
            )
            yield* request(
              customer("POST", `${messages}/batch`, { to: [{ phone }, { group: "Team" }], text }),
              202,
            )
            yield* request(operator("POST", `${simulator}/settle`), 200)
            const page = yield* request<Listed>(customer("GET", `${messages}?limit=2`), 200)
            yield* request(customer("GET", `${messages}?limit=2&cursor=${page.next_cursor}`), 200)
            yield* request(customer("GET", messages), 200)
            yield* request(customer("GET", `${messages}/${sent.id}`), 200)
            yield* request(customer("DELETE", `${messages}/${later.id}`), 200)

            // Deliveries, as received
            yield* request(operator("POST", `${simulator}/settle`), 200)
            const check = checker(document)
            const arrived = receiver.deliveries.map(bodyOfDelivery)
            assert.includeMembers(
              arrived.map(({ type }) => type),
              ["ping", "message.sent", "message.failed", "message.cancelled"],
            )
            for (const event of arrived) {
              const content = ["requestBody", "content", "application/json", "schema"]
              assert.isUndefined(check("webhooks", event.type, "post", ...content)(event))
            }
            for (const { headers } of receiver.deliveries) {
              const { parameters } = document.webhooks["ping"]?.post ?? { parameters: [] }
              for (const { name } of parameters)
                assert.property(headers, String(name).toLowerCase())
            }
            const deliveries = `${at}/webhooks/${endpoint.id}`
            yield* request(operator("GET", `${at}/webhooks`), 200)
            const log = yield* request<{
              readonly data: ReadonlyArray<{ readonly event_id: string }>
            }>(operator("GET", `${deliveries}/deliveries?limit=3`), 200)
            yield* request(
              operator("POST", `${deliveries}/redeliver`, { event_id: log.data[0]?.event_id }),
              202,
            )
            yield* request(operator("POST", `${deliveries}/resume`), 200)
            yield* request(customer("GET", `${v2}/webhooks`), 200)
            yield* request(customer("GET", `${v2}/webhooks/${endpoint.id}`), 200)
            yield* request(customer("DELETE", `${v2}/webhooks/${endpoint.id}`), 200)

            // Reminders
            const reminders = `${v2}/reminders`
            const schedule = { cron: "*/5 * * * *", timezone: "Europe/Berlin" }
            const reminder = yield* request(
              customer("POST", reminders, { name: "Stand-up", to: { phone }, text, schedule }),
              201,
            )
            yield* request(operator("POST", `${simulator}/clock/advance`, { seconds: 600 }), 200)
            yield* request(operator("GET", `${simulator}/clock`), 200)
            yield* request(operator("GET", `${at}/reminders/${reminder.id}/runs`), 200)
            yield* request(customer("GET", `${reminders}?active=true`), 200)
            yield* request(customer("GET", `${reminders}/${reminder.id}`), 200)
            yield* request(customer("PATCH", `${reminders}/${reminder.id}`, { active: false }), 200)
            yield* request(customer("DELETE", `${reminders}/${reminder.id}`), 200)

            // Number checks
            const checks = `${v2}/number-checks`
            const requested = yield* request(
              customer("POST", checks, { phones: [phone, "+15550000000"] }),
              202,
            )
            yield* request(operator("POST", `${simulator}/settle`), 200)
            yield* request(customer("GET", checks), 200)
            yield* request(customer("GET", `${checks}/${requested.id}`), 200)
            yield* request(
              customer("GET", `${checks}/${requested.id}/results?status=registered,failed`),
              200,
            )

            yield* workspaceTour(tour, at, url, number.id)

            // Connecting a number
            const numbers = `${v2}/numbers`
            const connecting = yield* request(
              customer("POST", numbers, { login_method: "qr" }),
              202,
            )
            yield* request(operator("POST", `${simulator}/settle`), 200)
            const shown = yield* request<{
              readonly connect: { readonly qr_code_url: string | null }
            }>(customer("GET", `${numbers}/${connecting.id}`), 200)
            const picture = new URL(shown.connect.qr_code_url ?? "http://none.test/qr/none")
              .pathname
            yield* request({ path: picture }, 200)
            yield* request({ path: "/qr/no-token.png" }, 404)
            yield* request(operator("POST", `${simulator}/numbers/${connecting.id}/scan`, {}), 200)
            yield* request(operator("POST", `${simulator}/numbers/${connecting.id}/logout`), 200)
            yield* request(customer("GET", numbers), 200)

            const own = `${at}/numbers/${number.id}`
            yield* request(operator("GET", own), 200)
            yield* request(operator("GET", `${at}/connections`), 200)
            yield* request(operator("GET", `${own}/connection`), 200)
            yield* request(operator("POST", `${own}/pause`, { until: "2999-01-31T09:00:00Z" }), 200)
            yield* request(operator("POST", `${own}/pause`), 200)
            yield* request(operator("POST", `${own}/resume`), 200)
            const paced = { pacing: { per_minute: 5 }, proxy_url: "http://a:b@192.0.2.1" }
            yield* request(operator("PATCH", own, paced), 200)
            yield* request(operator("POST", `${own}/check-proxy`), 200)

            // Telegram logins
            const account = yield* request(
              operator("POST", `${at}/numbers`, {
                platform: "telegram",
                phone: "+15550100777",
                status: "disconnected",
              }),
              201,
            )
            const login = `${at}/numbers/${account.id}/telegram-login`
            yield* request(operator("POST", login, { method: "qr" }), 202)
            yield* request(operator("GET", login), 200)
            yield* request(operator("DELETE", login), 200)
            yield* request(operator("POST", login, { method: "code" }), 400)
            yield* request(operator("POST", `${own}/telegram-login`, { method: "qr" }), 400)
            yield* request(operator("POST", login, { method: "code", phone: "+15550009003" }), 202)
            yield* request(operator("POST", `${login}/code`, { code: "22222" }), 200)
            yield* request(operator("POST", `${login}/password`, { password: "password" }), 200)

            // The emulator
            yield* request(
              operator("PUT", `${simulator}/numbers/${number.id}/behaviour`, { send: "fail" }),
              200,
            )
            yield* request(operator("PUT", `${simulator}/registered`, { phones: [phone] }), 200)
            yield* request(operator("PUT", `${simulator}/registered`, { phones: null }), 200)
            yield* request(operator("GET", `${simulator}/registered`), 200)
            yield* request(operator("GET", `${simulator}/numbers/${number.id}/behaviour`), 200)
            yield* request(
              operator("GET", `${simulator}/sent?workspace_id=1&to=%2B15550001234`),
              200,
            )
            yield* request(
              operator("POST", `${simulator}/messages/${sent.id}/ticks`, { status: "read" }),
              200,
            )
            yield* request(operator("GET", `${simulator}/sent?number_id=${number.id}`), 200)
            const shop = `${simulator}/workspaces/${workspace.id}/receivers`
            yield* request(operator("PUT", `${shop}/shop`, { status: 410, hangs: false }), 200)
            yield* request(operator("PUT", `${shop}/Shop`, {}), 400)
            yield* request(operator("GET", shop), 200)
            yield* request(operator("GET", `${shop}/shop/calls`), 200)
            yield* request(operator("DELETE", `${shop}/shop/calls`), 200)

            yield* request(operator("POST", `${own}/logout`), 200)

            // A message of a workspace, and a store that went back in time
            const kept = {
              to: { phone },
              from: number.id,
              text: "Hello",
              send_at: "2999-01-31T09:00:00Z",
            }
            const waiting = yield* request(customer("POST", `${v2}/messages`, kept), 202)
            yield* request(operator("DELETE", `${at}/messages/${waiting.id}`), 200)
            const held = yield* request(customer("POST", `${v2}/messages`, kept), 202)
            yield* request(customer("POST", `${v2}/messages`, kept), 202)
            const marked = yield* request(customer("POST", `${v2}/messages`, kept), 202)
            const store = "/admin/v1/store/restored"
            yield* request(operator("POST", store, { above: 5000 }), 200)
            yield* request(operator("GET", "/admin/v1/figures"), 200)
            yield* request(operator("GET", `${at}/figures?range=7d&mode=test`), 200)
            yield* request(operator("GET", "/admin/v1/held"), 200)
            yield* request(operator("GET", `${at}/held?limit=1`), 200)
            yield* request(operator("POST", `${at}/held/release`, { ids: [held.id] }), 200)
            yield* request(operator("POST", `${at}/held/mark-sent`, { ids: [marked.id] }), 200)
            yield* request(
              operator("POST", `${at}/held/mark-sent`, { filter: {}, sent_at: "now" }),
              400,
            )
            yield* request(operator("POST", `${at}/held/cancel`, {}), 400)
            yield* request(operator("POST", `${at}/held/cancel`, { filter: { since: "now" } }), 400)
            const future = { filter: { since: "2999-01-01T00:00:00Z" } }
            yield* request(operator("POST", `${at}/held/cancel`, future), 400)
            yield* request(operator("POST", `${at}/held/cancel`, { filter: {} }), 200)
            yield* request(customer("POST", `${v2}/messages`, kept), 202)

            // Browser sessions
            const session = "/admin/v1/session"
            yield* request({ method: "POST", path: session, json: { token: operatorToken } }, 200)
            yield* request({ path: session }, 200)
            yield* request(operator("POST", "/admin/v1/sign-in-links"), 201)
            yield* request({ method: "DELETE", path: session }, 200)

            // News
            yield* request(operator("GET", `/admin/v1/events?workspace_id=${workspace.id}`), 200)

            // Campaigns
            const campaigns = `${at}/campaigns`
            const draft = {
              name: "Spring",
              text: "Hello {name|you}",
              send_at: "2999-01-31T09:00:00Z",
            }
            const campaign = yield* request(operator("POST", campaigns, draft), 201)
            const drafted = `${campaigns}/${campaign.id}`
            const rows = { rows: [{ to: { phone } }, { to: { phone: "1" } }] }
            yield* request(operator("POST", `${drafted}/rows`, rows), 201)
            yield* request(operator("DELETE", `${drafted}/rows`), 200)
            yield* request(operator("POST", `${drafted}/rows`, rows), 201)
            yield* request(operator("GET", campaigns), 200)
            yield* request(operator("GET", drafted), 200)
            yield* request(operator("PATCH", drafted, { name: "Summer" }), 200)
            yield* request(operator("GET", `${drafted}/rows?status=refused`), 200)
            yield* request(operator("GET", `${drafted}/rows/1`), 200)
            yield* request(operator("GET", `${drafted}/results.csv`), 200)
            yield* request(operator("GET", `${drafted}/forecast`), 200)
            yield* request(operator("POST", `${drafted}/start`), 200)
            yield* request(operator("POST", `${drafted}/pause`), 200)
            yield* request(operator("POST", `${drafted}/resume`), 200)
            yield* request(operator("POST", `${drafted}/stop`), 200)
            yield* request(operator("DELETE", drafted), 200)

            // The end, and what needs no key
            yield* request(customer("DELETE", `${v2}/media/${file.id}`), 200)
            yield* request(operator("DELETE", `${at}/contacts/${contact.id}`), 200)
            yield* request(operator("DELETE", `${at}/keys/${reader.id}`), 200)
            yield* request(operator("DELETE", at), 200)
            const open = [
              "/health/live",
              "/health/ready",
              "/metrics",
              "/docs",
              "/docs/operations",
              "/docs/errors",
            ]
            for (const path of [...open, "/openapi.json"]) yield* request({ path }, 200)

            const described = listOperations(document).filter(
              ({ path }) => !path.startsWith("/api/v1/"),
            )
            const missed = described.flatMap(({ id, responses }) =>
              Object.keys(responses)
                .filter((status) => Number(status) < 300)
                .map((status) => `${id} ${status}`)
                .filter((answer) => !seen.has(answer)),
            )
            assert.deepStrictEqual(missed, [])
          }),
        // A long tour on a busy machine.
        180_000,
      )

      it.effect("agree about unknown paths and methods", () =>
        Effect.gen(function* () {
          const { document, socket } = yield* aTour
          const check = checker(document)
          const schema = ["content", "application/json", "schema"]
          const nowhere = yield* socket.call({ path: "/nowhere" })
          const notFound = check("components", "responses", "NotFound", ...schema)
          assert.isUndefined(notFound(expectBody(nowhere, 404)))
          const wrong = yield* socket.call({ method: "POST", path: "/docs" })
          const notAllowed = check("components", "responses", "MethodNotAllowed", ...schema)
          assert.isUndefined(notAllowed(expectBody(wrong, 405)))
          assert.strictEqual(wrong.headers["allow"], "GET, HEAD")
        }),
      )

      it.effect("would show a deviation: an extra field, a missing one and a wrong code", () =>
        Effect.gen(function* () {
          const { document, socket } = yield* aTour
          const findProblems = undocumented(document)
          const call = { path: "/api/v2/me" }
          const answer = yield* socket.call(call)
          const { error } = answer.body as { readonly error: Readonly<Record<string, unknown>> }
          const { docs: _, ...less } = error
          assert.deepStrictEqual(findProblems(call, answer), [])
          for (const body of [
            { error: { ...error, colour: "red" } },
            { error, colour: "red" },
            { error: less },
            { error: { ...error, code: "not_cancellable" } },
          ]) {
            assert.lengthOf(findProblems(call, { ...answer, body }), 1, JSON.stringify(body))
          }
          assert.lengthOf(findProblems(call, { ...answer, status: 418 }), 1)
          const headers = { ...answer.headers, "x-colour": "red" }
          assert.lengthOf(findProblems(call, { ...answer, headers }), 1)
        }),
      )
    },
  )
})
