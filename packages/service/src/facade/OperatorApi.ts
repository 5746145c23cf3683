/** Workspaces, and operator actions inside one of them. */
import {
  CallbackSecrets,
  Contacts,
  Conversations,
  EnsuredWorkspaces,
  Keys,
  MessageOperations,
  NumberOperations,
  Numbers,
  PortalLinks,
  Reminders,
  Restoration,
  TelegramLogins,
  WebhookOperations,
  Workspaces,
} from "@messaging-service/core"
import type { WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import type { HasId } from "../api/common.ts"
import type { Messaging } from "../api/Messaging.ts"
import type { Operator, Role, TelegramLoginsApi, WorkspacesApi } from "../api/operator.ts"
import { toId, showingNow } from "./Calls.ts"
import { campaignsApi } from "./campaignsApi.ts"
import type { Run } from "./Calls.ts"
import {
  callbackShown,
  connectionShown,
  contactShown,
  conversationsShown,
  deliveryShown,
  keyShown,
  toPublicMessage,
  toPublicNumber,
  operatedShown,
  portalSessionShown,
  runShown,
  telegramLoginShown,
  timelineShown,
  toPublicWebhook,
  toPublicWorkspace,
} from "./records.ts"
import { each, makeRows, nothing } from "./rows.ts"
import { isObject, must, checkRule } from "./rules.ts"

/** Rows of operations on the whole store, or on a workspace as a thing of it. */
const ownerRows = (run: Run) => makeRows(run, Effect.succeed(["owner"] as const))

export const workspacesApi = (run: Run): WorkspacesApi => {
  const { on, op } = ownerRows(run)
  const open = makeRows(run, Effect.succeed([] as const))
  return {
    ensure: (name, requested = {}) =>
      run(
        Effect.gen(function* () {
          const wrong = checkRule(must("an object", isObject), requested, "wanted")
          if (wrong !== undefined) return yield* wrong
          return toPublicWorkspace(yield* (yield* EnsuredWorkspaces).ensure({ ...requested, name }))
        }),
      ),
    create: op(Workspaces, "create", toPublicWorkspace),
    get: open.on(Workspaces, "get", toPublicWorkspace),
    list: open.pages(Workspaces, "list", toPublicWorkspace),
    update: on(Workspaces, "update", toPublicWorkspace),
    remove: on(Workspaces, "delete", nothing),
  }
}

const messageShownNow = showingNow(toPublicMessage)

const timelineShownNow = showingNow(timelineShown)

/** Operations on the whole store, and links into a workspace. */
export const storeApi = (run: Run): Pick<Messaging, "restored" | "held" | "portalLink"> => {
  const { on, op } = ownerRows(run)
  const restored = op(Restoration, "restored")
  return {
    portalLink: on(PortalLinks, "create", ({ link, url }) => ({
      url,
      session: portalSessionShown(link),
    })),
    restored: (how = {}) => restored(how),
    held: op(Restoration, "counts"),
  }
}

/** Rows of an operator who acts in a workspace; undefined when nothing can have its id. */
const operatorRows = (run: Run, role: Role, id: WorkspaceId | undefined) =>
  makeRows(run, Effect.succeed([role, id] as const))

type OperatorRows = ReturnType<typeof operatorRows>

const telegramLoginsApi = ({ on }: OperatorRows): TelegramLoginsApi => {
  const giveCode = on(TelegramLogins, "giveCode", telegramLoginShown)
  const givePassword = on(TelegramLogins, "givePassword", telegramLoginShown)
  return {
    begin: on(TelegramLogins, "begin", telegramLoginShown),
    get: on(TelegramLogins, "get", telegramLoginShown),
    giveCode: (number, code) => giveCode(number, { code }),
    givePassword: (number, password) => givePassword(number, { password }),
    cancel: on(TelegramLogins, "cancel"),
  }
}

const keysApi = ({ on, op }: OperatorRows): Operator["keys"] => ({
  create: op(Keys, "create", ({ key, record }) => ({ ...keyShown(record), key })),
  list: op(Keys, "list", each(keyShown)),
  revoke: on(Keys, "revoke", nothing),
})

const contactsApi = ({ on, op, pages }: OperatorRows): Operator["contacts"] => ({
  create: op(Contacts, "create", contactShown),
  list: pages(Contacts, "list", contactShown),
  remove: on(Contacts, "delete", nothing),
})

const conversationsApi = ({ op }: OperatorRows): Operator["conversations"] => {
  const set = op(Conversations, "put", conversationsShown)
  return {
    get: op(Conversations, "get", conversationsShown),
    set: (settings = {}) => set(settings),
    remove: op(Conversations, "remove", nothing),
  }
}

const numbersApi = ({ on, op }: OperatorRows): Operator["numbers"] => {
  const pause = on(NumberOperations, "pause", connectionShown)
  return {
    create: op(Numbers, "create", toPublicNumber),
    list: op(Numbers, "list", each(toPublicNumber)),
    update: on(Numbers, "update", operatedShown),
    remove: on(Numbers, "remove", nothing),
    connection: on(NumberOperations, "connection", connectionShown),
    pause: (number, how = {}) => pause(number, how),
    resume: on(NumberOperations, "resume", connectionShown),
    logOut: on(NumberOperations, "logOut", toPublicNumber),
  }
}

const webhooksApi = ({ on, op, pagesOn }: OperatorRows): Operator["webhooks"] => ({
  list: op(WebhookOperations, "list", each(toPublicWebhook)),
  deliveries: pagesOn(WebhookOperations, "deliveries", deliveryShown),
  resume: on(WebhookOperations, "resume", toPublicWebhook),
  redeliver: on(WebhookOperations, "redeliver"),
})

const secretShown = ({ secret }: { readonly secret: string }): string => secret

const callbacksApi = ({ op, pages }: OperatorRows): Operator["callbacks"] => ({
  deliveries: pages(WebhookOperations, "callbackDeliveries", callbackShown),
  secret: op(CallbackSecrets, "get", secretShown),
  rotateSecret: op(CallbackSecrets, "rotate", secretShown),
})

const heldApi = ({ op, pages }: OperatorRows): Operator["held"] => ({
  list: pages(Restoration, "list", messageShownNow),
  release: op(Restoration, "release"),
  cancel: op(Restoration, "cancel"),
})

export const operatorApi = (run: Run, workspace: HasId, role: Role): Operator => {
  const id = toId<WorkspaceId>(workspace)
  const rows = operatorRows(run, role, id)
  const { on, op, pagesOn } = rows
  return {
    workspaceId: id ?? 0,
    keys: keysApi(rows),
    contacts: contactsApi(rows),
    numbers: numbersApi(rows),
    webhooks: webhooksApi(rows),
    callbacks: callbacksApi(rows),
    telegramLogins: telegramLoginsApi(rows),
    reminderRuns: pagesOn(Reminders, "runs", runShown),
    campaigns: campaignsApi({ run, role, id }),
    conversations: conversationsApi(rows),
    held: heldApi(rows),
    cancelMessage: on(MessageOperations, "cancel", messageShownNow),
    cancelMessages: op(MessageOperations, "cancelMany"),
    timeline: on(MessageOperations, "timeline", timelineShownNow),
  }
}
