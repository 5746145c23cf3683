/**
 * The rows of the table of refusals. The status of each is the catalogue's; a row says how the refusal is
 * provoked and which field it names.
 */
import { sessionRequestsPerMinute, Store } from "@messaging-service/core"
import type { CampaignId, Code } from "@messaging-service/core"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { HttpTestClients } from "../HttpTestClients.ts"
import type { Call } from "../HttpTestClients.ts"
import type { Placed } from "../openapi/Document.ts"
import { owners, rights } from "../operator/rights.ts"
import {
  aContact,
  aKey,
  aKeyV1,
  aListener,
  aNumber,
  aPlan,
  aSender,
  aText,
  aWorkspace,
  expectBody,
  change as changeWorkspace,
  operate,
  revoke,
  settle,
} from "../Records.ts"
import type { Created } from "../Records.ts"
import { operatorToken } from "../Service.ts"
import { path as messages, post, send } from "../v2/Asking.ts"
import { aPart, form, multipart, upload } from "../v2/Uploading.ts"
import { byPart, each, toName, nothing, once, takesFile } from "./Row.ts"
import type { Change, Making, Row } from "./Row.ts"

type Rows = Readonly<Partial<Record<Code, ReadonlyArray<Row>>>>

const inWorkspace = ({ id }: Created, path: string) => `/admin/v1/workspaces/${id}/${path}`

/** A record made by an operator in a workspace. */
const create = (workspace: Created, path: string, json: object, status = 201) =>
  Effect.map(operate({ method: "POST", path: inWorkspace(workspace, path), json }), (answer) =>
    expectBody<Created>(answer, status),
  )

/** A workspace with these fields, and a key to its one number. */
const ofWorkspace = (fields: Parameters<typeof aSender>[0]) =>
  Effect.map(aSender(fields), ({ token, workspace }) => ({ token, workspace }))

const endpoint = { url: "https://shop.example.com/events" }
const schedule = { cron: "0 9 * * *", timezone: "Europe/London" }
const reminder = { ...aText, name: "Rent", schedule }

const anEndpoint = Effect.gen(function* () {
  const { token, workspace } = yield* aSender()
  const { id } = yield* create(workspace, "webhooks", endpoint)
  return { token, workspace, id }
})

/** One that is stopped: the key that made it is revoked. */
const aStopped = Effect.gen(function* () {
  const { token, workspace } = yield* aSender()
  const maker = yield* aKey(workspace)
  const created = yield* post(maker.key, endpoint, "/api/v2/webhooks")
  const { id } = expectBody<Created>(created, 201)
  yield* revoke(workspace, maker)
  return { token, workspace, ids: [id] }
})

const aReminder = Effect.gen(function* () {
  const { token, workspace } = yield* aSender()
  return { token, workspace, ids: [(yield* create(workspace, "reminders", reminder)).id] }
})

/** A Telegram account that is not logged in. */
const anAccount = Effect.gen(function* () {
  const workspace = yield* aWorkspace()
  const { id } = yield* aNumber(workspace, { platform: "telegram", status: "disconnected" })
  return { workspace, ids: [id], login: `numbers/${id}/telegram-login` }
})

const byCode = { method: "code", phone: "+15550100002" }

/** A login that waits for its code. */
const aLogin = Effect.gen(function* () {
  const { login, ...account } = yield* anAccount
  yield* create(account.workspace, login, byCode, 202)
  return { ...account, login }
})

// Conversations

/** What was written with that remote id is erased. */
const anErased = Effect.gen(function* () {
  const { number, workspace } = yield* aListener()
  const json = { from: { lid: "1" }, remote_id: "gone" }
  const path = `/admin/v1/simulator/numbers/${number.id}/received-messages`
  const { id } = expectBody<Created>(yield* operate({ method: "POST", path, json }), 201)
  const written = inWorkspace(workspace, `received-messages/${id}`)
  expectBody(yield* operate({ method: "DELETE", path: written }), 200)
  return { workspace, ids: [number.id], instead: json }
})

