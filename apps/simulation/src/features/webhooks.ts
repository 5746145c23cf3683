/**
 * Webhook endpoints: created, tested, rotated, stopped with their key, resumed, redelivered to and removed.
 */
import { WebhookOperations, Webhooks } from "@messaging-service/core"
import type { EventId, WebhookId } from "@messaging-service/core"
import { Effect } from "effect"
import type { Answer, ChangeEndpoint, MakeEndpoint } from "../History.ts"
import { admitted, retryUntilAnswered, done, makeKey, revokeKey } from "./asking.ts"
import type { Command, Feature, Planning, Stage } from "./Feature.ts"
import { sendProbe } from "./messages.ts"

const second = 1000
const minute = 60 * second

type Mode = MakeEndpoint["mode"]

const eventTypes = [
  "message.sent",
  "message.failed",
  "message.cancelled",
  "message.expired",
] as const

/** How often an endpoint is requested with one key. */
const repeats = 3

const make = (requested: MakeEndpoint) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const { chance } = stage
    if (requested.key !== null && !stage.keys.has(requested.key)) return
    const times = chance.below(3) === 0 ? repeats : 1
    for (let time = 0; time < times; time++) {
      const request: MakeEndpoint = { ...requested, isOther: chance.below(6) === 0 }
      const { idempotencyKey, isOther, key, mode, url } = request
      const answer = yield* retryUntilAnswered(stage, {
        request,
        effect: Effect.flatMap(admitted(stage, key, mode), (caller) =>
          Webhooks.use((webhooks) =>
            webhooks.create(
              caller,
              {
                url,
                events: eventTypes.filter((type) => request.events.includes(type)),
                ...(isOther ? { description: "other" } : {}),
              },
              { key: idempotencyKey, fingerprint: `${url}${isOther ? " other" : ""}` },
            ),
          ),
        ),
        answer: ({ answer: endpoint, replayed }): Answer => ({
          _tag: "Made",
          id: Number(endpoint.id),
          secret: "secret" in endpoint ? endpoint.secret : null,
          isReplayed: replayed,
        }),
      })
      if (answer?._tag === "Made") stage.endpoints.set(url, answer.id)
      yield* Effect.sleep(chance.below(5 * second))
    }
  })

/** An event that some receiver was called with. */
const someEvent = ({ chance, history }: Stage): string | null => {
  const received = history.flatMap((entry) =>
    entry._tag === "Told" && entry.kind === "webhook" ? [entry.eventId] : [],
  )
  return received[chance.below(Math.max(1, received.length))] ?? null
}

const change = (
  tag: ChangeEndpoint["_tag"],
  url: string,
  mode: Mode,
  pick: (stage: Stage) => string | null = someEvent,
) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const known = stage.endpoints.get(url)
    const since = stage.now() - 5 * minute
    const eventId = tag === "Redeliver" ? pick(stage) : null
    if (known === undefined || (tag === "Redeliver" && eventId === null)) return
    const { callers, workspace } = stage.tenant
    const caller = callers[mode]
    const id = known as WebhookId
    const request: ChangeEndpoint = { _tag: tag, url, eventId }
    const queued = (event: { readonly id: EventId }): Answer => ({
      _tag: "Queued",
      eventId: event.id,
    })
    switch (tag) {
      case "RotateSecret":
        yield* retryUntilAnswered(stage, {
          request,
          effect: Webhooks.use((webhooks) => webhooks.rotateSecret(caller, id)),
          answer: ({ secret }) => ({ _tag: "Secret", secret }),
        })
        return
      case "RemoveEndpoint":
        yield* retryUntilAnswered(stage, {
          request,
          effect: Webhooks.use((webhooks) => webhooks.remove(caller, id)),
          answer: done,
        })
        return
      case "ResumeEndpoint":
        yield* retryUntilAnswered(stage, {
          request,
          effect: WebhookOperations.use((operations) => operations.resume("owner", workspace, id)),
          answer: done,
        })
        return
      case "Recover":
        yield* retryUntilAnswered(stage, {
          request,
          effect: WebhookOperations.use((operations) =>
            operations.recover("owner", workspace, id, { since: new Date(since).toISOString() }),
          ),
          answer: done,
        })
        return
      case "Ping":
        yield* retryUntilAnswered(stage, {
          request,
          effect: Webhooks.use((webhooks) => webhooks.test(caller, id)),
          answer: queued,
        })
        return
      case "Redeliver":
        yield* retryUntilAnswered(stage, {
          request,
          effect: WebhookOperations.use((operations) =>
            operations.redeliver("owner", workspace, id, { eventId: eventId ?? "" }),
          ),
          answer: queued,
        })
    }
  })

