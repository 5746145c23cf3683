/**
 * A workspace's numbers and Telegram logins, for the operator (contract: Workspace numbers, Telegram login).
 */
import {
  codeWays,
  connectionReasons,
  connectionStates,
  described,
  NumberBody,
  NumberOperations,
  NumberPatch,
  Numbers,
  PauseBody,
  proxyProblems,
  refuse,
  TelegramCodeBody,
  TelegramLoginBody,
  TelegramLogins,
  telegramLoginStates,
  TelegramPasswordBody,
  wholeSecond,
} from "@messaging-service/core"
import type {
  BeginTelegramLogin,
  ChangeNumber,
  CreateNumber,
  GiveTelegramCode,
  GiveTelegramPassword,
  ListedConnection,
  NumberConnection,
  PauseNumber,
  TelegramLoginView,
} from "@messaging-service/core"
import { Effect, Schema } from "effect"
import {
  jsonBody,
  deleted,
  DeletedJson,
  IdJson,
  json,
  listOf,
  optionalJson,
  Time,
} from "../Entry.ts"
import { examples } from "../openapi/examples.ts"
import type { Refused } from "../openapi/Operation.ts"
import { ConnectJson, NumberJson, shownNumber } from "../v2/numbers.ts"
import { missingNumber, numberPath, operatorRoute, workspacePath } from "./pipeline.ts"
import type { Admitted, OperatorRoute } from "./pipeline.ts"

const route = operatorRoute("Workspace numbers")

/** Its sending limits; null for no limit of that kind. */
const PacingJson = Schema.Struct({
  minIntervalMillis: Schema.NullOr(Schema.Int),
  jitterMillis: Schema.NullOr(Schema.Int),
  perMinute: Schema.NullOr(Schema.Int),
  perHour: Schema.NullOr(Schema.Int),
  newRecipientsPerDay: Schema.NullOr(Schema.Int),
}).annotate({ identifier: "Pacing" })

/** What an operator reads of a linking attempt: also when its parts end. */
const OperatedConnectJson = Schema.Struct({
  ...ConnectJson.fields,
  qrCodeExpiresAt: described(
    Schema.NullOr(Time),
    "When another QR code replaces the shown one; null without one.",
  ),
  endsAt: described(Schema.NullOr(Time), "When linking ends unless a phone takes a code."),
}).annotate({ identifier: "OperatedConnect" })

/** The Number object with its operator settings. */
const OperatedNumberJson = Schema.Struct({
  ...NumberJson.fields,
  connect: described(
    Schema.NullOr(OperatedConnectJson),
    "Set only while `status` is `connecting`, and only by GET of a single number. Null for a portal's member.",
  ),
  pacing: PacingJson,
  proxy: described(
    Schema.NullOr(Schema.Struct({ host: Schema.String, port: Schema.Int })),
    "Address of its proxy; null without one.",
  ),
}).annotate({ identifier: "OperatedNumber" })

const pacing = {
  min_interval_ms: 1000,
  jitter_ms: 2000,
  per_minute: 20,
  per_hour: 300,
  new_recipients_per_day: null,
}

const operated = { ...examples.number, pacing, proxy: null }

const linked = {
  ...examples.connecting,
  connect: {
    ...examples.connecting.connect,
    qr_code_expires_at: "2030-01-31T07:01:00Z",
    ends_at: "2030-01-31T07:10:00Z",
  },
  pacing,
  proxy: null,
}

const ConnectionJson = Schema.Struct({
  state: described(
    Schema.Literals(connectionStates),
    "`waiting`: between two connection attempts.",
  ),
  reason: described(
    Schema.NullOr(Schema.Literals(connectionReasons)),
    "Why it is not connected, or sends nothing while connected; null when it is connected and sends.",
  ),
  since: Time,
  lastSeenAt: described(
    Schema.NullOr(Time),
    "When the remote server last sent anything; null when it never did.",
  ),
  pausedUntil: described(
    Schema.NullOr(Time),
    "When its pause ends; null without a pause, and for one that lasts until it is resumed.",
  ),
  reconnects: Schema.Int,
  worker: described(
    Schema.NullOr(Schema.String),
    "The process that holds the connection. Null for a portal.",
  ),
  waiting: described(Schema.Int, "Waiting messages, scheduled ones included."),
  nextSendAt: described(Schema.NullOr(Time), "When the next of them may leave; null when unknown."),
  sent_24h: Schema.Int,
}).annotate({ identifier: "Connection" })

/** A process has the name of its machine, which is the operator's matter. */
const shownConnection = <Shown extends NumberConnection>(
  connection: Shown,
  admitted: Admitted,
) => ({
  ...connection,
  worker: admitted.kind === "operator" ? connection.worker : null,
  sent_24h: connection.sent24h,
})

