/**
 * The receivers of webhooks and callbacks: `https://<name>.receiver.test/…` is answered within the process,
 * for any label. The way out for deliveries is the boundary, so that signatures, retries and the log are those
 * of any delivery. Calls and answers are kept in memory, by workspace: no workspace sees those of another.
 */
import {
  callbackSalt,
  described,
  Egress,
  EgressError,
  HmacSha256,
  inputDecoder,
  layerStoredSecrets,
  parseOutboundUrl,
  refuse,
  signature,
  SigningSecrets,
  sleepInRealTime,
  Store,
  textBetween,
  Workspaces,
} from "@messaging-service/core"
import type {
  Failure,
  PostAnswer,
  PostLimits,
  PostRequest,
  WorkspaceId,
} from "@messaging-service/core"
import { Clock, Context, Effect, Layer, Result, Schema } from "effect"

/** Receivers of one workspace; one more takes the place of the one that was unused for longest. */
const maxReceivers = 50

/** Calls of one receiver; the oldest go first. */
const maxCalls = 100

/** Text of the calls of one workspace, in UTF-16 units; the oldest go first. */
const maxWorkspaceText = 16 * 1024 ** 2

/** As much as a delivery reads of an answer. */
const maxAnswerText = 16 * 1024

/** How old a signature may be, in seconds, as `docs/webhooks.md` tells receivers. */
const signatureTolerance = 300

export const receiverStatuses = [200, 410, 500] as const

/** What a receiver answers from now on. */
export interface ReceiverAnswer {
  readonly status: (typeof receiverStatuses)[number]
  readonly body: string
  /** It answers nothing: the call ends by its own time limit. */
  readonly hangs: boolean
}

export const callSignatures = ["valid", "invalid", "none"] as const

/** What a receiver that knows the secret finds of a call's signature. `none`: the call has none. */
export type CallSignature = (typeof callSignatures)[number]

/** A call that a receiver got. */
export interface ReceiverCall {
  /** Unique in this process; a later call has a higher one. */
  readonly id: number
  readonly at: number
  readonly method: "POST"
  /** Its path and query. */
  readonly path: string
  /** In their order, with names in lower case. */
  readonly headers: ReadonlyArray<{ readonly name: string; readonly value: string }>
  readonly body: string
  readonly eventId: string | null
  /** Of the event; null for a callback. */
  readonly type: string | null
  readonly signature: CallSignature
  readonly answer: ReceiverAnswer
}

/** A receiver, as the controls list it. */
export interface Receiver {
  readonly name: string
  readonly url: string
  /** How many of its calls are kept. */
  readonly calls: number
  readonly lastCallAt: number | null
  readonly answer: ReceiverAnswer
}

const usualAnswer: ReceiverAnswer = { status: 200, body: "", hangs: false }

export const ReceiverAnswerBody = Schema.Struct({
  status: described(
    Schema.optionalKey(Schema.Literals(receiverStatuses)),
    "Status of the answer.",
    {
      default: 200,
    },
  ),
  body: described(
    Schema.optionalKey(textBetween(0, maxAnswerText)),
    "Content of the answer; the delivery log keeps its first KiB.",
    { default: "" },
  ),
  hangs: described(
    Schema.optionalKey(Schema.Boolean),
    "Answers nothing: the delivery ends by its own time limit.",
    { default: false },
  ),
}).annotate({ identifier: "SetReceiverAnswer" })

const decodeAnswer = inputDecoder(ReceiverAnswerBody)

/** The label before `.receiver.test`. */
export const receiverName = /^[a-z0-9_-]{1,63}$/

interface Target {
  readonly name: string
  readonly host: string
  readonly path: string
}

/** The receiver that a URL leads to; null for any other address. */
const findReceiver = (text: string, allowHttp: boolean): Target | null => {
  // Most addresses are others: no need to read them.
  if (!/\.receiver\.test/i.test(text)) return null
  const url = parseOutboundUrl(text, { allowHttp, allowPrivate: false })
  if (Result.isFailure(url)) return null
  const { hostname, pathname, port, search } = url.success
  const name = hostname.replace(/\.receiver\.test\.?$/, "")
  if (name === hostname || !receiverName.test(name)) return null
  return { name, host: port === "" ? hostname : `${hostname}:${port}`, path: pathname + search }
}

/** The URL of a receiver. */
export const receiverUrl = (name: string): string => `https://${name}.receiver.test/`

/** The type that a webhook's body names; null for a callback's form. */
const findType = (body: string): string | null => {
  const parsed = Result.try(() => JSON.parse(body) as { readonly type?: unknown } | null)
  const type = Result.isSuccess(parsed) ? parsed.success?.type : undefined
  return typeof type === "string" ? type : null
}

interface StoredReceiver {
  answer: ReceiverAnswer
  /** Oldest first. */
  calls: Array<ReceiverCall>
}

const textLength = ({ body, headers, path }: ReceiverCall): number =>
  headers.reduce((sum, { name, value }) => sum + name.length + value.length, body.length) +
  path.length