/** With one message, and a mark of another one. */
const aChat = Effect.gen(function* () {
  const { number, token, workspace } = yield* aListener()
  const path = `/admin/v1/simulator/numbers/${number.id}/received-messages`
  const written = yield* operate({ method: "POST", path, json: { from: { lid: "1" } } })
  const { chat, id } = expectBody<Created & { readonly chat: Created }>(written, 201)
  const instead = { up_to: id + 1 }
  return { token, workspace, ids: [chat.id], field: "up_to", instead }
})

// Campaigns

const hello = { name: "Spring", text: "Hello" }
const inHours = { ...hello, send_at: "2099-01-31T09:00:00Z" }
const aRow = { rows: [{ to: aText.to }] }

/** A draft, with a row or without. */
const aCampaign = (json: object = hello, hasRow = true) =>
  Effect.gen(function* () {
    const { number, workspace } = yield* aSender()
    const { id } = yield* create(workspace, "campaigns", json)
    if (hasRow) yield* create(workspace, `campaigns/${id}/rows`, aRow)
    return { number, workspace, ids: [id], campaign: `campaigns/${id}` }
  })

const anEmptyCampaign = aCampaign(hello, false)

/** One that has been started and is not over. */
const aStarted = Effect.gen(function* () {
  const created = yield* aCampaign(inHours)
  yield* create(created.workspace, `${created.campaign}/start`, {}, 200)
  return created
})

const aDone = Effect.gen(function* () {
  const created = yield* aCampaign()
  yield* create(created.workspace, `${created.campaign}/start`, {}, 200)
  yield* settle
  return created
})

const ofCampaigns = ["createCampaign", "updateCampaign"]

const csv = (bytes: string) => ({
  body: form([aPart({ fileName: "rows.csv", bytes })]),
  headers: [multipart],
})

const aFile = csv(`to\n${aText.to.phone}\n`)

/** A campaign with that field; `updateCampaign` is about one without rows. */
const campaignField = (field: string, json: object) =>
  each(
    (operation) =>
      Effect.map(
        toName(operation) === "updateCampaign" ? anEmptyCampaign : Effect.succeed({}),
        (about) => ({ ...about, field, json }),
      ),
    ...ofCampaigns,
  )

/** An upload in progress. */
const anUpload = Effect.gen(function* () {
  const created = yield* anEmptyCampaign
  const now = yield* Clock.currentTimeMillis
  const [id = 0] = created.ids
  yield* Effect.orDie(
    (yield* Store).campaigns.appendRows({
      id: id as CampaignId,
      revision: 1,
      after: 0,
      rows: [],
      upload: "another",
      until: now + 60_000,
      isLast: false,
      now,
      idempotency: null,
      madeIds: [],
    }),
  )
  return created
})