const ListedConnectionJson = Schema.Struct({
  numberId: IdJson,
  ...ConnectionJson.fields,
  quota: Schema.Struct({
    used: described(Schema.Int, "In the fullest 24 hours that a message of now would share."),
    limit: Schema.Int,
    freeAt: described(Schema.NullOr(Time), "When one more fits; null while it does."),
  }),
  hours: described(Schema.Array(Schema.Int), "Sent in each of the last 24 hours, oldest first."),
}).annotate({ identifier: "ListedConnection" })

const ConnectionsJson = Schema.Struct({
  data: Schema.Array(ListedConnectionJson),
  truncated: described(Schema.Boolean, "Whether the workspace has more than these 1,000 numbers."),
})

const shownListed = (listed: ListedConnection, admitted: Admitted) => ({
  ...shownConnection(listed, admitted),
  numberId: listed.id,
  quota: {
    ...listed.quota,
    freeAt: listed.quota.freeAt === null ? null : wholeSecond(listed.quota.freeAt),
  },
})

const connected = {
  state: "connected",
  reason: null,
  since: "2030-01-31T06:00:00Z",
  last_seen_at: "2030-01-31T06:59:58Z",
  paused_until: null,
  reconnects: 0,
  worker: null,
  waiting: 3,
  next_send_at: "2030-01-31T07:00:02Z",
  sent_24h: 120,
} as const

const paused = { ...connected, reason: "paused", paused_until: "2030-01-31T09:00:00Z" }

const ProxyCheckJson = Schema.Struct({
  ok: described(Schema.Boolean, "Whether the connection opened."),
  error: described(
    Schema.NullOr(Schema.Literals(proxyProblems)),
    "Why it did not open. `no_remote`: the number connects nowhere, so nothing was tried.",
  ),
  durationMillis: Schema.Int,
}).annotate({ identifier: "ProxyCheck" })

/** How fast a number sends and which way it takes is the operator's matter. */
const refuseOperatorsFields = (request: unknown) =>
  typeof request === "object" && request !== null && ("pacing" in request || "proxyUrl" in request)
    ? Effect.fail(refuse("operator_required"))
    : Effect.void

