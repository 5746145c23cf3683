/** What one caller can do in one workspace: messages, reminders, numbers, files and webhooks. */
import {
  CannotJoin,
  Chats,
  Connections,
  dailyQuota,
  filesUnavailable,
  maximumFileBytes,
  MediaDirectory,
  MediaFiles,
  MediaLinks,
  Messages,
  messagesRemaining,
  noRoomForFile,
  NumberChecks,
  authorize,
  QrImages,
  QrLinks,
  refuse,
  refuseUnkept,
  Reminders,
  requestsPerDay,
  requestsPerMinute,
  sleepInRealTime,
  uploadedFileName,
  Webhooks,
  Store,
} from "@messaging-service/core"
import type {
  Caller,
  ChatEntry as CoreEntry,
  EndpointWithSecret,
  Failure,
  MediaFilesError,
  MediaId,
  Message,
  MessageId,
  NumberId,
  SpooledContent,
  Upload,
  WebhookEndpoint,
} from "@messaging-service/core"
import { Data, Effect, identity, Stream } from "effect"
import type { Scope } from "effect"
import type { ChatEntry, ChatsApi, ReceivedMessagesApi } from "../api/chats.ts"
import type { CancelOptions, SendOptions, Transaction } from "../api/common.ts"
import type { MediaApi, MessagesApi, UploadFile } from "../api/messages.ts"
import type { Account, Api } from "../api/Messaging.ts"
import type { NumberChecksApi, NumbersApi, NumberView } from "../api/numbers.ts"
import type { RemindersApi } from "../api/reminders.ts"
import type { WebhooksApi, WebhookWithSecret } from "../api/webhooks.ts"
import type { ComposedService } from "../compose/index.ts"
import { toId, withReplayed, repeatable, showingNow } from "./Calls.ts"
import type { CallerApi, Calling } from "./Calls.ts"
import {
  chatShown,
  checkShown,
  date,
  mediaShown,
  toPublicMessage,
  toPublicNumber,
  numberViewShown,
  receivedShown,
  restrictionsShown,
  reminderShown,
  resultShown,
  toPublicWebhook,
} from "./records.ts"
import { callerRows, each, nothing } from "./rows.ts"
import { anything, fields, checkRule, text } from "./rules.ts"

const messageShownNow = showingNow(toPublicMessage)

const entryShown = Effect.gen(function* () {
  const [showMessage, showReceived] = [yield* messageShownNow, yield* receivedShown]
  return ({ at, message, receivedMessage }: CoreEntry): ChatEntry => ({
    at: date(at),
    receivedMessage: receivedMessage && showReceived(receivedMessage),
    message: message && showMessage(message),
  })
})

/** The accepted message, which a repeat returns again. */
const shownAsAccepted = Effect.map(
  MediaLinks,
  ({ link }) =>
    (message: Message) =>
      toPublicMessage(message, message.createdAt, link),
)

/** Runs a caller's operation, inside the program's own transaction if it gave one. */
const acting =
  ({ caller, isTrusted, joins }: Calling, transaction: Transaction | undefined) =>
  <A>(
    act: (who: Caller) => Effect.Effect<A, Failure, ComposedService>,
  ): Effect.Effect<A, Failure, ComposedService> => {
    if (transaction === undefined) return Effect.flatMap(caller, act)
    if (!joins) return Effect.fail(noTransactions)
    if (typeof transaction?.query !== "function") return Effect.fail(noQuery)
    const joined = <B>(effect: Effect.Effect<B, Failure, ComposedService>) =>
      Store.use(({ system: { joinTransaction: join } }) => join(transaction, effect)).pipe(
        Effect.catchTag("CannotJoin", ({ message }: CannotJoin) =>
          Effect.fail(refuseTransaction(message)),
        ),
      )
    // A pool may have no second client for the workspace lookup. Counting a key's request is not part
    // of the transaction.
    return isTrusted
      ? joined(Effect.flatMap(caller, act))
      : Effect.flatMap(caller, (who) => joined(act(who)))
  }

const refuseTransaction = (message: string) =>
  refuse("validation_failed", { field: "transaction", message })

const noTransactions = refuseTransaction(
  "A transaction needs a store on PostgreSQL, which this service does not have.",
)

const noQuery = refuseTransaction(
  "A transaction has a function query: a client of pg is one, and for other libraries the guide to embedding shows one.",
)