interface PlannedKey {
  readonly name: string
  readonly mode: Mode
  readonly at: number
}

const planKeys = ({ chance, instant, span }: Planning, commands: Array<Command>) => {
  const keys: Array<PlannedKey> = []
  for (let count = chance.below(3); count > 0; count--) {
    const name = `hooks ${count}`
    const mode = chance.below(4) === 0 ? "test" : "live"
    const at = Math.floor(instant() / 4)
    commands.push({ at, name: `make key ${name}`, perform: makeKey(name, mode) })
    const revokedAt = at + chance.below(4 * minute)
    if (chance.below(3) !== 0 && revokedAt < span) {
      commands.push({ at: revokedAt, name: `revoke key ${name}`, perform: revokeKey(name) })
    }
    keys.push({ name, mode, at })
  }
  return keys
}

const planEndpoint = (
  planning: Planning,
  index: number,
  keys: ReadonlyArray<PlannedKey>,
): ReadonlyArray<Command> => {
  const { chance, instant, span } = planning
  // The first ones have keys of their own, where there are any.
  const any = chance.below(3) === 0 ? undefined : keys[chance.below(Math.max(1, keys.length))]
  const key = index < 2 ? keys[index] : any
  const mode = key?.mode ?? (chance.below(4) === 0 ? "test" : "live")
  const at = key === undefined ? Math.floor(instant() / 2) : key.at + chance.below(2 * minute)
  const url = `https://receiver.example/e${index}`
  const requested: MakeEndpoint = {
    _tag: "MakeEndpoint",
    url,
    key: key?.name ?? null,
    mode,
    events: chance.below(2) === 0 ? eventTypes : eventTypes.filter(() => chance.below(2) === 0),
    // One word may be an idempotency key of several API keys, each for its own request.
    idempotencyKey: key === undefined || index > 1 ? `hook ${index}` : "hook",
    isOther: false,
  }
  if (requested.events.length === 0) return []
  const changes: Array<readonly [ChangeEndpoint["_tag"], number]> = []
  const some = (tag: ChangeEndpoint["_tag"], max: number) => {
    for (let count = chance.below(max + 1); count > 0; count--) {
      changes.push([tag, at + chance.below(span - at)])
    }
  }
  some("RotateSecret", 2)
  some("Ping", 2)
  some("Redeliver", 3)
  if (key !== undefined) {
    some("ResumeEndpoint", 2)
    some("Recover", 2)
  }
  if (chance.below(4) === 0) {
    const removedAt = at + chance.below(span - at)
    changes.push(["RemoveEndpoint", removedAt])
    for (let count = chance.below(3); count > 0; count--) changes.push(["Redeliver", removedAt])
  }
  return [
    { at, name: `make endpoint ${url}`, perform: make(requested) },
    ...changes.map(([tag, when]) => ({
      at: when,
      name: `${tag} ${url}`,
      perform: change(tag, url, mode),
    })),
  ]
}

export const webhooks: Feature = {
  name: "webhooks",
  plan: (planning) => {
    const { chance } = planning
    const commands: Array<Command> = []
    if (chance.below(2) === 0) return commands
    const keys = planKeys(planning, commands)
    for (let index = chance.below(7); index >= 0; index--) {
      commands.push(...planEndpoint(planning, index, keys))
    }
    return commands
  },
  calm: Effect.fnUntraced(function* (stage) {
    if (stage.chance.below(slowInsertsOf) !== 0) return
    yield* overtakeCalls(stage)
    yield* outliveKey(stage)
    yield* outliveClaim(stage)
  }),
  probe: Effect.fnUntraced(function* (stage) {
    yield* probeRetry(stage)
    yield* probeRecovery({ ...stage, tenant: stage.audited })
    yield* probeRotation({ ...stage, tenant: stage.audited })
  }),
}

/** In one of so many seeds creations of endpoints take long in calm. */
const slowInsertsOf = 4

const insertion = "webhooks.insert"
const redelivery = "webhooks.redeliver"

/** An endpoint that subscribes to everything. */
const wholeEndpoint = (name: string, key: string | null): MakeEndpoint => ({
  _tag: "MakeEndpoint",
  url: `https://receiver.example/${name}`,
  key,
  mode: "live",
  events: eventTypes,
  idempotencyKey: name,
  isOther: false,
})

