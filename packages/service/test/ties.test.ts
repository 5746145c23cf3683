/** Compares the facade's types with the core's: a field that only one of them has does not compile. */
import type * as Core from "@messaging-service/core"
import type * as Ports from "@messaging-service/core"
import type { Brand } from "effect"
import type pg from "pg"
import { it } from "vitest"
import type * as Facade from "../src/index.ts"

/** Both types are equal; else the names of the differences. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : ["missing", A, B]) : ["other", A, B]

/** Ids are plain numbers. */
type Plain<A> =
  A extends Brand.Brand<infer _>
    ? Brand.Brand.Unbranded<A>
    : A extends string | number | boolean | Date | null | undefined
      ? A
      : A extends ReadonlyArray<infer Item>
        ? ReadonlyArray<Plain<Item>>
        : { [Name in keyof A]: Plain<A[Name]> }

/** Names of all fields, nested ones included; both sides must agree on which are optional. */
type Shape<A> = A extends string | number | boolean | Date | null | undefined
  ? A
  : A extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Shape<Item>>
    : {
        [Name in keyof A]-?: [
          Shape<A[Name]>,
          Record<never, never> extends Pick<A, Name> ? "?" : "!",
        ]
      }

type Command<A, B> = Same<Shape<A>, Shape<B>>

/** A record's times are dates, and its ids plain numbers. */
type Dated<A> = {
  readonly [Name in keyof A]: Name extends `${string}At` | "pausedUntil" | "since"
    ? A[Name] extends number | string
      ? Date
      : Date | null
    : A[Name]
}

type RecordOf<A, B, Hidden = never> = Same<Dated<Omit<Plain<A>, Hidden & string>>, B>

/** Each tie is `true`, or this does not compile. */
const hold = <_Ties extends Readonly<Record<string, true>>>(): void => {}

it("commands of the facade are the core's", () => {
  hold<{
    readonly sendMessage: Command<Core.ReferencedSend, Facade.SendMessage>
    readonly sendBatch: Command<Core.ReferencedBatch, Facade.SendBatch>
    readonly listMessages: Command<Core.ReferencedList, Facade.ListMessages>
    readonly createReminder: Command<Core.CreateReminder, Facade.CreateReminder>
    readonly changeReminder: Command<Core.ChangeReminder, Facade.ChangeReminder>
    readonly listReminders: Command<Core.ListReminders, Facade.ListReminders>
    readonly connectNumber: Command<Core.ConnectNumber, Facade.ConnectNumber>
    readonly checkNumbers: Command<Core.CheckNumbers, Facade.CheckNumbers>
    readonly listCheckResults: Command<Core.ListCheckResults, Facade.ListCheckResults>
    readonly listMedia: Command<Core.ListMedia, Facade.ListMedia>
    readonly listReceived: Command<Core.ListReceived, Facade.ListReceived>
    readonly listChats: Command<Core.ListChats, Facade.ListChats>
    readonly createWebhook: Command<Core.CreateWebhook, Facade.CreateWebhook>
    readonly createWorkspace: Command<Core.CreateWorkspace, Facade.CreateWorkspace>
    readonly ensureWorkspace: Command<Omit<Core.EnsureWorkspace, "name">, Facade.EnsureWorkspace>
    readonly changeWorkspace: Command<Core.ChangeWorkspace, Facade.ChangeWorkspace>
    readonly createKey: Command<Core.CreateKey, Facade.CreateKey>
    readonly createContact: Command<Core.CreateContact, Facade.CreateContact>
    readonly createNumber: Command<Core.CreateNumber, Facade.CreateNumber>
    readonly changeNumber: Command<Core.ChangeNumber, Facade.ChangeNumber>
    readonly telegramLogin: Command<Core.BeginTelegramLogin, Facade.BeginTelegramLogin>
    readonly redeliver: Command<Core.RedeliverEvent, Facade.RedeliverEvent>
    readonly page: Command<Core.ListPage, Facade.PageOptions>
    readonly restored: Command<Core.StoreRestored, Facade.StoreRestored>
    readonly held: Same<keyof Core.SelectHeld, keyof Facade.SelectHeld>
  }>()
})