const sendOptions = fields<SendOptions>({ idempotencyKey: anything, transaction: anything })

const cancelOptions = fields<CancelOptions>({ transaction: anything })

const messagesApi: CallerApi<MessagesApi> = (calling) => {
  const { run } = calling
  const { on, pages } = callerRows(calling)
  return {
    send: (command, options) =>
      run(
        Effect.gen(function* () {
          const repeat = repeatable(options, "/api/v2/messages", command, sendOptions)
          const { messages, replayed } = yield* acting(
            calling,
            options?.transaction,
          )((who) =>
            Effect.flatMap(repeat, (key) => Messages.use((all) => all.send(who, command, key))),
          )
          const records = messages.map(yield* shownAsAccepted)
          const [only] = records
          return only === undefined
            ? yield* Effect.die(new Error("A single send created no message"))
            : withReplayed(only, replayed)
        }),
      ),
    sendBatch: (command, options) =>
      run(
        Effect.gen(function* () {
          const repeat = repeatable(options, "/api/v2/messages/batch", command, sendOptions)
          const { messages, replayed } = yield* acting(
            calling,
            options?.transaction,
          )((who) =>
            Effect.flatMap(repeat, (key) =>
              Messages.use((all) => all.sendBatch(who, command, key)),
            ),
          )
          return { messages: messages.map(yield* shownAsAccepted), replayed }
        }),
      ),
    get: on(Messages, "get", messageShownNow),
    list: pages(Messages, "list", messageShownNow),
    cancel: (id, options) =>
      run(
        Effect.gen(function* () {
          const wrong = checkRule(cancelOptions, options)
          if (wrong !== undefined) return yield* wrong
          const transaction = options?.transaction
          const message = yield* acting(
            calling,
            transaction,
          )((who) =>
            Messages.use((all) => all.cancel(who, toId<MessageId>(id), transaction !== undefined)),
          )
          return (yield* messageShownNow)(message)
        }),
      ),
  }
}

const remindersApi: CallerApi<RemindersApi> = (calling) => {
  const { create, on, pages } = callerRows(calling)
  return {
    create: create(Reminders, "create", "/api/v2/reminders", reminderShown),
    get: on(Reminders, "get", reminderShown),
    list: pages(Reminders, "list", reminderShown),
    update: on(Reminders, "update", reminderShown),
    remove: on(Reminders, "remove", nothing),
  }
}

/** How often to check a linking, in real time. */
const lookMillis = 250

/**
 * Number of checks per authentication: 10 seconds' worth. A linking of ten minutes then uses few of a
 * key's requests, and a revoked key soon sees no more of it.
 */
const looksOfAdmission = 40

/** Current QR code behind a link; null when its attempt has just ended. */
const textBehind = (url: string | null) =>
  url === null
    ? Effect.succeed(null)
    : QrLinks.use(({ read }) => read(url.slice(url.lastIndexOf("/") + 1))).pipe(
        Effect.catchTag("Refusal", () => Effect.succeed(null)),
      )

const view = Effect.fnUntraced(function* view(caller: Caller, id: number) {
  const number = yield* (yield* Connections).get(caller, toId<NumberId>(id))
  return numberViewShown(number, yield* textBehind(number.connect?.qrCodeUrl ?? null))
})

/** The parts that a person sees: links are fresh at each check. */
const fingerprint = ({ connect, ...number }: NumberView): string =>
  JSON.stringify([number, connect === null ? null : { ...connect, qrCodeUrl: null }])

export const numbersApi: CallerApi<NumbersApi> = ({ caller, run }) => {
  /** Authenticates the caller again; one that other calls rate-limited continues as before. */
  const admittedAgain = (before: Caller) =>
    Effect.catchTag(caller, "Refusal", (refusal) =>
      refusal.code === "rate_limited" ? Effect.succeed(before) : Effect.fail(refusal),
    )

  const get = (id: number) => run(Effect.flatMap(caller, (who) => view(who, id)))

  const { create, on, op } = callerRows({ caller, run })
  const connectNumber = create(Connections, "connect", "/api/v2/numbers", toPublicNumber)
  const connect: NumbersApi["connect"] = (command = {}, options) => connectNumber(command, options)

  return {
    get,
    connect,
    list: op(Connections, "list", each(toPublicNumber)),
    restrictions: on(Connections, "restrictions", restrictionsShown),
    async *link(command) {
      const { id } = await connect(command)
      let who = await run(caller)
      for (let last = "", reads = 1; ; reads++) {
        if (reads % looksOfAdmission === 0) who = await run(admittedAgain(who))
        const now = await run(view(who, id))
        if (fingerprint(now) !== last) {
          last = fingerprint(now)
          yield now
        }
        if (now.status !== "connecting") return
        await run(sleepInRealTime(lookMillis))
      }
    },
    qrCode: (id) =>
      run(
        Effect.gen(function* () {
          const { connect: linkingView } = yield* view(yield* caller, id)
          const qrText = linkingView?.qrText ?? null
          return qrText === null ? null : yield* (yield* QrImages).png(qrText)
        }),
      ),
  }
}