/** A ping is asked for again while calls with it are under way. */
const overtakeCalls = Effect.fnUntraced(function* (stage: Stage) {
  const { chance } = stage
  const requested = wholeEndpoint("overtaken", null)
  const ping = ({ history }: Stage): string | null => {
    const reported = history.findLast(
      (entry) => entry._tag === "Told" && entry.url === requested.url,
    )
    return reported?._tag === "Told" ? reported.eventId : null
  }
  yield* make(requested)(stage)
  yield* change("Ping", requested.url, requested.mode)(stage)
  yield* Effect.sleep(second)
  for (let count = 0; count < 6; count++) {
    yield* change("Redeliver", requested.url, requested.mode, ping)(stage)
    yield* Effect.sleep(chance.below(60))
  }
  yield* Effect.sleep(second)
})

/** A key is revoked while an endpoint is created with it. */
const outliveKey = Effect.fnUntraced(function* (stage: Stage) {
  const key = "outlived"
  yield* makeKey(key, "live")(stage)
  stage.delay(insertion, second)
  const revocation = Effect.andThen(Effect.sleep(second / 2), revokeKey(key)(stage))
  const creating = make(wholeEndpoint("outlived-key", key))(stage)
  yield* Effect.all([creating, revocation], { concurrency: 2 })
  stage.delay(insertion, 0)
})

/** Longer than a claim on an idempotency key lasts. */
const outlivedMillis = 32 * second

/** Two creations under one idempotency key; the first outlives its claim. */
const outliveClaim = Effect.fnUntraced(function* (stage: Stage) {
  const requested = wholeEndpoint("outlived-claim", null)
  stage.delay(insertion, outlivedMillis + 2 * second)
  const later = Effect.gen(function* () {
    yield* Effect.sleep(outlivedMillis)
    stage.delay(insertion, 4 * second)
    yield* make(requested)(stage)
  })
  yield* Effect.all([make(requested)(stage), later], { concurrency: 2 })
  stage.delay(insertion, 0)
  // It is removed while a redelivery is pending.
  stage.delay(redelivery, second)
  const removal = change("RemoveEndpoint", requested.url, requested.mode)(stage)
  const retelling = change("Redeliver", requested.url, requested.mode)(stage)
  yield* Effect.all([retelling, Effect.andThen(Effect.sleep(second / 2), removal)], {
    concurrency: 2,
  })
  stage.delay(redelivery, 0)
})

/** An endpoint that was stopped hears, once it is resumed and recovers, of what happened meanwhile. */
const probeRecovery = Effect.fnUntraced(function* (stage: Stage) {
  const key = "recovers"
  const { mode, url, ...requested } = { ...wholeEndpoint(key, key), mode: "test" } as const
  yield* makeKey(key, mode)(stage)
  yield* make({ ...requested, mode, url })(stage)
  yield* revokeKey(key)(stage)
  yield* sendProbe(stage, { number: 0, text: "while it is stopped", mode, fate: "audited" })
  yield* Effect.sleep(second)
  yield* change("ResumeEndpoint", url, mode)(stage)
  yield* change("Recover", url, mode)(stage)
  yield* Effect.sleep(3 * second)
})

/** Each attempt is signed with the secret of its own moment. */
const probeRotation = Effect.fnUntraced(function* (stage: Stage) {
  const requested = wholeEndpoint("rotated", null)
  yield* make(requested)(stage)
  // Long after any fault, so that no call may still follow the former state.
  yield* Effect.sleep(4 * minute)
  stage.refuseCalls(requested.url, stage.now() + 2 * second)
  yield* change("Ping", requested.url, requested.mode)(stage)
  yield* Effect.sleep(second)
  yield* change("RotateSecret", requested.url, requested.mode)(stage)
  yield* Effect.sleep(10 * second)
  yield* change("RemoveEndpoint", requested.url, requested.mode)(stage)
})

/** Index of the probe's number with a failing receiver for its messages. */
const reportedNumber = 6

/** A failed delivery is retried when due, even if nothing else happens before. */
const probeRetry = Effect.fnUntraced(function* (stage: Stage) {
  const url = "https://receiver.example/Probes"
  const number = reportedNumber
  stage.refuseCalls(url, stage.now() + 2 * second)
  yield* sendProbe(stage, { number, text: "refused by its receiver" })
  yield* Effect.sleep(10 * second)
  stage.refuseCalls(url, stage.now() + 2 * second)
  yield* sendProbe(stage, { number, text: "refused again" })
  yield* Effect.sleep(3 * second)
  yield* sendProbe(stage, { number, text: "taken in" })
  yield* Effect.sleep(5 * second)
})
