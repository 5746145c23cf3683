/** Messages: sent alone and in batches, at once and later, with an expiry, repeated, read and cancelled. */
import { MessageOperations, Messages, Store } from "@messaging-service/core"
import type {
  Caller,
  CallbackUrl,
  Failure,
  Message,
  MessageId,
  TransactionClient,
} from "@messaging-service/core"
import { Effect, Result } from "effect"
import { Lost, oneOf } from "../calls.ts"
import { toName } from "../History.ts"
import type { CallRequest, MediaRequest } from "../History.ts"
import { quota } from "../SimulatedService.ts"
import type { Services } from "../SimulatedService.ts"
import { admitted, getRefusal } from "./asking.ts"
import type { Command, Feature, Planning, Stage } from "./Feature.ts"

const second = 1000
const minute = 60 * second

export type Send = Extract<CallRequest, { readonly _tag: "Send" }>

export const toPhone = (index: number): string => `+1555000${1000 + index}`

const iso = (instant: number): string => new Date(instant).toISOString()

/** How often a caller repeats a request, and the answers after which it stops. */
const sendTries = 8
const repeats = 4

/** The media in a request's format; null for none. */
const mediaInput = ({ media }: Send, { files }: Stage) => {
  if (media === undefined) return null
  if ("url" in media) return { url: media.url }
  const id = files.get(media.file)?.id ?? null
  return id === null ? null : { mediaId: id }
}

const sendOnce = (send: Send, stage: Stage) => {
  const { contacts, tenant } = stage
  const media = mediaInput(send, stage)
  const { callback, expiresAt, idempotencyKey, leavesOutNumber, mode, number, phones } = send
  const { sendAt, text } = send
  const terms = {
    callbackUrl: (callback ?? null) as CallbackUrl | null,
    attachment: null,
    keepRefused: send.keepsRefused === true,
  }
  const content = {
    from: leavesOutNumber === true ? null : Number(tenant.numbers[number]),
    text,
    sendAt: sendAt === null ? null : iso(sendAt),
    expiresAt: expiresAt === null ? null : iso(expiresAt),
    ...(media === null ? {} : { media }),
  }
  const [phone = "", ...others] = phones
  const contact = send.contact === undefined ? undefined : contacts.get(send.contact)
  const key = { key: idempotencyKey, fingerprint: text }
  const named = (each: string, index: number) =>
    contact === undefined || index > 0 ? { phone: each } : { contactId: contact }
  const sending = (caller: Caller) =>
    others.length === 0
      ? Messages.use((messages) =>
          messages.send(caller, { ...content, to: named(phone, 0) }, key, terms),
        )
      : Messages.use((messages) =>
          messages.sendBatch(caller, { ...content, to: phones.map(named) }, key, terms),
        )
  return Effect.flatMap(admitted(stage, send.key ?? null, mode), sending)
}

/** Whether the caller has received the key. */
const hasKey = ({ keys }: Stage, { key }: Pick<Send, "key">): boolean =>
  key === undefined || keys.has(key)

/** Sends it, and repeats until there is an answer. */
export const send = (requested: Send, isRepeated: boolean) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const { chance } = stage
    const { expiresAt, phones, sendAt, text } = requested
    if (expiresAt !== null && expiresAt <= stage.now() + 1) return
    if (sendAt !== null && sendAt <= stage.now()) return
    if (!hasKey(stage, requested)) return
    // A caller without the id of a file cannot send it.
    if (requested.media !== undefined && mediaInput(requested, stage) === null) return
    for (let attempt = 0; attempt < sendTries; attempt++) {
      const call = stage.recordRequest(requested)
      const result = yield* Effect.result(stage.callProcess(sendOnce(requested, stage)))
      if (Result.isSuccess(result)) {
        const ids = result.success.messages.map(({ id }) => Number(id))
        for (const [index, id] of ids.entries()) {
          stage.ids.set(toName(text, phones[index] ?? ""), id)
        }
        stage.answered(call, { _tag: "Accepted", ids })
        if (!isRepeated || attempt > repeats) return
      } else {
        const refusal = getRefusal(result.failure)
        if (refusal !== null) stage.answered(call, refusal)
        if (refusal !== null && refusal.code !== "idempotency_in_progress") return
      }
      yield* Effect.sleep(chance.below(chance.below(6) === 0 ? 80 * second : 3 * second))
    }
  })

export interface Probe {
  readonly text: string
  /** Index of the sending number; one has room for nine messages. */
  readonly number: number
  readonly sendAt?: number | null
  readonly expiresAt?: number | null
  readonly phone?: string
  /** Its idempotency key. */
  readonly key?: string
  /** It need not leave, and is not judged for that; or it is of the audited workspace. */
  readonly fate?: "refused" | "saturated" | "fetched" | "planned" | "audited"
  readonly mode?: "live" | "test"
  readonly media?: MediaRequest
}