const campaigns: Rows = {
  campaign_not_found: [once({})],
  row_not_found: [
    once(
      Effect.map(aCampaign(), ({ ids: [id = 0], workspace }) => ({
        workspace,
        ids: [nothing, id],
      })),
    ),
  ],
  campaign_limit_reached: [
    once(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        yield* Effect.replicateEffect(create(workspace, "campaigns", hello), 100)
        return { workspace }
      }),
    ),
  ],
  campaign_not_started: [once(aCampaign())],
  campaign_started: [
    once(aStarted),
    once(
      Effect.map(aStarted, (created) => ({ ...created, ...aFile })),
      "addCampaignRows",
    ),
    each(
      () =>
        Effect.gen(function* () {
          const created = yield* aCampaign()
          yield* create(created.workspace, `${created.campaign}/start`, {}, 200)
          return { ...created, field: "send_at", json: { send_at: "2099-01-31T09:00:00Z" } }
        }),
      "updateCampaign",
    ),
    each(
      () =>
        Effect.gen(function* () {
          const created = yield* aStarted
          yield* create(created.workspace, `${created.campaign}/pause`, {}, 200)
          return created
        }),
      "startCampaign",
    ),
  ],
  campaign_has_rows: [
    once(
      Effect.map(aCampaign(), (created) => ({ ...created, field: "text", json: { text: "Bye" } })),
    ),
  ],
  campaign_ended: [once(aDone)],
  upload_in_progress: [once(Effect.map(anUpload, (created) => ({ ...created, ...aFile })))],
  invalid_template: [campaignField("text", { text: "Hello {name" })],
  too_many_rows: [
    once(
      Effect.map(anEmptyCampaign, (created) => ({
        ...created,
        ...csv(`to\n${"a\n".repeat(100_001)}`),
        field: "rows",
      })),
    ),
  ],
  no_rows: [once(anEmptyCampaign)],
  column_not_found: [
    once(
      Effect.map(anEmptyCampaign, (created) => ({
        ...created,
        ...csv("a\nb\n"),
        field: "to_column",
      })),
    ),
  ],
  invalid_csv: [once(Effect.map(anEmptyCampaign, (created) => ({ ...created, ...csv('to\n"') })))],
  from_row_required: [
    once(
      Effect.gen(function* () {
        const created = yield* aStarted
        const json = { again: true }
        const call = { method: "POST", path: "/admin/v1/store/restored", json }
        expectBody(yield* operate(call), 200)
        return { ...created, field: "from_row", instead: {} }
      }),
    ),
  ],
}

/** What requests are about. */
export const aShop = Effect.gen(function* () {
  const { number, token, workspace } = yield* aListener()
  const { id: webhook_id } = yield* create(workspace, "webhooks", endpoint)
  const { id: reminder_id } = yield* create(workspace, "reminders", reminder)
  const { id: check_id } = yield* create(
    workspace,
    "number-checks",
    { phones: [aText.to.phone] },
    202,
  )
  const { id: message_id } = yield* send(token)
  const { id: campaign_id } = yield* create(workspace, "campaigns", hello)
  yield* create(workspace, `campaigns/${campaign_id}/rows`, aRow)
  const ids = { number_id: number.id, webhook_id, reminder_id, check_id, message_id }
  return { token, workspace, ids: { ...ids, campaign_id, row: 1 } }
})

/** What sends and reminders hold alike. */
const contents = ["sendMessage", "sendBatch", "createReminder", "updateReminder"]
const sends = ["sendMessage", "sendBatch"]

/** A reminder that a change is about; other operations need nothing. */
const changed = (operation: Placed): Making<Change> =>
  toName(operation) === "updateReminder" ? aReminder : Effect.succeed({})

const content = (json: object, field: string) => (operation: Placed) =>
  Effect.map(changed(operation), (about) => ({ ...about, field, json }))

const to = (recipient: object) => (operation: Placed) => {
  const [name = ""] = Object.keys(recipient)
  return toName(operation) === "sendBatch"
    ? { field: `to[0].${name}`, json: { to: [recipient] } }
    : content({ to: recipient }, `to.${name}`)(operation)
}

// Credentials

const withToken = (workspace: Created, fields: Readonly<Record<string, unknown>> = {}) =>
  Effect.map(aKey(workspace, fields), ({ key }) => ({ workspace, token: key }))

const sameOrigin = ["sec-fetch-site", "same-origin"] as const
const fromPage = [sameOrigin]

const signIn = (json: object) =>
  Effect.gen(function* () {
    const { socket } = yield* HttpTestClients
    const answer = yield* socket.call({ method: "POST", path: "/admin/v1/session", json })
    expectBody(answer, 200)
    return answer.headers["set-cookie"]?.split(";")[0] ?? ""
  })

const anOperator = signIn({ token: operatorToken })

const withId = (cookie: string, digit: string) => `${cookie.split("=")[0]}=${digit.repeat(64)}`