const numberChecksApi: CallerApi<NumberChecksApi> = (calling) => {
  const { create, on, pages, pagesOn } = callerRows(calling)
  return {
    create: create(NumberChecks, "create", "/api/v2/number-checks", checkShown),
    get: on(NumberChecks, "get", checkShown),
    list: pages(NumberChecks, "list", checkShown),
    results: pagesOn(NumberChecks, "results", resultShown),
  }
}

/** The error of the caller's own stream. */
class ContentFailed extends Data.TaggedError("ContentFailed")<{ readonly cause: unknown }> {}

const invalid = (field: string, message: string) => refuse("validation_failed", { field, message })

/** The readers of these values state the rules. */
const uploadFile = fields<UploadFile>({ fileName: text, content: anything })

const tooLarge = (maximum: number) =>
  refuse("request_too_large", {
    field: "content",
    message: `The file is larger than ${maximum} bytes.`,
  })

const readBytes = (
  content: UploadFile["content"] | undefined,
): Stream.Stream<Uint8Array, ContentFailed> | undefined => {
  if (content instanceof Uint8Array) return Stream.succeed(content)
  const source = content instanceof Blob ? content.stream() : content
  // Its iterator waits for the pending read, and would keep a silent stream from being cancelled.
  if (source instanceof ReadableStream) {
    return Stream.fromReadableStream({
      evaluate: () => source as ReadableStream<Uint8Array>,
      onError: (cause) => new ContentFailed({ cause }),
    })
  }
  return typeof source === "object" && source !== null && Symbol.asyncIterator in source
    ? Stream.ensuring(
        Stream.fromAsyncIterable(
          source as AsyncIterable<Uint8Array>,
          (cause) => new ContentFailed({ cause }),
        ),
        Effect.ignore(Effect.try(() => destroy(source))),
      )
    : undefined
}

/** Destroys a silent Node stream: its iterator ends only after the pending read. */
const destroy = (source: object): void => {
  if ("destroy" in source && typeof source.destroy === "function") source.destroy()
}

const spoolFailure = (error: MediaFilesError, maximum: number): Failure => {
  switch (error.reason) {
    case "too_large":
      return tooLarge(maximum)
    case "full":
      return noRoomForFile
    default:
      return filesUnavailable("media.spool")(error)
  }
}

/** Reads content to its end, as an upload over HTTP does. */
export const spoolFile = (
  input: UploadFile["content"] | undefined,
  maximum: number,
): Effect.Effect<SpooledContent, Failure, ComposedService | Scope.Scope> =>
  Effect.gen(function* () {
    const bytes = readBytes(input)
    if (bytes === undefined) {
      return yield* invalid("content", "The content is a Uint8Array, a Blob, or an async iterable.")
    }
    return yield* (yield* MediaFiles).spool(bytes, maximum).pipe(
      Effect.catchTags({
        MediaFilesError: (error) => Effect.fail(spoolFailure(error, maximum)),
        ContentFailed: ({ cause }) => Effect.die(cause),
      }),
    )
  })

const spooled = (
  file: UploadFile | undefined,
): Effect.Effect<Upload, Failure, ComposedService | Scope.Scope> =>
  Effect.gen(function* () {
    const wrong = checkRule(uploadFile, file ?? {})
    if (wrong !== undefined) return yield* wrong
    const content = yield* spoolFile(file?.content, maximumFileBytes)
    if (content.size === 0) return yield* invalid("content", "The file is empty.")
    const fileName = uploadedFileName(String(file?.fileName ?? ""))
    return fileName === undefined
      ? yield* invalid("fileName", "The file has no name, or one of more than 255 characters.")
      : { fileName, content }
  })