/** Sends a message in calm. */
export const sendProbe = Effect.fnUntraced(function* (stage: Stage, probe: Probe) {
  const { expiresAt = null, fate, key, mode = "live", number, phone = toPhone(0) } = probe
  const { sendAt = null, text } = probe
  const request: Send = {
    _tag: "Send",
    text,
    phones: [phone],
    number,
    sendAt,
    expiresAt,
    idempotencyKey: key ?? text,
    mode,
    isProbe: fate === undefined,
    ...(fate === undefined || fate === "audited" ? {} : { fate }),
    ...(probe.media === undefined ? {} : { media: probe.media }),
  }
  const call = stage.recordRequest(request)
  const media = mediaInput(request, stage)
  const command = {
    from: Number(stage.tenant.numbers[number]),
    to: { phone },
    text,
    sendAt: sendAt === null ? null : iso(sendAt),
    expiresAt: expiresAt === null ? null : iso(expiresAt),
    ...(media === null ? {} : { media }),
  }
  const idempotency = key === undefined ? null : { key, fingerprint: text }
  const result = yield* Effect.result(
    stage.callProcess(
      Messages.use((service) => service.send(stage.tenant.callers[mode], command, idempotency)),
    ),
  )
  if (Result.isSuccess(result)) {
    const ids = result.success.messages.map(({ id }) => Number(id))
    stage.ids.set(toName(text, phone), ids[0] ?? 0)
    return stage.answered(call, { _tag: "Accepted", ids })
  }
  const refusal = getRefusal(result.failure)
  if (refusal === null) return yield* Effect.fail(result.failure)
  stage.answered(call, refusal)
})

/** Reads or cancels a message until an answer comes. */
export const checkMessage = (
  tag: "Read" | "Cancel",
  name: string,
  limits: Pick<Send, "key" | "onlyNumber"> = {},
) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const id = stage.ids.get(name) as MessageId | undefined
    if (id === undefined || !hasKey(stage, limits)) return
    const { callers, workspace } = stage.tenant
    const { live } = callers
    const isOperator = tag === "Cancel" && stage.chance.below(4) === 0
    for (let attempt = 0; attempt < 3; attempt++) {
      const call = stage.recordRequest({ _tag: tag, name, ...limits })
      const looking: Effect.Effect<Message, Failure, Services> = isOperator
        ? MessageOperations.use((operations) => operations.cancel("owner", workspace, id))
        : Effect.flatMap(admitted(stage, limits.key ?? null, "live"), (caller) =>
            Messages.use((messages) =>
              tag === "Cancel" ? messages.cancel(live, id) : messages.get(caller, id),
            ),
          )
      const result = yield* Effect.result(stage.callProcess(looking))
      if (Result.isSuccess(result)) {
        const { media, state } = result.success
        const hasLink = media === null ? {} : { hasLink: media.isMissing !== true }
        stage.answered(call, { _tag: "State", state, ...hasLink })
        return
      }
      const refusal = getRefusal(result.failure)
      if (refusal !== null) {
        stage.answered(call, refusal)
        return
      }
      yield* Effect.sleep(stage.chance.below(second))
    }
  })

/**
 * Cancels a message inside a transaction of the caller's, which stays open for a while and is then
 * committed or not. A caller without an answer rolls back.
 */
const cancelInTransaction = (name: string) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const id = stage.ids.get(name) as MessageId | undefined
    if (id === undefined) return
    const { chance, transactions } = stage
    const { live } = stage.tenant.callers
    const client: TransactionClient = { query: async () => ({ rows: [] }) }
    const call = stage.recordRequest({ _tag: "Cancel", name })
    yield* transactions.begin(client)
    const cancelling = Effect.flatMap(Store, ({ system }) =>
      system.joinTransaction(
        client,
        Messages.use((messages) => messages.cancel(live, id, true)),
      ),
    ).pipe(Effect.catchTag("CannotJoin", () => Effect.fail(new Lost())))
    const result = yield* Effect.result(stage.callProcess(cancelling))
    const openMillis = oneOf(chance, [150, 5 * second, 90 * second])
    if (Result.isSuccess(result)) yield* Effect.sleep(chance.below(openMillis))
    if (Result.isFailure(result) || chance.below(3) === 0) {
      yield* transactions.rollback(client)
      const refusal = Result.isFailure(result) ? getRefusal(result.failure) : null
      if (refusal !== null) stage.answered(call, refusal)
      return
    }
    yield* Effect.orDie(transactions.commit(client))
    stage.answered(call, { _tag: "State", state: result.success.state })
  })

/** Some callers cancel inside a transaction of their own. */
const cancel = (name: string) => (stage: Stage) =>
  stage.chance.below(2) === 0
    ? cancelInTransaction(name)(stage)
    : checkMessage("Cancel", name)(stage)

/** A planned message, and the approximate times of its events. */
interface Planned {
  readonly name: string
  readonly about: number
}