/** What one workspace has; its bounds take room from no other. */
class WorkspaceReceivers {
  /** The one that was unused for longest comes first. */
  readonly #byName = new Map<string, StoredReceiver>()
  #text = 0

  get names(): ReadonlyArray<string> {
    return [...this.#byName.keys()]
  }

  find(name: string): StoredReceiver | undefined {
    return this.#byName.get(name)
  }

  /** The receiver, made on its first use. */
  use(name: string): StoredReceiver {
    const receiver = this.#byName.get(name) ?? { answer: usualAnswer, calls: [] }
    this.#byName.delete(name)
    this.#byName.set(name, receiver)
    const [unused] = this.#byName.keys()
    if (this.#byName.size > maxReceivers && unused !== undefined) {
      this.clear(unused)
      this.#byName.delete(unused)
    }
    return receiver
  }

  add(receiver: StoredReceiver, call: ReceiverCall): void {
    receiver.calls.push(call)
    this.#text += textLength(call)
    if (receiver.calls.length > maxCalls) this.#dropOldest(receiver)
    while (this.#text > maxWorkspaceText) {
      const [oldest] = [...this.#byName.values()]
        .filter(({ calls }) => calls.length > 0)
        .toSorted((a, b) => (a.calls[0]?.id ?? 0) - (b.calls[0]?.id ?? 0))
      if (oldest === undefined) return
      this.#dropOldest(oldest)
    }
  }

  clear(name: string): void {
    const receiver = this.#byName.get(name)
    if (receiver === undefined) return
    while (receiver.calls.length > 0) this.#dropOldest(receiver)
  }

  #dropOldest(receiver: StoredReceiver): void {
    const call = receiver.calls.shift()
    if (call !== undefined) this.#text -= textLength(call)
  }
}

/** What the receivers of this process have been called with, and what they answer. */
export class Receivers extends Context.Service<
  Receivers,
  {
    /** Makes what the workspace has, when it has nothing yet. */
    of(workspaceId: WorkspaceId): WorkspaceReceivers
    /** Forgets everything of a workspace. */
    forget(workspaceId: WorkspaceId): void
  }
>()("emulator/Receivers") {
  static readonly layer = Layer.sync(Receivers, () => {
    const workspaces = new Map<WorkspaceId, WorkspaceReceivers>()
    return Receivers.of({
      of: (workspaceId) => {
        const known = workspaces.get(workspaceId) ?? new WorkspaceReceivers()
        workspaces.set(workspaceId, known)
        return known
      },
      forget: (workspaceId) => void workspaces.delete(workspaceId),
    })
  })
}

/** Judges a call by the secrets that its receiver may know: of its endpoints, and of the callbacks. */
const makeJudge = Effect.gen(function* makeJudge() {
  const { webhooks, workspaces } = yield* Store
  const secrets = yield* SigningSecrets
  const hmacSha256 = yield* HmacSha256

  return Effect.fnUntraced(function* judge(
    { name }: Target,
    { body, headers, workspaceId }: PostRequest,
    now: number,
  ) {
    const received = headers["service-signature"]
    if (received === undefined) return "none"
    const timestamp = Number(headers["service-timestamp"])
    if (!(Math.abs(now / 1000 - timestamp) <= signatureTolerance)) return "invalid"
    const endpoints = yield* webhooks.list({ workspaceId, mode: null }, true)
    const salt = callbackSalt(workspaceId, yield* workspaces.callbackSalt(workspaceId))
    const known = [
      ...endpoints
        .filter(({ url }) => findReceiver(url, true)?.name === name)
        .map(({ secretSalt }) => secrets.webhooks.of(secretSalt)),
      secrets.callbacks.of(salt),
    ]
    return known.some((secret) => signature(hmacSha256, secret, timestamp, body) === received)
      ? "valid"
      : "invalid"
  })
})

const timedOut = ({ timeoutMillis }: PostLimits) =>
  Effect.andThen(
    sleepInRealTime(timeoutMillis),
    Effect.fail(new EgressError({ reason: "timeout" })),
  )

const toPostAnswer = (
  { body, status }: ReceiverAnswer,
  { storedBytes }: PostLimits,
): PostAnswer => {
  const headers = { "content-type": "text/plain; charset=utf-8" }
  return storedBytes === undefined
    ? { status, headers }
    : { status, headers, beginning: new TextEncoder().encode(body).subarray(0, storedBytes) }
}

/** The way out, on which calls of receivers stay within the process. */
const layerEgress = Layer.effect(
  Egress,
  Effect.gen(function* () {
    const outside = yield* Egress
    const receivers = yield* Receivers
    const judge = yield* makeJudge
    const { workspaces } = yield* Store
    let lastId = 0

    const receive = Effect.fnUntraced(function* receive(
      target: Target,
      request: PostRequest,
      limits: PostLimits,
    ) {
      const at = yield* Clock.currentTimeMillis
      const { body, headers, workspaceId } = request
      // Without the store no receiver knows its secret: it is down.
      const [signed, workspace] = yield* Effect.all([
        judge(target, request, at),
        workspaces.get(workspaceId),
      ]).pipe(Effect.mapError((cause) => new EgressError({ reason: "connection", cause })))
      // Events of a deleted workspace are still delivered.
      if (workspace === null) return toPostAnswer(usualAnswer, limits)
      const own = receivers.of(workspaceId)
      const receiver = own.use(target.name)
      const { answer } = receiver
      own.add(receiver, {
        id: ++lastId,
        at,
        method: "POST",
        path: target.path,
        headers: Object.entries({ host: target.host, ...headers }).map(([name, value]) => ({
          name,
          value,
        })),
        body,
        eventId: headers["service-event-id"] ?? null,
        type: findType(body),
        signature: signed,
        answer,
      })
      return answer.hangs ? yield* timedOut(limits) : toPostAnswer(answer, limits)
    })

    return Egress.of({
      ...outside,
      allows: (url, workspaceId) =>
        findReceiver(url, true) === null ? outside.allows(url, workspaceId) : Effect.succeed(true),
      post: (url, request, limits) => {
        const target = findReceiver(url, request.allowHttp)
        return target === null
          ? outside.post(url, request, limits)
          : receive(target, request, limits)
      },
    })
  }),
)

/** The receivers, and the way out that reaches them. */
export const layerReceivers = layerEgress.pipe(
  Layer.provide(SigningSecrets.layer),
  Layer.provide(layerStoredSecrets),
  Layer.provideMerge(Receivers.layer),
)

/** Deleting a workspace forgets what its receivers have. */
export const layerForgetting = Layer.effect(
  Workspaces,
  Effect.gen(function* () {
    const workspaces = yield* Workspaces
    const receivers = yield* Receivers
    return Workspaces.of({
      ...workspaces,
      delete: (role, id) =>
        Effect.tap(workspaces.delete(role, id), (deleted) =>
          Effect.sync(() => receivers.forget(deleted)),
        ),
    })
  }),
)

/** The controls of a workspace's receivers. */
export interface ReceiverControls {
  /** Those that were used, and those that its endpoints name, by name. */
  list(id: WorkspaceId | undefined): Effect.Effect<ReadonlyArray<Receiver>, Failure>
  /** Replaces what it answers. */
  setAnswer(
    id: WorkspaceId | undefined,
    name: string,
    body: unknown,
  ): Effect.Effect<Receiver, Failure>
  /** Its calls, newest first. */
  calls(
    id: WorkspaceId | undefined,
    name: string,
  ): Effect.Effect<ReadonlyArray<ReceiverCall>, Failure>
  /** Forgets its calls. */
  clear(id: WorkspaceId | undefined, name: string): Effect.Effect<Receiver, Failure>
}

const wrongName = refuse("validation_failed", {
  field: "name",
  message: "name: must be a label of a host name, in lower case",
})

export const makeReceiverControls = Effect.gen(function* makeReceiverControls() {
  const { webhooks } = yield* Store
  const workspaces = yield* Workspaces
  const receivers = yield* Receivers

  const requireOwn = (id: WorkspaceId | undefined) =>
    Effect.map(workspaces.get(id), (workspace) => receivers.of(workspace.id))

  const find = Effect.fnUntraced(function* find(id: WorkspaceId | undefined, name: string) {
    const own = yield* requireOwn(id)
    return receiverName.test(name) ? own : yield* wrongName
  })

  const toReceiver = (own: WorkspaceReceivers, name: string): Receiver => {
    const { answer, calls } = own.find(name) ?? { answer: usualAnswer, calls: [] }
    return {
      name,
      url: receiverUrl(name),
      calls: calls.length,
      lastCallAt: calls.at(-1)?.at ?? null,
      answer,
    }
  }

  const controls: ReceiverControls = {
    list: Effect.fn("Receivers.list")(function* list(id) {
      const workspace = yield* workspaces.get(id)
      const endpoints = yield* webhooks.list({ workspaceId: workspace.id, mode: null }, true)
      const named = endpoints.flatMap(({ url }) => findReceiver(url, true)?.name ?? [])
      const own = receivers.of(workspace.id)
      const names = new Set([...own.names, ...named])
      return [...names].toSorted().map((name) => toReceiver(own, name))
    }),
    setAnswer: Effect.fn("Receivers.setAnswer")(function* setAnswer(id, name, body) {
      const own = yield* find(id, name)
      const input = yield* Effect.fromResult(decodeAnswer(body))
      own.use(name).answer = { ...usualAnswer, ...input }
      return toReceiver(own, name)
    }),
    calls: Effect.fn("Receivers.calls")(function* calls(id, name) {
      const own = yield* find(id, name)
      return (own.find(name)?.calls ?? []).toReversed()
    }),
    clear: Effect.fn("Receivers.clear")(function* clear(id, name) {
      const own = yield* find(id, name)
      own.clear(name)
      return toReceiver(own, name)
    }),
  }
  return controls
})