const mediaShownNow = showingNow(mediaShown)

const mediaApi: CallerApi<MediaApi> = ({ caller, run }) => {
  const { on, pages } = callerRows({ caller, run })
  return {
    upload: (file, options) =>
      run(
        Effect.scoped(
          Effect.gen(function* () {
            const who = yield* caller
            yield* authorize(who, "uploadMedia")
            const unkept = refuseUnkept(yield* MediaFiles, "content")
            if (unkept !== undefined) return yield* unkept
            const upload = yield* spooled(file)
            const repeat = yield* repeatable(options, "/api/v2/media", {
              fileName: upload.fileName,
              sha256: upload.content.sha256,
            })
            const { answer, replayed } = yield* (yield* MediaDirectory).upload(who, upload, repeat)
            return withReplayed((yield* mediaShownNow)(answer), replayed)
          }),
        ),
      ),
    get: on(MediaDirectory, "get", mediaShownNow),
    list: pages(MediaDirectory, "list", mediaShownNow),
    content: (id) =>
      run(
        Effect.gen(function* () {
          const file = yield* (yield* MediaDirectory).get(yield* caller, toId<MediaId>(id))
          const stored = yield* (yield* MediaFiles).open(file.storageKey).pipe(
            Effect.mapError((error) =>
              // Another call deleted it between the two reads.
              error.reason === "not_found"
                ? refuse("media_not_found", { inPath: true })
                : filesUnavailable("media.open")(error),
            ),
          )
          return yield* Stream.mkUint8Array(stored.content).pipe(
            Effect.mapError(filesUnavailable("media.read")),
          )
        }),
      ),
    remove: on(MediaDirectory, "delete", nothing),
  }
}

const withSecret = (endpoint: WebhookEndpoint | EndpointWithSecret): WebhookWithSecret => {
  const { secret, ...record } = { secret: null, ...endpoint }
  return { ...toPublicWebhook(record), secret }
}

const webhooksApi: CallerApi<WebhooksApi> = (calling) => {
  const { create, on, op } = callerRows(calling)
  return {
    create: create(Webhooks, "create", "/api/v2/webhooks", withSecret),
    list: op(Webhooks, "list", each(toPublicWebhook)),
    get: on(Webhooks, "get", toPublicWebhook),
    remove: on(Webhooks, "remove", nothing),
    rotateSecret: on(Webhooks, "rotateSecret", withSecret),
    test: on(Webhooks, "test"),
  }
}

const receivedMessagesApi: CallerApi<ReceivedMessagesApi> = (calling) => {
  const { on, pages } = callerRows(calling)
  return {
    list: pages(Chats, "listReceived", receivedShown),
    get: on(Chats, "getReceived", receivedShown),
    remove: on(Chats, "deleteReceived", nothing),
  }
}

const chatsApi: CallerApi<ChatsApi> = (calling) => {
  const { createOn, on, pages, pagesOn } = callerRows(calling)
  return {
    list: pages(Chats, "list", chatShown),
    get: on(Chats, "get", chatShown),
    remove: on(Chats, "delete", nothing),
    messages: pagesOn(Chats, "listEntries", entryShown),
    markRead: createOn(Chats, "markRead", (id) => `/api/v2/chats/${id}/read`, identity),
  }
}

const toAccount = ({ key, mode, numberIds, scopes, workspace }: Caller): Account => ({
  workspace: { id: workspace.id, name: workspace.name },
  key:
    key === null
      ? null
      : {
          id: key.id,
          name: key.name,
          expiresAt: key.expiresAt === null ? null : new Date(key.expiresAt),
        },
  mode,
  scopes,
  numberIds,
  plan: workspace.plan?.name ?? null,
  limits: {
    requestsPerMinute,
    requestsPerDay,
    messagesPerNumberPerDay: dailyQuota.messages,
    messagesRemaining: messagesRemaining(workspace.plan),
  },
})

export const makeApi: CallerApi<Api> = (calling) => ({
  account: () => calling.run(Effect.map(calling.caller, toAccount)),
  messages: messagesApi(calling),
  reminders: remindersApi(calling),
  numbers: numbersApi(calling),
  numberChecks: numberChecksApi(calling),
  media: mediaApi(calling),
  webhooks: webhooksApi(calling),
  receivedMessages: receivedMessagesApi(calling),
  chats: chatsApi(calling),
})