/** A send with a unique identity, which names its text and its idempotency key. */
const planMessage = (
  planning: Planning,
  text: string,
  callback: string | null,
): readonly [Command, Planned] => {
  const { chance, numbers, start } = planning
  const at = planning.instant()
  const recipients = chance.below(8) === 0 ? 2 + chance.below(3) : 1
  // Coinciding moments cause the races.
  const sendAt = chance.below(3) === 0 ? start + at + 1 + chance.below(2 * minute) : null
  const expiresAt =
    chance.below(3) === 0
      ? (sendAt ?? start + at) + 1 + chance.below(oneOf(chance, [150, 3 * second, minute]))
      : null
  const mode = callback === null && chance.below(10) === 0 ? "test" : "live"
  // Some callers use one key for different requests, and only the first one is answered.
  const isKeyReused = callback === null && chance.below(10) === 0
  const requested: Send = {
    _tag: "Send",
    text,
    phones: Array.from({ length: recipients }, (_, each) => toPhone(each)),
    number: chance.below(numbers),
    sendAt,
    expiresAt,
    idempotencyKey: isKeyReused ? `reused ${mode} ${chance.below(3)}` : `k ${text}`,
    mode,
    isProbe: false,
    ...(callback === null ? {} : { callback }),
    ...(chance.below(15) === 0 ? { leavesOutNumber: true } : {}),
    ...(callback !== null || chance.below(8) === 0 ? { keepsRefused: true } : {}),
  }
  const command = { at, name: `send ${text}`, perform: send(requested, chance.below(3) === 0) }
  const name = toName(text, toPhone(chance.below(recipients)))
  return [command, { name, about: Math.max(at, sendAt === null ? 0 : sendAt - start) }]
}

/** A send with media, to one recipient, and sometimes its cancellation. */
export const planSendWithMedia = (
  { chance, instant, numbers, start }: Planning,
  text: string,
  media: MediaRequest,
  earliest = 0,
): ReadonlyArray<Command> => {
  const at = Math.max(earliest, instant())
  const sendAt = chance.below(3) === 0 ? start + at + 1 + chance.below(minute) : null
  const requested: Send = {
    _tag: "Send",
    text,
    phones: [toPhone(chance.below(2))],
    number: chance.below(numbers),
    sendAt,
    expiresAt:
      chance.below(4) === 0 ? (sendAt ?? start + at) + 1 + chance.below(10 * second) : null,
    idempotencyKey: `k ${text}`,
    mode: "live",
    isProbe: false,
    media,
  }
  const command = { at, name: `send ${text}`, perform: send(requested, chance.below(3) === 0) }
  if (chance.below(5) !== 0) return [command]
  const name = toName(text, requested.phones[0] ?? "")
  const about = Math.max(at, sendAt === null ? 0 : sendAt - start) + chance.below(4 * second)
  return [command, { at: about, name: `cancel ${name}`, perform: checkMessage("Cancel", name) }]
}

/** A send that reports its end, and sometimes its cancellation. */
export const planSend = (
  planning: Planning,
  text: string,
  callback: string,
): ReadonlyArray<Command> => {
  const { chance } = planning
  const [command, { about, name }] = planMessage(planning, text, callback)
  if (chance.below(3) !== 0) return [command]
  const at = Math.max(0, about + chance.below(6 * second) - second)
  return [command, { at, name: `cancel ${name}`, perform: checkMessage("Cancel", name) }]
}

/** How far back in the plan the read or cancelled message is. */
const recent = 6

export const messages: Feature = {
  name: "messages",
  plan: (planning) => {
    const { chance, count } = planning
    const commands: Array<Command> = []
    const planned: Array<Planned> = []
    for (let index = 0; index < count; index++) {
      const drawn = chance.below(100)
      const latest = planned.slice(-recent)
      const some = latest[chance.below(Math.max(1, latest.length))]
      if (drawn < 62 || some === undefined) {
        const [command, message] = planMessage(planning, `m${index}`, null)
        commands.push(command)
        planned.push(message)
      } else if (drawn < 86) {
        const at = Math.max(0, some.about + chance.below(6 * second) - second)
        commands.push({ at, name: `cancel ${some.name}`, perform: cancel(some.name) })
      } else {
        const at = some.about + chance.below(20 * second)
        commands.push({ at, name: `read ${some.name}`, perform: checkMessage("Read", some.name) })
      }
    }
    return commands
  },
  probe: (stage) => probeRoom(stage),
}

/** Index of the probe's number that is filled. */
const filledNumber = 5

/** Index of a probe's number that is never full. */
export const roomyNumber = 7

/** A full number refuses, and accepts again once one of its messages is cancelled. */
const probeRoom = Effect.fnUntraced(function* (stage: Stage) {
  const sendAt = stage.now() + 20 * second
  const part = (text: string, key = text) =>
    sendProbe(stage, { number: filledNumber, text, sendAt, key, fate: "saturated" })
  for (let index = 0; index < quota.messages; index++) yield* part(`fills ${index}`)
  // A refusal leaves its key to the corrected request.
  yield* part("is too much", "a key")
  yield* sendProbe(stage, { number: roomyNumber, text: "goes elsewhere", key: "a key" })
  yield* checkMessage("Cancel", toName("fills 0", toPhone(0)))(stage)
  yield* part("fits again")
  yield* part("is too much again")
})