const aPortal = Effect.gen(function* () {
  const workspace = yield* aWorkspace()
  const link = yield* create(workspace, "portal-sessions", { role: "owner" })
  const code = (link as Created & { readonly url: string }).url.split("code=")[1]
  return { workspace, cookie: yield* signIn({ code }), headers: fromPage }
})

/** From an address that has shown too many wrong keys. */
const suspected = (path: string, change: Change): Making<Change> =>
  Effect.gen(function* () {
    const headers = [["x-forwarded-for", "203.0.113.7"]] as const
    const { socket } = yield* HttpTestClients
    yield* Effect.replicateEffect(socket.call({ path, token: "wrong", headers }), 30)
    return { ...change, headers }
  })

const credentials: Rows = {
  missing_api_key: [once({ credentials: null })],
  invalid_api_key: [once({ token: `svc_live_${"a".repeat(38)}` })],
  v1_key_on_v2: [
    once(
      Effect.gen(function* () {
        return { token: (yield* aKeyV1(yield* aWorkspace())).key }
      }),
    ),
  ],
  api_key_revoked: [
    once(
      Effect.gen(function* () {
        const { key, token, workspace } = yield* aSender()
        yield* revoke(workspace, key)
        return { token }
      }),
    ),
  ],
  api_key_expired: [
    once(
      Effect.gen(function* () {
        const created = yield* withToken(yield* aWorkspace(), { expires_in: "30d" })
        yield* TestClock.adjust("30 days")
        return created
      }),
    ),
  ],
  too_many_auth_failures: [
    byPart(
      suspected("/api/v2/me", { credentials: "wrong" }),
      suspected("/admin/v1/workspaces", {}),
    ),
    once(suspected("/admin/v1/workspaces", { instead: { token: operatorToken } }), "signIn"),
  ],
  account_disabled: [
    once(
      Effect.gen(function* () {
        const { token, workspace } = yield* aSender()
        yield* changeWorkspace(workspace, { account_disabled: true })
        return { token, workspace }
      }),
    ),
    once(
      Effect.tap(aCampaign(), ({ workspace }) =>
        changeWorkspace(workspace, { account_disabled: true }),
      ),
      "startCampaign",
    ),
  ],
  demo_account: [
    once(ofWorkspace({ workspace: { demo: true } })),
    once(
      Effect.tap(aCampaign(), ({ workspace }) => changeWorkspace(workspace, { demo: true })),
      "startCampaign",
    ),
  ],
  api_v2_not_enabled: [once(ofWorkspace({ workspace: { api_v2_enabled: false } }))],
  rate_limited: [
    byPart(
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const { socket } = yield* HttpTestClients
        yield* Effect.replicateEffect(socket.call({ path: "/api/v2/me", token }), 60)
        return { token }
      }),
      Effect.gen(function* () {
        const cookie = yield* anOperator
        const { socket } = yield* HttpTestClients
        const read = socket.call({ path: "/admin/v1/session", headers: [["cookie", cookie]] })
        yield* Effect.replicateEffect(read, sessionRequestsPerMinute)
        return { cookie, headers: fromPage }
      }),
    ),
  ],
  missing_scope: [
    each((operation) =>
      Effect.gen(function* () {
        const scopes = toName(operation).includes("Media") ? ["numbers"] : ["media"]
        return yield* withToken((yield* aListener()).workspace, { scopes })
      }),
    ),
  ],
  missing_operator_token: [once({ credentials: null })],
  invalid_operator_token: [
    once({ credentials: "wrong" }),
    once({ credentials: null, instead: { token: "wrong" } }, "signIn"),
  ],
  session_ended: [
    once(Effect.map(anOperator, (cookie) => ({ cookie: withId(cookie, "0"), headers: fromPage }))),
  ],
  cross_site_request: [
    once(
      Effect.map(anOperator, (cookie) => ({
        cookie,
        headers: [["sec-fetch-site", "cross-site"]] as const,
      })),
    ),
  ],
  operator_required: [once(aPortal)],
  role_required: [
    each(({ id }) => {
      const role = rights[id] === owners ? "administrator" : "member"
      return { headers: [["acting-role", role]] }
    }),
  ],
}

