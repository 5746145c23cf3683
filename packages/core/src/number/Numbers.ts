/** The numbers of a workspace as the operator keeps them (contract: Workspace numbers). */
import { Clock, Context, Effect, Layer, Result, Schema, SchemaIssue } from "effect"
import { makeConnectionCallbacks } from "../callback/ConnectionCallbacks.ts"
import { refuse } from "../error/Refusal.ts"
import type { Failure, Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberId, WorkspaceId } from "../Ids.ts"
import { makeStranded } from "../message/Stranded.ts"
import { LaneQueue } from "../queue/LaneQueue.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { parsePhone, phoneDescribed, phoneDigits } from "../recipient/Phone.ts"
import { described } from "../request/Described.ts"
import { decoded, inputDecoder, integerBetween, parsed, textBetween } from "../request/Input.ts"
import { Secrets } from "../secret/Secrets.ts"
import type { Role } from "../workspace/Workspace.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { pauseFor } from "./Breaker.ts"
import { NumberStore } from "./NumberStore.ts"
import type { NumberChange, NumberSettings, SealedProxy } from "./NumberStore.ts"
import { StartingPacing, unpaced } from "./Pacing.ts"
import type { Pacing } from "./Pacing.ts"
import { parseProxyUrl, proxyPlace, proxyUrlRule } from "./Proxy.ts"
import type { ProxyUrl } from "./Proxy.ts"
import type { ConnectionReason, SendingNumber } from "./SendingNumber.ts"
import { platforms } from "./SendingNumber.ts"

const LabelInput = textBetween(0, 100)

export const NumberBody = Schema.Struct({
  platform: Schema.Literals(platforms),
  phone: parsed("invalid_phone", parsePhone, phoneDescribed),
  label: described(Schema.optionalKey(LabelInput), "A name for people.", { default: "" }),
  status: described(
    Schema.optionalKey(Schema.Literals(["connected", "disconnected"])),
    "`connected` when left out; with live transports `disconnected`, which alone is possible there.",
  ),
}).annotate({ identifier: "CreateNumber" })

const longestRest = 24 * 60 * 60 * 1000
const mostInWindow = 1_000_000

const restInput = Schema.optionalKey(Schema.NullOr(integerBetween(0, longestRest)))
const countInput = Schema.optionalKey(Schema.NullOr(integerBetween(1, mostInWindow)))

const PacingPatch = Schema.Struct({
  min_interval_ms: described(restInput, "The rest after a message, at least."),
  jitter_ms: described(restInput, "How much longer that rest may be, drawn anew for each."),
  per_minute: countInput,
  per_hour: countInput,
  new_recipients_per_day: described(
    countInput,
    "Recipients that the number never wrote to before, in any 24 hours.",
  ),
}).annotate({ identifier: "ChangePacing" })

const ProxyInput = decoded(
  Schema.String.annotate({ examples: ["socks5://user:password@192.0.2.10:1080"] }),
  (text): ProxyUrl | SchemaIssue.Issue =>
    parseProxyUrl(text) ?? new SchemaIssue.InvalidValue({ message: `must be ${proxyUrlRule}` }),
)

export const NumberPatch = Schema.Struct({
  label: Schema.optionalKey(LabelInput),
  pacing: described(
    Schema.optionalKey(PacingPatch),
    "What is left out stays as it is; null takes that limit away.",
  ),
  proxy_url: described(
    Schema.optionalKey(Schema.NullOr(ProxyInput)),
    "What the number's connection goes through. Never shown again: answers tell host and port.",
  ),
}).annotate({ identifier: "ChangeNumber" })

/** A number to add, and what to change of one: in the words of their bodies. */
export type CreateNumber = typeof NumberBody.Encoded
export type ChangeNumber = typeof NumberPatch.Encoded

const decodeBody = inputDecoder(NumberBody)
const decodePatch = inputDecoder(NumberPatch)