export const numberRoutes: ReadonlyArray<OperatorRoute> = [
  route(`POST ${workspacePath}/numbers`, {
    id: "createNumber",
    right: "operator",
    summary: "Add a number",
    request: json<CreateNumber>()(NumberBody, { platform: "whatsapp", phone: "+15550001000" }),
    status: 201,
    success: "The number.",
    answer: jsonBody(NumberJson, examples.number),
    refused: ["invalid_phone", "number_exists", "number_limit_reached"],
    handler: Effect.fnUntraced(function* createNumber({ id, request, role }) {
      const numbers = yield* Numbers
      return shownNumber(yield* numbers.create(role, id("id"), request))
    }),
  }),
  route(`GET ${workspacePath}/numbers`, {
    id: "listWorkspaceNumbers",
    right: "read",
    summary: "List numbers",
    success: "The numbers, oldest first.",
    answer: listOf(NumberJson, examples.number),
    handler: Effect.fnUntraced(function* listWorkspaceNumbers({ id, role }) {
      const numbers = yield* Numbers
      const all = yield* numbers.list(role, id("id"))
      return { data: all.map(shownNumber) }
    }),
  }),
  route(`GET ${numberPath}`, {
    id: "getWorkspaceNumber",
    right: "read",
    summary: "Read a number",
    about:
      "While it is `connecting`, `connect` shows the newest QR link or pairing code. A code links the account for anyone who has it, so a member sees none.",
    success: "The number.",
    answer: jsonBody(OperatedNumberJson, linked),
    refused: [missingNumber],
    handler: Effect.fnUntraced(function* getWorkspaceNumber({ id, role }) {
      const numbers = yield* Numbers
      return shownNumber(yield* numbers.get(role, id("id"), id("number_id")))
    }),
  }),
  route(`PATCH ${numberPath}`, {
    id: "updateNumber",
    right: "administrate",
    summary: "Change a number's label, pacing and proxy",
    request: json<ChangeNumber>()(NumberPatch, { label: "Front desk", pacing: { per_minute: 10 } }),
    success: "The number as it is now.",
    answer: jsonBody(OperatedNumberJson, operated),
    refused: [missingNumber, "operator_required"],
    handler: Effect.fnUntraced(function* updateNumber({ admitted, id, request, role }) {
      const numbers = yield* Numbers
      if (admitted.kind === "portal") yield* refuseOperatorsFields(request)
      return shownNumber(yield* numbers.update(role, id("id"), id("number_id"), request))
    }),
  }),
  route(`DELETE ${numberPath}`, {
    id: "deleteNumber",
    right: "administrate",
    summary: "Remove a number",
    about: "Cancels its waiting messages, each with its event.",
    success: "Deleted.",
    answer: jsonBody(DeletedJson, deleted(12)),
    refused: [missingNumber],
    handler: Effect.fnUntraced(function* deleteNumber({ id, role }) {
      const numbers = yield* Numbers
      return deleted(yield* numbers.remove(role, id("id"), id("number_id")))
    }),
  }),
  route(`GET ${workspacePath}/connections`, {
    id: "listConnections",
    right: "read",
    summary: "Read the connections of all numbers",
    success: "Of each number, oldest first.",
    answer: jsonBody(ConnectionsJson, {
      data: [
        {
          number_id: 12,
          ...connected,
          quota: { used: 130, limit: 1000, free_at: null },
          hours: Array.from({ length: 24 }, () => 5),
        },
      ],
      truncated: false,
    }),
    handler: Effect.fnUntraced(function* listConnections({ admitted, id, role }) {
      const operations = yield* NumberOperations
      const { connections, truncated } = yield* operations.connections(role, id("id"))
      return { data: connections.map((each) => shownListed(each, admitted)), truncated }
    }),
  }),
  route(`GET ${numberPath}/connection`, {
    id: "getConnection",
    right: "read",
    summary: "Read a number's connection",
    about: "These fields always tell why a message of the number waits.",
    success: "The connection.",
    answer: jsonBody(ConnectionJson, connected),
    refused: [missingNumber],
    handler: Effect.fnUntraced(function* getConnection({ admitted, id, role }) {
      const operations = yield* NumberOperations
      return shownConnection(
        yield* operations.connection(role, id("id"), id("number_id")),
        admitted,
      )
    }),
  }),
  route(`POST ${numberPath}/pause`, {
    id: "pauseNumber",
    right: "administrate",
    summary: "Pause a number",
    about: "A paused number sends nothing; its messages wait, and may expire.",
    request: optionalJson<PauseNumber>()(PauseBody, { until: "2030-01-31T09:00:00Z" }),
    success: "The connection.",
    answer: jsonBody(ConnectionJson, paused),
    refused: [missingNumber, "invalid_datetime", "time_in_past"],
    handler: Effect.fnUntraced(function* pauseNumber({ admitted, id, request, role }) {
      const operations = yield* NumberOperations
      return shownConnection(
        yield* operations.pause(role, id("id"), id("number_id"), request),
        admitted,
      )
    }),
  }),
  route(`POST ${numberPath}/resume`, {
    id: "resumeNumber",
    right: "administrate",
    summary: "Resume a number",
    about: "Ends every pause: an operator's, and those that the remote server caused.",
    success: "The connection.",
    answer: jsonBody(ConnectionJson, connected),
    refused: [missingNumber],
    handler: Effect.fnUntraced(function* resumeNumber({ admitted, id, role }) {
      const operations = yield* NumberOperations
      return shownConnection(yield* operations.resume(role, id("id"), id("number_id")), admitted)
    }),
  }),
  route(`POST ${numberPath}/check-proxy`, {
    id: "checkProxy",
    right: "operator",
    summary: "Check a number's proxy",
    about:
      "Opens one connection through it to the platform's remote server and closes it, within ten seconds. The number's own connection stays.",
    success: "Whether the connection opened, and how long that took.",
    answer: jsonBody(ProxyCheckJson, { ok: true, error: null, duration_ms: 84 }),
    refused: [missingNumber, "validation_failed", "rate_limited"],
    handler: Effect.fnUntraced(function* checkProxy({ id, role }) {
      const operations = yield* NumberOperations
      const check = yield* operations.checkProxy(role, id("id"), id("number_id"))
      return { ...check, ok: check.error === null }
    }),
  }),
  route(`POST ${numberPath}/logout`, {
    id: "logOutNumber",
    right: "administrate",
    summary: "Log a number out",
    about:
      "Logs its device out at the remote server and wipes its credentials. Waiting messages wait until the number is linked again.",
    success: "The number, disconnected.",
    answer: jsonBody(NumberJson, { ...examples.number, status: "disconnected" }),
    refused: [missingNumber],
    handler: Effect.fnUntraced(function* logOutNumber({ id, role }) {
      const operations = yield* NumberOperations
      return shownNumber(yield* operations.logOut(role, id("id"), id("number_id")))
    }),
  }),
]

// Telegram logins