// What every operation reads

const oversized = [["content-length", "1000000000"]] as const
const jsonType = ["content-type", "application/json"] as const
const textType = ["content-type", "text/plain"] as const

const keyed = (key: string) => [["idempotency-key", key]] as const

const reading: Rows = {
  validation_failed: [once({ field: "colour", exists: true, query: "colour=red" })],
  invalid_cursor: [once({ field: "cursor", exists: true, query: "cursor=nonsense" })],
  invalid_json: [once({ body: "{", headers: [jsonType] })],
  unsupported_content_type: [once({ body: "{}", headers: [textType] })],
  request_too_large: [
    each((operation) => ({
      body: null,
      headers: [takesFile(operation) ? multipart : jsonType, ...oversized],
    })),
  ],
  invalid_idempotency_key: [once({ headers: keyed("") })],
  idempotency_key_reused: [
    once(
      Effect.gen(function* () {
        const { token, workspace } = yield* aListener()
        const headers = keyed("used")
        const { socket } = yield* HttpTestClients
        const calls: ReadonlyArray<Call> = [
          { path: messages, token },
          { path: inWorkspace(workspace, "messages"), token: operatorToken },
        ]
        for (const call of calls) {
          expectBody(yield* socket.call({ method: "POST", json: aText, headers, ...call }), 202)
        }
        return { token, workspace, headers }
      }),
    ),
  ],
  idempotency_in_progress: [
    once(
      Effect.gen(function* () {
        const { keyId: ofToken, token, workspace } = yield* aListener()
        const store = (yield* Store).messages
        const claim = { key: "busy", fingerprint: "another", token: "its" }
        const now = yield* Clock.currentTimeMillis
        for (const keyId of [ofToken, -2 * workspace.id]) {
          yield* Effect.orDie(store.claimKey({ ...claim, keyId }, now))
        }
        return { token, workspace, headers: keyed("busy") }
      }),
    ),
  ],
}

// What the path names

const path: Rows = {
  // While others have conversations.
  not_found: [once(Effect.map(aSender(), ({ token }) => ({ token })))],
  workspace_not_found: [once({ workspace: { id: nothing } })],
  number_not_found: [
    once({}),
    each(content({ from: nothing }, "from"), ...sends, "createNumberCheck"),
    once({ field: "number_id", json: { number_id: nothing } }, "connectNumber"),
    once({ field: "number_ids", json: { number_ids: [nothing] } }, "createKey"),
    campaignField("from", { from: nothing }),
    once(
      Effect.map(aListener(), ({ token, workspace }) => ({ token, workspace })),
      "getNumberRestrictions",
    ),
    once(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const { id } = yield* create(workspace, "campaigns", { ...hello, from: number.id })
        yield* create(workspace, `campaigns/${id}/rows`, aRow)
        const path = inWorkspace(workspace, `numbers/${number.id}`)
        expectBody(yield* operate({ method: "DELETE", path }), 200)
        return { workspace, ids: [id], field: "from" }
      }),
      "startCampaign",
    ),
  ],
  message_not_found: [once({})],
  reminder_not_found: [once({})],
  media_not_found: [
    once({}),
    each(content({ media: { media_id: nothing } }, "media.media_id"), ...contents),
    campaignField("media.media_id", { media: { media_id: nothing } }),
  ],
  number_check_not_found: [once({})],
  webhook_not_found: [once({})],
  contact_not_found: [once({}), each(to({ contact_id: nothing }), ...contents)],
  key_not_found: [once({})],
  portal_session_not_found: [once({})],
  delivery_not_found: [
    once(Effect.map(anEndpoint, ({ id, workspace }) => ({ workspace, ids: [nothing, id] }))),
  ],
  event_not_found: [
    once(Effect.map(anEndpoint, ({ id, workspace }) => ({ workspace, ids: [id] }))),
  ],
  login_not_found: [once(anAccount)],
  invalid_portal_code: [once({ credentials: null })],
}

