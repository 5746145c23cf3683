/**
 * The core refuses a command as HTTP refuses its body: with the same code at the same field. So a
 * program that embeds the core meets the rules that clients meet.
 */
import { assert, layer } from "@effect/vitest"
import {
  Caller,
  Connections,
  Contacts,
  Keys,
  MediaDirectory,
  Messages,
  NumberChecks,
  Numbers,
  Reminders,
  WebhookOperations,
  Webhooks,
  Workspaces,
} from "@messaging-service/core"
import type {
  NumberCheckId,
  NumberId,
  Refusal,
  ReminderId,
  StoreUnavailable,
  WebhookId,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { camelizeKeys, toRequestField } from "../../src/JsonNames.ts"
import type { JsonValue } from "../../src/StrictJson.ts"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import type { ErrorBody } from "../HttpTestClients.ts"
import { layerService, operatorToken } from "../Service.ts"
import { aSender } from "../Records.ts"

const to = { phone: "+15550001234" }
const media = { url: "https://example.com/a.png", type: "image", fileName: "a.png" }
const times = { sendAt: "2030-01-31T09:00:00Z", expiresAt: "2030-02-28T09:00:00Z" }
const schedule = { cron: "0 9 * * *", timezone: "Europe/Berlin" }
const reminder = { name: "Rent", to, text: "Hello", media, schedule, active: true }

const plan = {
  name: "Small",
  messagesRemaining: 5,
  reminders: true,
  qrCodeApi: true,
  maxNumbers: null,
  mediaStorageBytes: 0,
}
const workspace = { name: "Example", demo: false, apiV2Enabled: true, plan }

type Services =
  | Connections
  | Contacts
  | Keys
  | MediaDirectory
  | Messages
  | NumberChecks
  | Numbers
  | Reminders
  | WebhookOperations
  | Webhooks
  | Workspaces

interface Asker {
  readonly caller: Caller
  readonly token: string
  readonly endpoint: WebhookId
  readonly number: NumberId
}

interface CommandRoute {
  readonly what: string
  readonly method?: string
  readonly path: (asker: Asker) => string
  /** A valid command; each case breaks a part. */
  readonly command: object
  readonly request: (
    asker: Asker,
    command: never,
  ) => Effect.Effect<unknown, Refusal | StoreUnavailable, Services>
}

const commandRoutes: ReadonlyArray<CommandRoute> = [
  {
    what: "a message",
    path: () => "/api/v2/messages",
    command: { to, text: "Hello", media, from: null, ...times },
    request: ({ caller }, command) => Messages.use((all) => all.send(caller, command, null)),
  },
  {
    what: "a batch",
    path: () => "/api/v2/messages/batch",
    command: { to: [to, { group: "Team" }], text: "Hello", media, ...times },
    request: ({ caller }, command) => Messages.use((all) => all.sendBatch(caller, command, null)),
  },
  {
    what: "a reminder",
    path: () => "/api/v2/reminders",
    command: { ...reminder, from: null },
    request: ({ caller }, command) => Reminders.use((all) => all.create(caller, command, null)),
  },
  {
    what: "a change of a reminder",
    method: "PATCH",
    path: () => "/api/v2/reminders/1",
    command: { ...reminder, from: null },
    request: ({ caller }, command) =>
      Reminders.use((all) => all.update(caller, 1 as ReminderId, command)),
  },
  {
    what: "a number check",
    path: () => "/api/v2/number-checks",
    command: { phones: [to.phone, to.phone], name: "Guests", from: null },
    request: ({ caller }, command) => NumberChecks.use((all) => all.create(caller, command, null)),
  },
  {
    what: "a webhook endpoint",
    path: () => "/api/v2/webhooks",
    command: { url: "https://example.com/", events: ["message.sent"], description: "Orders" },
    request: ({ caller }, command) => Webhooks.use((all) => all.create(caller, command, null)),
  },
  {
    what: "an event to deliver again",
    path: ({ caller, endpoint }) =>
      `/admin/v1/workspaces/${caller.workspaceId}/webhooks/${endpoint}/redeliver`,
    command: { eventId: "evt_0123456789abcdefghijABCD" },
    request: ({ caller, endpoint }, command) =>
      WebhookOperations.use((all) => all.redeliver("owner", caller.workspaceId, endpoint, command)),
  },
  {
    what: "a number to connect",
    path: () => "/api/v2/numbers",
    command: { loginMethod: "phone_code", phone: "+15550001234", numberId: 999 },
    request: ({ caller }, command) => Connections.use((all) => all.connect(caller, command, null)),
  },
  {
    what: "a workspace",
    path: () => "/admin/v1/workspaces",
    command: workspace,
    request: (_, command) => Workspaces.use((all) => all.create("owner", command)),
  },
  {
    what: "a change of a workspace",
    method: "PATCH",
    path: ({ caller }) => `/admin/v1/workspaces/${caller.workspaceId}`,
    command: { ...workspace, accountDisabled: false },
    request: ({ caller }, command) =>
      Workspaces.use((all) => all.update("owner", caller.workspaceId, command)),
  },
  {
    what: "a key",
    path: ({ caller }) => `/admin/v1/workspaces/${caller.workspaceId}/keys`,
    command: {
      version: 2,
      name: "Key",
      mode: "test",
      scopes: ["media", "numbers"],
      numberIds: [999],
      expiresIn: "30d",
    },
    request: ({ caller }, command) =>
      Keys.use((all) => all.create("owner", caller.workspaceId, command)),
  },
  {
    what: "a number",
    path: ({ caller }) => `/admin/v1/workspaces/${caller.workspaceId}/numbers`,
    command: { platform: "telegram", phone: "+15550001234", label: "", status: "disconnected" },
    request: ({ caller }, command) =>
      Numbers.use((all) => all.create("owner", caller.workspaceId, command)),
  },
  {
    what: "a change of a number",
    method: "PATCH",
    path: ({ caller, number }) => `/admin/v1/workspaces/${caller.workspaceId}/numbers/${number}`,
    command: { label: "Front desk" },
    request: ({ caller, number }, command) =>
      Numbers.use((all) => all.update("owner", caller.workspaceId, number, command)),
  },
  {
    what: "a contact",
    path: ({ caller }) => `/admin/v1/workspaces/${caller.workspaceId}/contacts`,
    command: { name: "Ada", phone: "+15550001234" },
    request: ({ caller }, command) =>
      Contacts.use((all) => all.create("owner", caller.workspaceId, command)),
  },
]

const many = (value: unknown) => Array.from({ length: 1001 }, () => value)

/** Values that JSON can hold. */
const scalars = [null, true, 0, -1, 7.5, 2 ** 60, "", " \u3000", "x", "x".repeat(4000)]
const values = [...scalars, [], {}, [null], many(to), many("x"), { phone: "1", group: "x" }]

/** Values that it cannot. */
const numbers = [Number.NaN, Number.POSITIVE_INFINITY, 7n]
const objects = [new Date(Number.NaN), new Map(), Array(2), Symbol("x"), () => "x"]
const strange = [...numbers, ...objects, "a\0b", "a\ud800b", "\udc00"]

/** The value with another one at each path, with the path. */
const spoilt = (
  whole: unknown,
  others: ReadonlyArray<unknown>,
): ReadonlyArray<readonly [place: string, unknown]> => {
  if (typeof whole !== "object" || whole === null) return []
  const copied = (name: string, value: unknown) =>
    Array.isArray(whole) ? whole.with(Number(name), value) : { ...whole, [name]: value }
  return Object.entries(whole).flatMap(([name, inner]) => [
    ...others.map((other) => [name, copied(name, other)] as const),
    ...spoilt(inner, others).map(
      ([place, value]) => [`${name}.${place}`, copied(name, value)] as const,
    ),
  ])
}

const without = (whole: object) =>
  Object.keys(whole).map((name) =>
    Object.fromEntries(Object.entries(whole).filter(([other]) => other !== name)),
  )

/** Between two requests, so that no rate limit is reached. */
const aMoment = TestClock.adjust("1 second")

const anAsker = Effect.gen(function* () {
  const { token, workspace } = yield* aSender()
  const found = yield* Workspaces.use((all) => all.get(workspace.id as WorkspaceId))
  const caller = Caller.trusted(found)
  const { answer } = yield* Webhooks.use((all) =>
    all.create(caller, { url: "https://example.com/" }, null),
  )
  const [number] = yield* Numbers.use((all) => all.list("owner", found.id))
  return { caller, token, endpoint: answer.id, number: number?.id ?? (0 as NumberId) }
})

/** The content of every refusal; an answer omits the codes of further problems. */
const getProblems = ({
  code,
  errors = [],
  field,
  message,
}: Pick<ErrorBody, "code" | "errors" | "field" | "message">) => [
  [code, field, message],
  ...errors.map((each) => [each.field, each.message]),
]

/** The same of the core: the answer spells its names as JSON does. */
const toldByCore = ({ code, errors, field, message }: Refusal) => {
  const written = (name: string | null) => name && toRequestField(name)
  return [
    [code, written(field), message],
    ...errors.map((each) => [written(each.field), each.message]),
  ]
}

layer(layerService())("a command is refused as its body is", (it) => {
  it.effect.each(commandRoutes)("$what", ({ request, command, method = "POST", path }) =>
    Effect.gen(function* () {
      const { web } = yield* HttpTestClients
      const asker = yield* anAsker
      const at = path(asker)
      const cases = [
        ...spoilt(command, values).map(([, each]) => each),
        ...without(command),
        ...values,
        { ...command, colour: "red" },
      ]
      let refused = 0
      for (const value of cases) {
        const answered = yield* Effect.exit(Effect.flip(request(asker, value as never)))
        // Some are valid; these have nothing to compare.
        if (answered._tag === "Failure") continue
        refused++
        yield* aMoment
        const answer = yield* web.call({
          method,
          path: at,
          token: at.startsWith("/admin") ? operatorToken : asker.token,
          json: camelizeKeys(value as JsonValue),
        })
        const refusal = answered.value as Refusal
        assert.deepStrictEqual(toldByCore(refusal), getProblems(errorBody(answer)), answer.text)
      }
      assert.isAbove(refused, cases.length / 2)
    }),
  )

  it.effect.each(commandRoutes)(
    "$what, with values that no body could hold",
    ({ request, command }) =>
      Effect.gen(function* () {
        const asker = yield* anAsker
        for (const [place, value] of spoilt(command, strange)) {
          const { code, field } = (yield* Effect.flip(request(asker, value as never))) as Refusal
          const top = place.split(".")[0] ?? ""
          assert.isTrue(field?.startsWith(top), `${place} is reported for ${field} as ${code}`)
          assert.notInclude(["internal_error", "message_rejected"], code)
        }
      }),
  )
})

interface List {
  readonly path: (asker: Asker) => string
  readonly request: (
    asker: Asker,
    query: never,
  ) => Effect.Effect<unknown, Refusal | StoreUnavailable, Services>
  /** Of its own filters. */
  readonly wrong?: ReadonlyArray<object>
}

const lists: ReadonlyArray<List> = [
  {
    path: () => "/api/v2/messages",
    request: ({ caller }, query) => Messages.use((all) => all.list(caller, query)),
    wrong: [{ status: ["sent", "x"] }, { status: [] }, { from: 0 }, { from: 1.5 }, { to: "12" }],
  },
  {
    path: () => "/api/v2/reminders",
    request: ({ caller }, query) => Reminders.use((all) => all.list(caller, query)),
    wrong: [{ active: 1 }, { active: "" }, { active: [true, true] }],
  },
  {
    path: () => "/api/v2/number-checks",
    request: ({ caller }, query) => NumberChecks.use((all) => all.list(caller, query)),
  },
  {
    path: () => "/api/v2/number-checks/1/results",
    request: ({ caller }, query) =>
      NumberChecks.use((all) => all.results(caller, 1 as NumberCheckId, query)),
    wrong: [{ status: "sent" }, { status: ["failed", ""] }],
  },
  {
    path: ({ caller, endpoint }) =>
      `/admin/v1/workspaces/${caller.workspaceId}/webhooks/${endpoint}/deliveries`,
    request: ({ caller, endpoint }, query) =>
      WebhookOperations.use((all) => all.deliveries("owner", caller.workspaceId, endpoint, query)),
  },
  {
    path: ({ caller }) => `/admin/v1/workspaces/${caller.workspaceId}/callbacks/deliveries`,
    request: ({ caller }, query) =>
      WebhookOperations.use((all) => all.callbackDeliveries("owner", caller.workspaceId, query)),
  },
  {
    path: ({ caller }) => `/admin/v1/workspaces/${caller.workspaceId}/reminders/1/runs`,
    request: ({ caller }, query) =>
      Reminders.use((all) => all.runs("owner", caller.workspaceId, 1 as ReminderId, query)),
  },
  {
    path: () => "/api/v2/media",
    request: ({ caller }, query) => MediaDirectory.use((all) => all.list(caller, query)),
    wrong: [{ type: "video" }, { type: "" }, { type: ["image", "file"] }],
  },
  {
    path: () => "/admin/v1/workspaces",
    request: (_, query) => Workspaces.use((all) => all.list(query)),
  },
  {
    path: ({ caller }) => `/admin/v1/workspaces/${caller.workspaceId}/contacts`,
    request: ({ caller }, query) =>
      Contacts.use((all) => all.list("owner", caller.workspaceId, query)),
  },
]

const wrongOfAll: ReadonlyArray<object> = [
  ...[0, -1, 101, 1.5, 1e21, "", "x"].map((limit) => ({ limit })),
  { colour: "red" },
  { limit: 0, colour: "red" },
]

layer(layerService())("values are refused as a query with their text is", (it) => {
  for (const { request, path, wrong = [] } of lists) {
    it.effect(path({ caller: { workspaceId: 0 }, endpoint: 0 } as never), () =>
      Effect.gen(function* () {
        const { web } = yield* HttpTestClients
        const asker = yield* anAsker
        const at = path(asker)
        for (const query of [...wrongOfAll, ...wrong]) {
          const refusal = (yield* Effect.flip(request(asker, query as never))) as Refusal
          const text = new URLSearchParams(
            Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
          )
          const token = at.startsWith("/admin") ? operatorToken : asker.token
          const answer = yield* web.call({ path: `${at}?${text}`, token })
          const named = ({ field, message }: Pick<Refusal, "field" | "message">) => ({
            field,
            message: `${field}: ${message}`,
          })
          const { code, errors } = refusal
          const expected = { code, ...named(refusal), errors: errors.map(named) }
          assert.deepStrictEqual(getProblems(expected), getProblems(errorBody(answer)), `${text}`)
        }
      }),
    )
  }
})