/** What an operator named of the pacing. */
const namedPacing = (patch: typeof PacingPatch.Type): Partial<Pacing> => {
  const { jitter_ms, min_interval_ms, new_recipients_per_day, per_hour, per_minute } = patch
  return {
    ...(min_interval_ms === undefined ? {} : { minIntervalMillis: min_interval_ms }),
    ...(jitter_ms === undefined ? {} : { jitterMillis: jitter_ms }),
    ...(per_minute === undefined ? {} : { perMinute: per_minute }),
    ...(per_hour === undefined ? {} : { perHour: per_hour }),
    ...(new_recipients_per_day === undefined
      ? {}
      : { newRecipientsPerDay: new_recipients_per_day }),
  }
}

/** A number with what operators set for it. */
export interface OperatedNumber extends SendingNumber {
  readonly pacing: Pacing
  /** Where its proxy is; its credentials are not shown. */
  readonly proxy: { readonly host: string; readonly port: number } | null
}

const withSettings = (
  number: SendingNumber,
  settings: NumberSettings | undefined,
): OperatedNumber => {
  const { pacing, proxy } = settings ?? { pacing: null, proxy: null }
  return {
    ...number,
    pacing: pacing ?? unpaced,
    proxy: proxy === null ? null : { host: proxy.host, port: proxy.port },
  }
}

/**
 * Whether a number may be made as connected already: true for simulated phones, which need no
 * linking; with live transports only linking connects one.
 */
export const ConnectedFromTheStart = Context.Reference<boolean>("core/ConnectedFromTheStart", {
  defaultValue: () => true,
})

/** What a new number gets beside its body. */
export interface NumberDefaults {
  readonly connectedFromTheStart: boolean
  readonly createdAt: number
}

/**
 * The number that a body asks for; `connected` where its body does not say, if it can be. Fails with
 * `validation_failed` for a number that only linking connects; `field` is the path of its status.
 */
export const newNumber = (
  { label = "", phone, platform, status }: typeof NumberBody.Type,
  { connectedFromTheStart, createdAt }: NumberDefaults,
  field = "status",
): Result.Result<Omit<SendingNumber, "id" | "workspaceId">, Refusal> =>
  status === "connected" && !connectedFromTheStart
    ? Result.fail(
        refuse("validation_failed", {
          field,
          message: "A live number starts disconnected and is connected by linking it.",
        }),
      )
    : Result.succeed({
        mode: "live",
        phone: phoneDigits(phone),
        label,
        platform,
        status: status ?? (connectedFromTheStart ? "connected" : "disconnected"),
        loginMethod: "qr",
        createdAt,
      })

/** Makes `Numbers.connectionChanged`, for what connects numbers and stands below the service. */
export const makeConnectionChanged = Effect.gen(function* () {
  const store = yield* NumberStore
  const lanes = yield* LaneQueue
  const wakeUp = yield* WakeUp
  const callbacks = yield* makeConnectionCallbacks

  return Effect.fn("Numbers.connectionChanged")(function* (
    id: NumberId,
    status: "connected" | "disconnected",
    phone: string | null,
    reason: ConnectionReason | null = null,
  ) {
    const now = yield* Clock.currentTimeMillis
    const pause = pauseFor(reason)
    if (pause !== null) yield* lanes.pause(id, pause, now)
    const callback = yield* callbacks.of(id, status, phone)
    const noted = store.setStatus(id, status, phone ?? undefined, now, callback, reason)
    if (status === "disconnected") return yield* noted
    // Also when the store did not say whether it noted it: the loops look.
    return yield* Effect.ensuring(
      noted,
      Effect.andThen(wakeUp.wake("lanes"), wakeUp.wake("number_checks")),
    )
  })
})