// What the request holds

const fields: Rows = {
  text_required: [each(content({ text: " " }, "text")), campaignField("text", { text: " " })],
  text_too_long: [
    each(content({ text: "x".repeat(3001) }, "text")),
    campaignField("text", { text: "x".repeat(3001) }),
  ],
  too_many_recipients: [
    once({ field: "to", json: { to: Array.from({ length: 1001 }, () => aText.to) } }),
  ],
  invalid_datetime: [
    campaignField("send_at", { send_at: "tomorrow" }),
    each(content({ send_at: "tomorrow" }, "send_at"), ...sends),
    once(
      { field: "since", exists: true, query: "since=tomorrow" },
      "listMessages",
      "listDeliveries",
    ),
    each(
      () =>
        Effect.map(aListener(), (known) => ({ ...known, field: "since", query: "since=tomorrow" })),
      "listReceivedMessages",
    ),
    once({ field: "sent_at", exists: true, json: { sent_at: "tomorrow" } }, "writeMessage"),
    once({ field: "until", exists: true, json: { until: "tomorrow" } }, "pauseNumber"),
    once({ field: "resets_at", exists: true, json: { resets_at: "tomorrow" } }, "restrictNumber"),
    once({ field: "since", exists: true, json: { since: "tomorrow" } }, "recoverEvents"),
    once({ field: "filter.since", json: { filter: { since: "tomorrow" } } }),
  ],
  time_in_past: [
    campaignField("send_at", { send_at: "1969-12-31T23:59:59Z" }),
    once(
      Effect.gen(function* () {
        const clock = yield* operate({ path: "/admin/v1/simulator/clock" })
        const { now } = expectBody<{ readonly now: string }>(clock, 200)
        const send_at = new Date(Date.parse(now) + 60_000).toISOString()
        const created = yield* aCampaign({ ...hello, send_at })
        yield* TestClock.adjust("2 minutes")
        return { ...created, field: "send_at" }
      }),
      "startCampaign",
    ),
    each(content({ send_at: "1969-12-31T23:59:59Z" }, "send_at"), ...sends),
    once({ field: "until", exists: true, json: { until: "1969-12-31T23:59:59Z" } }, "pauseNumber"),
  ],
  invalid_phone: [
    each(to({ phone: "12" }), ...contents),
    once({ field: "to", query: "to=12" }, "listMessages"),
    once({ field: "to", exists: true, query: "to=12" }, "listCampaignRows"),
    once({ field: "filter.to", json: { filter: { to: "12" } } }, "cancelMessages"),
    once({ field: "phones[0]", json: { phones: ["12"] } }, "createNumberCheck", "setRegistered"),
    once({ field: "phone", json: { login_method: "phone_code", phone: "12" } }, "connectNumber"),
    once({ field: "phone", exists: true, json: { phone: "12" } }),
    each(
      () => Effect.map(aListener(), (known) => ({ ...known, field: "phone", query: "phone=12" })),
      "listChats",
    ),
    once(
      { field: "from.phone", exists: true, json: { from: { phone: "12" } } },
      "writeMessage",
      "react",
    ),
  ],
  invalid_username: [
    each(to({ username: "?" })),
    once({ field: "username", instead: { name: "Ada", username: "?" } }, "createContact"),
  ],
  username_needs_telegram: [each(to({ username: "@grace" }))],
  invalid_media_url: [
    each(content({ media: { url: "ftp://shop.example", type: "file" } }, "media.url")),
    campaignField("media.url", { media: { url: "ftp://shop.example", type: "file" } }),
  ],
  invalid_webhook_url: [
    once({ field: "url", exists: true, json: { url: "mailto:ada@shop.example" } }),
  ],
  invalid_cron: [
    each(content({ schedule: { cron: "often", timezone: "Europe/London" } }, "schedule.cron")),
  ],
  invalid_timezone: [
    each(content({ schedule: { cron: "0 9 * * *", timezone: "Mars" } }, "schedule.timezone")),
    campaignField("timezone", { timezone: "Mars" }),
  ],
}