/** The state of a login to a Telegram account. */
const LoginJson = Schema.Struct({
  state: Schema.Literals(telegramLoginStates),
  qrUrl: described(
    Schema.NullOr(Schema.String),
    "Content of the QR code for the account's own app: a `tg://` link; else null.",
  ),
  qrExpiresAt: described(Schema.NullOr(Time), "When another link replaces it; null without one."),
  codeSentTo: Schema.NullOr(Schema.Literals(codeWays)),
  expiresAt: described(Time, "When the login expires: ten minutes after it began."),
  error: described(Schema.NullOr(Schema.String), "Why it failed; else null."),
}).annotate({ identifier: "TelegramLogin" })

const shownLogin = ({ qr, ...login }: TelegramLoginView) => ({
  ...login,
  qrUrl: qr?.url ?? null,
  qrExpiresAt: qr?.expiresAt ?? null,
})

const codeSent = {
  state: "code_sent",
  qr_url: null,
  qr_expires_at: null,
  code_sent_to: "app",
  expires_at: "2030-01-31T07:10:00Z",
  error: null,
} as const

const loggedIn = { ...codeSent, state: "connected" } as const

const noLogin: Refused = { code: "login_not_found", inPath: true }

const loginPath = `${numberPath}/telegram-login` as const

export const telegramLoginRoutes: ReadonlyArray<OperatorRoute> = [
  route(`POST ${loginPath}`, {
    id: "beginTelegramLogin",
    right: "administrate",
    summary: "Log a Telegram account in",
    about: "By a code that Telegram sends, or by a QR code, within ten minutes.",
    request: json<BeginTelegramLogin>()(TelegramLoginBody, {
      method: "code",
      phone: "+15550001000",
    }),
    status: 202,
    success: "The login.",
    answer: jsonBody(LoginJson, codeSent),
    refused: [
      missingNumber,
      "invalid_phone",
      "already_connected",
      "connect_in_progress",
      "telegram_not_configured",
    ],
    handler: Effect.fnUntraced(function* beginTelegramLogin({ id, request, role }) {
      const logins = yield* TelegramLogins
      return shownLogin(yield* logins.begin(role, id("id"), id("number_id"), request))
    }),
  }),
  route(`GET ${loginPath}`, {
    id: "getTelegramLogin",
    right: "administrate",
    summary: "Read a Telegram login",
    success: "The login.",
    answer: jsonBody(LoginJson, codeSent),
    refused: [missingNumber, noLogin],
    handler: Effect.fnUntraced(function* getTelegramLogin({ id, role }) {
      const logins = yield* TelegramLogins
      return shownLogin(yield* logins.get(role, id("id"), id("number_id")))
    }),
  }),
  route(`DELETE ${loginPath}`, {
    id: "cancelTelegramLogin",
    right: "administrate",
    summary: "Cancel a Telegram login",
    success: "The login is cancelled.",
    answer: jsonBody(Schema.Struct({ cancelled: Schema.Literal(true) }), { cancelled: true }),
    refused: [missingNumber, noLogin],
    handler: Effect.fnUntraced(function* cancelTelegramLogin({ id, role }) {
      const logins = yield* TelegramLogins
      yield* logins.cancel(role, id("id"), id("number_id"))
      return { cancelled: true } as const
    }),
  }),
  route(`POST ${loginPath}/code`, {
    id: "giveTelegramCode",
    right: "administrate",
    summary: "Enter the code that Telegram sent",
    about: "After a wrong one, try again. It is not stored.",
    request: json<GiveTelegramCode>()(TelegramCodeBody, { code: "12345" }),
    success: "The login: `connected`, or `password_needed`.",
    answer: jsonBody(LoginJson, loggedIn),
    refused: [missingNumber, noLogin, "invalid_code"],
    handler: Effect.fnUntraced(function* giveTelegramCode({ id, request, role }) {
      const logins = yield* TelegramLogins
      return shownLogin(yield* logins.giveCode(role, id("id"), id("number_id"), request))
    }),
  }),
  route(`POST ${loginPath}/password`, {
    id: "giveTelegramPassword",
    right: "administrate",
    summary: "Enter the account's password",
    about: "After a wrong one, try again. It is not stored.",
    request: json<GiveTelegramPassword>()(TelegramPasswordBody, {
      password: "correct horse battery staple",
    }),
    success: "The login.",
    answer: jsonBody(LoginJson, loggedIn),
    refused: [missingNumber, noLogin, "invalid_password"],
    handler: Effect.fnUntraced(function* giveTelegramPassword({ id, request, role }) {
      const logins = yield* TelegramLogins
      return shownLogin(yield* logins.givePassword(role, id("id"), id("number_id"), request))
    }),
  }),
]