export class Numbers extends Context.Service<
  Numbers,
  {
    /**
     * POST /workspaces/{id}/numbers. Fails with `number_exists` where a number of the workspace, connected
     * or not, has that phone on that platform.
     */
    create(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      command: CreateNumber,
    ): Effect.Effect<SendingNumber, Failure>
    /** GET /workspaces/{id}/numbers: oldest first. */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
    ): Effect.Effect<ReadonlyArray<SendingNumber>, Failure>
    /** PATCH /workspaces/{id}/numbers/{number_id}. Fails with `number_not_found`. */
    update(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: NumberId | undefined,
      command: ChangeNumber,
    ): Effect.Effect<OperatedNumber, Failure>
    /** DELETE: its waiting messages are cancelled, each with its event, before the answer. */
    remove(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: NumberId | undefined,
    ): Effect.Effect<NumberId, Failure>
    /**
     * A connection came up or dropped, as the transport reports it. Waiting messages of a logged-out
     * number wait until it reconnects, and when it was banned or the client is outdated until it is
     * resumed as well. Null when the number is gone.
     */
    connectionChanged(
      id: NumberId,
      status: "connected" | "disconnected",
      phone: string | null,
      reason?: ConnectionReason | null,
    ): Effect.Effect<SendingNumber | null, StoreUnavailable>
  }
>()("core/Numbers") {
  static readonly layer = Layer.effect(
    Numbers,
    Effect.gen(function* () {
      const store = yield* NumberStore
      const workspaces = yield* Workspaces
      const stranded = yield* makeStranded
      const wakeUp = yield* WakeUp
      const connectedFromTheStart = yield* ConnectedFromTheStart
      const startingPacing = yield* StartingPacing
      const secrets = yield* Secrets
      const notFound = refuse("number_not_found", { inPath: true })

      const sealed = (id: NumberId, { host, href, port }: ProxyUrl): SealedProxy => ({
        host,
        port,
        url: secrets.seal(proxyPlace(id), href),
      })

      return Numbers.of({
        create: Effect.fn("Numbers.create")(function* (role, workspaceId, command) {
          const workspace = yield* workspaces.within(role, workspaceId, "numbers")
          const input = yield* Effect.fromResult(decodeBody(command))
          const number = yield* Effect.fromResult(
            newNumber(input, { connectedFromTheStart, createdAt: yield* Clock.currentTimeMillis }),
          )
          const made = { ...number, workspaceId: workspace.id }
          const inserted = yield* store.insertNew(made, startingPacing[input.platform])
          if (inserted._tag === "Inserted") return inserted.number
          return yield* refuse("number_exists", {
            field: "phone",
            details: { number_id: inserted.id },
          })
        }),
        list: Effect.fn("Numbers.list")(function* (role, workspaceId) {
          return yield* store.list((yield* workspaces.within(role, workspaceId, "numbers")).id)
        }),
        update: Effect.fn("Numbers.update")(function* (role, workspaceId, id, command) {
          const workspace = yield* workspaces.within(role, workspaceId, "numbers")
          const found = id === undefined ? null : yield* store.get(workspace.id, id)
          if (found === null) return yield* notFound
          const { label, pacing, proxy_url: proxy } = yield* Effect.fromResult(decodePatch(command))
          const change: NumberChange = {
            ...(label === undefined ? {} : { label }),
            ...(pacing === undefined ? {} : { pacing: namedPacing(pacing) }),
            ...(proxy === undefined
              ? {}
              : { proxy: proxy === null ? null : sealed(found.id, proxy) }),
          }
          const now = yield* Clock.currentTimeMillis
          const changed =
            Object.keys(change).length === 0
              ? found
              : yield* store.change(workspace.id, found.id, change, now)
          if (changed === null) return yield* notFound
          if (pacing !== undefined) yield* wakeUp.wake("lanes")
          return withSettings(changed, (yield* store.settings([changed.id])).get(changed.id))
        }),
        remove: Effect.fn("Numbers.remove")(function* (role, workspaceId, id) {
          const workspace = yield* workspaces.within(role, workspaceId, "numbers")
          const now = yield* Clock.currentTimeMillis
          if (id === undefined) return yield* notFound
          const removed = yield* stranded.removing(store.remove(workspace.id, id, now))
          return removed ? id : yield* notFound
        }),
        connectionChanged: yield* makeConnectionChanged,
      })
    }),
  )
}