// What the workspace has

const plan = (input: Parameters<typeof aPlan>[0]) =>
  ofWorkspace({ workspace: { plan: aPlan(input) } })

/** A key that is limited to another number than the workspace's first, and a reminder that it sees. */
const aLimitedKey = Effect.gen(function* () {
  const { number, workspace } = yield* aSender()
  const { id: from } = yield* aNumber(workspace)
  const { id } = yield* create(workspace, "reminders", { ...reminder, from })
  const created = yield* withToken(workspace, { number_ids: [from] })
  return { ...created, ids: [id], number: number.id }
})

const aDisconnected = Effect.gen(function* () {
  const { ids, token, workspace } = yield* aReminder
  const { id } = yield* aNumber(workspace, { status: "disconnected" })
  return { token, workspace, ids, json: { from: id }, field: "from" }
})

const state: Rows = {
  number_not_allowed: [
    once(aLimitedKey),
    once(
      Effect.map(aLimitedKey, (key) => ({ ...key, field: "from", json: { from: key.number } })),
      ...contents,
      "createNumberCheck",
    ),
    once(
      Effect.map(aLimitedKey, (key) => ({
        ...key,
        field: "number_id",
        json: { number_id: key.number },
      })),
      "connectNumber",
    ),
  ],
  from_required: [
    once(
      Effect.gen(function* () {
        return { ...(yield* withToken(yield* aWorkspace())), field: "from" }
      }),
    ),
  ],
  number_not_connected: [once(aDisconnected)],
  no_credits: [once(plan({ messages_remaining: 0 }))],
  message_rejected: [
    each((operation) =>
      Effect.gen(function* () {
        const { token, workspace } = yield* plan({ media_storage_bytes: 1_000_000 })
        const { id } = yield* upload(token)
        const account = yield* aNumber(workspace, { platform: "telegram" })
        const media = { media_id: id }
        const recipients = toName(operation) === "sendBatch" ? [aText.to] : aText.to
        const json = { from: account.id, to: recipients, media, text: "x".repeat(1025) }
        return { token, workspace, json, field: "text" }
      }),
    ),
  ],
  number_daily_cap_reached: [
    once(
      Effect.gen(function* () {
        const { token, workspace } = yield* aSender()
        const json = { send_at: "2099-01-31T09:00:00Z" }
        const recipients = Array.from({ length: 1000 }, () => aText.to)
        const batch = yield* post(token, { ...aText, ...json, to: recipients }, `${messages}/batch`)
        expectBody(batch, 202)
        return { token, workspace, json }
      }),
    ),
  ],
  not_cancellable: [
    once(
      Effect.gen(function* () {
        const { token, workspace } = yield* aSender()
        const { id } = yield* send(token)
        yield* settle
        return { token, workspace, ids: [id] }
      }),
    ),
  ],
  plan_required: [
    once(plan({ reminders: false, qr_code_api: false })),
    each(
      () =>
        Effect.gen(function* () {
          const created = yield* aReminder
          yield* changeWorkspace(created.workspace, { plan: aPlan({ reminders: false }) })
          return { ...created, instead: { active: true } }
        }),
      "updateReminder",
    ),
  ],
  number_limit_reached: [once(plan({ max_numbers: 1 }))],
  storage_full: [once(plan({ media_storage_bytes: 0 }))],
  already_connected: [
    once(
      Effect.map(aSender(), ({ number, token, workspace }) => ({
        token,
        workspace,
        field: "number_id",
        json: { number_id: number.id },
      })),
    ),
    once(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        return { workspace, ids: [(yield* aNumber(workspace, { platform: "telegram" })).id] }
      }),
      "beginTelegramLogin",
    ),
  ],
  connect_in_progress: [
    once(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const { id } = yield* create(workspace, "numbers/link", { login_method: "qr" }, 202)
        return { ...(yield* withToken(workspace)), field: "number_id", json: { number_id: id } }
      }),
    ),
    once(aLogin, "beginTelegramLogin"),
  ],
  invalid_code: [once(Effect.map(aLogin, (login) => ({ ...login, json: { code: "99999" } })))],
  invalid_password: [
    once(
      Effect.gen(function* () {
        const { login, ...account } = yield* aLogin
        yield* create(account.workspace, `${login}/code`, { code: "22222" }, 200)
        return account
      }),
    ),
  ],
  number_exists: [
    once(
      Effect.map(aSender(), ({ number, workspace }) => ({
        workspace,
        json: { phone: `+${number.phone}` },
        field: "phone",
      })),
    ),
  ],
  contact_exists: [
    once(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        yield* aContact(workspace, aText.to)
        return { workspace, json: aText.to, field: "phone" }
      }),
    ),
  ],
  key_limit_reached: [
    once(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        yield* Effect.replicateEffect(aKey(workspace), 10)
        return { workspace }
      }),
    ),
  ],
  portal_link_limit_reached: [
    once(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        yield* Effect.replicateEffect(create(workspace, "portal-sessions", { role: "owner" }), 100)
        return { workspace }
      }),
    ),
  ],
  webhook_limit_reached: [
    once(
      Effect.gen(function* () {
        const created = yield* aStopped
        yield* Effect.replicateEffect(create(created.workspace, "webhooks", endpoint), 5)
        return created
      }),
    ),
  ],
  webhook_stopped: [
    once(aStopped),
    once(
      Effect.gen(function* () {
        const clock = yield* operate({ path: "/admin/v1/simulator/clock" })
        const { now } = expectBody<{ readonly now: string }>(clock, 200)
        return { ...(yield* aStopped), json: { since: now } }
      }),
      "recoverEvents",
    ),
  ],
  already_restored: [
    once(
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const restored = { method: "POST", path: "/admin/v1/store/restored", json: {} }
        expectBody(yield* operate(restored), 200)
        yield* send(token)
        return {}
      }),
    ),
  ],
  not_connecting: [once({ exists: true })],
  clock_not_adjustable: [once({})],
  conversations_not_enabled: [
    once(Effect.map(aWorkspace(), (workspace) => ({ workspace }))),
    each(
      () => Effect.map(aSender(), ({ number, workspace }) => ({ workspace, ids: [number.id] })),
      "writeMessage",
      "skipMessages",
      "restrictNumber",
    ),
    once(
      Effect.gen(function* () {
        const { token, workspace } = yield* aSender()
        return { workspace, ids: [(yield* send(token)).id] }
      }),
      "react",
    ),
  ],
  received_message_not_found: [
    once(aListener()),
    once(anErased, "writeMessage"),
    each(() => aChat, "markChatRead"),
  ],
  chat_not_found: [once(aListener()), each(to({ chat_id: nothing }), ...sends)],
  reply_not_possible: [
    each(content({ reply_to: { message_id: nothing } }, "reply_to.message_id"), "sendMessage"),
  ],
}

export const rows: Rows = { ...credentials, ...reading, ...path, ...fields, ...state, ...campaigns }

/** Of a service without an application of Telegram's. */
export const rowsWithoutTelegram: Rows = { telegram_not_configured: [once(anAccount)] }

/** Of a service with a store that fails or has no room when it is asked about that secret. */
const broken = (secret: string, digit: string): ReadonlyArray<Row> => [
  once({ credentials: secret }),
  once({ credentials: null, instead: { token: secret } }, "signIn"),
  once(
    Effect.map(anOperator, (cookie) => ({ cookie: withId(cookie, digit), headers: fromPage })),
    "getSession",
    "signOut",
  ),
]

export const rowsOfFaults: Rows = {
  internal_error: broken("gone", "a"),
  service_unavailable: broken("busy", "b"),
}