it("records of the facade are the core's", () => {
  hold<{
    readonly message: RecordOf<
      Core.ReportedMessage & Pick<Core.OutboxEvent, "reference">,
      Omit<Facade.Message, "workspaceId" | "mode">
    >
    readonly workspace: RecordOf<Ports.Workspace, Facade.Workspace, "deletedAt">
    readonly key: RecordOf<Ports.ApiKey, Facade.Key>
    readonly contact: RecordOf<Ports.Contact, Facade.Contact>
    readonly number: RecordOf<
      Ports.SendingNumber,
      Facade.SendingNumber,
      "workspaceId" | "mode" | "createdAt"
    >
    readonly pacing: Same<Ports.Pacing, Facade.Pacing>
    readonly connection: RecordOf<Core.NumberConnection, Facade.NumberConnection>
    readonly check: RecordOf<Ports.NumberCheck, Facade.NumberCheck>
    readonly checkResult: RecordOf<Ports.NumberCheckResult, Facade.NumberCheckResult>
    readonly media: RecordOf<
      Ports.MediaFile & { readonly url: string },
      Facade.MediaFile,
      "storageKey"
    >
    readonly delivery: RecordOf<Ports.DeliveryAttempt, Facade.Delivery>
    readonly callback: RecordOf<Ports.CallbackAttempt, Facade.CallbackDelivery>
    readonly webhook: RecordOf<
      Omit<Ports.WebhookEndpoint, "lastAttempt">,
      Omit<Facade.Webhook, "active" | "lastAttempt">,
      "secretSalt" | "firstSecretLast4"
    >
    readonly reminder: RecordOf<
      Omit<Ports.Reminder, "to" | "media" | "lastRun" | "timezone">,
      Omit<Facade.Reminder, "to" | "media" | "lastRun" | "schedule">,
      "cron" | "revision"
    >
    readonly telegramLogin: Same<
      Omit<Core.TelegramLoginView, "qr" | "expiresAt">,
      Omit<Facade.TelegramLogin, "qrUrl" | "qrExpiresAt" | "expiresAt">
    >
    readonly received: RecordOf<
      Omit<Core.ReceivedMessage, "from" | "file" | "reactions">,
      Omit<Facade.ReceivedMessage, "from" | "media" | "reactions">,
      "workspaceId" | "mode"
    >
    readonly person: Same<Core.Person, Facade.Person>
    readonly reaction: Same<Omit<Core.Reaction, "at">, Omit<Facade.Reaction, "at">>
    readonly chat: RecordOf<Core.Chat, Facade.Chat, "activity">
    readonly chatEntry: Same<keyof Core.ChatEntry, keyof Facade.ChatEntry>
    readonly heldCount: RecordOf<Ports.HeldCount, Facade.HeldCount>
    readonly decidedHeld: RecordOf<Core.DecidedHeld, Facade.DecidedHeld>
    readonly run: Same<keyof Ports.LoggedRun, keyof Facade.LoggedReminderRun>
  }>()
})

it("words of the facade are the core's", () => {
  hold<{
    readonly code: Same<Core.Code | "closed" | "cannot_start", Facade.ErrorCode>
    readonly scope: Same<Core.Scope, Facade.Scope>
    readonly role: Same<Core.Role, Facade.Role>
    readonly status: Same<Ports.MessageStatus, Facade.MessageStatus>
    readonly event: Same<Ports.EventType, Facade.EventType>
    readonly conversations: Command<Core.SetConversations, Facade.SetConversations>
    readonly settings: RecordOf<
      Omit<Core.StoredConversations, "stored">,
      Omit<Facade.ConversationSettings, "stored">
    >
    readonly plan: Same<Ports.Plan, Facade.Plan>
    readonly transaction: Same<Ports.TransactionClient, Facade.Transaction>
    readonly pool: pg.Pool extends Facade.PostgresPool ? true : false
    readonly client: pg.PoolClient extends Facade.Transaction ? true : false
  }>()
})
