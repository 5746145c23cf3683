/** Workspaces, and operator actions inside one of them. */
import {
  CallbackSecrets,
  Contacts,
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
import type {
  ContactId,
  DeliveryAttempt,
  Failure,
  KeyId,
  MessageId,
  NumberId,
  ReminderId,
  TelegramLoginView,
  WebhookId,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { HasId } from "../api/common.ts"
import type { Messaging } from "../api/Messaging.ts"
import type { Operator, Role, TelegramLoginsApi, WorkspacesApi } from "../api/operator.ts"
import type { ComposedService } from "../compose/index.ts"
import { toId, listing, showingNow } from "./Calls.ts"
import { campaignsApi } from "./campaignsApi.ts"
import type { Run } from "./Calls.ts"
import {
  callbackShown,
  connectionShown,
  contactShown,
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
import { isObject, must, checkRule } from "./rules.ts"

const telegramLoginsApi = (
  run: Run,
  workspace: WorkspaceId | undefined,
  role: Role,
): TelegramLoginsApi => {
  const addressed = (number: number) => [role, workspace, toId<NumberId>(number)] as const
  const shown = (
    request: (logins: typeof TelegramLogins.Service) => Effect.Effect<TelegramLoginView, Failure>,
  ) => {
    const login: Effect.Effect<TelegramLoginView, Failure, ComposedService> =
      TelegramLogins.use(request)
    return run(Effect.map(login, telegramLoginShown))
  }
  return {
    begin: (number, command) => shown((logins) => logins.begin(...addressed(number), command)),
    get: (number) => shown((logins) => logins.get(...addressed(number))),
    giveCode: (number, code) => shown((logins) => logins.giveCode(...addressed(number), { code })),
    givePassword: (number, password) =>
      shown((logins) => logins.givePassword(...addressed(number), { password })),
    cancel: (number) => run(TelegramLogins.use((logins) => logins.cancel(...addressed(number)))),
  }
}

export const workspacesApi = (run: Run): WorkspacesApi => ({
  ensure: (name, requested = {}) =>
    run(
      Effect.gen(function* () {
        const wrong = checkRule(must("an object", isObject), requested, "wanted")
        if (wrong !== undefined) return yield* wrong
        return toPublicWorkspace(yield* (yield* EnsuredWorkspaces).ensure({ ...requested, name }))
      }),
    ),
  create: (command) =>
    run(
      Workspaces.use((workspaces) => workspaces.create("owner", command)).pipe(
        Effect.map(toPublicWorkspace),
      ),
    ),
  get: (id) =>
    run(
      Effect.map(
        Workspaces.use((workspaces) => workspaces.get(toId<WorkspaceId>(id))),
        toPublicWorkspace,
      ),
    ),
  list: (query) =>
    listing(
      run,
      query,
      (request) => Workspaces.use((workspaces) => workspaces.list(request)),
      Effect.succeed(toPublicWorkspace),
    ),
  update: (workspace, change) =>
    run(
      Effect.map(
        Workspaces.use((workspaces) =>
          workspaces.update("owner", toId<WorkspaceId>(workspace), change),
        ),
        toPublicWorkspace,
      ),
    ),
  remove: (workspace) =>
    run(
      Effect.asVoid(
        Workspaces.use((workspaces) => workspaces.delete("owner", toId<WorkspaceId>(workspace))),
      ),
    ),
})

const messageShownNow = showingNow(toPublicMessage)

const timelineShownNow = showingNow(timelineShown)

/** Operations on the whole store, and links into a workspace. */
export const storeApi = (run: Run): Pick<Messaging, "restored" | "held" | "portalLink"> => ({
  portalLink: (workspace, command) =>
    run(
      Effect.map(
        PortalLinks.use((links) => links.create("owner", toId<WorkspaceId>(workspace), command)),
        ({ link, url }) => ({ url, session: portalSessionShown(link) }),
      ),
    ),
  restored: (how = {}) => run(Restoration.use((restoration) => restoration.restored("owner", how))),
  held: () => run(Restoration.use((restoration) => restoration.counts("owner"))),
})

/** An operator who acts in a workspace. */
interface Acting {
  readonly run: Run
  readonly role: Role
  /** Undefined when nothing can have the id. */
  readonly id: WorkspaceId | undefined
}

const keysApi = ({ id, role, run }: Acting): Operator["keys"] => ({
  create: (command) =>
    run(
      Effect.map(
        Keys.use((keys) => keys.create(role, id, command)),
        ({ key, record }) => ({ ...keyShown(record), key }),
      ),
    ),
  list: () =>
    run(
      Effect.map(
        Keys.use((keys) => keys.list(role, id)),
        (all) => all.map(keyShown),
      ),
    ),
  revoke: (key) => run(Effect.asVoid(Keys.use((keys) => keys.revoke(role, id, toId<KeyId>(key))))),
})

const contactsApi = ({ id, role, run }: Acting): Operator["contacts"] => ({
  create: (command) =>
    run(
      Effect.map(
        Contacts.use((contacts) => contacts.create(role, id, command)),
        contactShown,
      ),
    ),
  list: (query) =>
    listing(
      run,
      query,
      (request) => Contacts.use((contacts) => contacts.list(role, id, request)),
      Effect.succeed(contactShown),
    ),
  remove: (contact) =>
    run(
      Effect.asVoid(
        Contacts.use((contacts) => contacts.delete(role, id, toId<ContactId>(contact))),
      ),
    ),
})

const numberConnectionsApi = ({
  id,
  role,
  run,
}: Acting): Pick<Operator["numbers"], "connection" | "pause" | "resume" | "logOut"> => ({
  connection: (number) =>
    run(
      Effect.map(
        NumberOperations.use((numbers) => numbers.connection(role, id, toId<NumberId>(number))),
        connectionShown,
      ),
    ),
  pause: (number, pause = {}) =>
    run(
      Effect.map(
        NumberOperations.use((numbers) => numbers.pause(role, id, toId<NumberId>(number), pause)),
        connectionShown,
      ),
    ),
  resume: (number) =>
    run(
      Effect.map(
        NumberOperations.use((numbers) => numbers.resume(role, id, toId<NumberId>(number))),
        connectionShown,
      ),
    ),
  logOut: (number) =>
    run(
      Effect.map(
        NumberOperations.use((numbers) => numbers.logOut(role, id, toId<NumberId>(number))),
        toPublicNumber,
      ),
    ),
})

const numbersApi = (acting: Acting): Operator["numbers"] => {
  const { id, role, run } = acting
  return {
    create: (command) =>
      run(
        Effect.map(
          Numbers.use((numbers) => numbers.create(role, id, command)),
          toPublicNumber,
        ),
      ),
    list: () =>
      run(
        Effect.map(
          Numbers.use((numbers) => numbers.list(role, id)),
          (all) => all.map(toPublicNumber),
        ),
      ),
    update: (number, change) =>
      run(
        Effect.map(
          Numbers.use((numbers) => numbers.update(role, id, toId<NumberId>(number), change)),
          operatedShown,
        ),
      ),
    remove: (number) =>
      run(
        Effect.asVoid(Numbers.use((numbers) => numbers.remove(role, id, toId<NumberId>(number)))),
      ),
    ...numberConnectionsApi(acting),
  }
}

const webhooksApi = ({ id, role, run }: Acting): Operator["webhooks"] => ({
  list: () =>
    run(
      Effect.map(
        WebhookOperations.use((webhooks) => webhooks.list(role, id)),
        (all) => all.map(toPublicWebhook),
      ),
    ),
  deliveries: (webhook, query) =>
    listing(
      run,
      query,
      (request) =>
        WebhookOperations.use((webhooks) =>
          webhooks.deliveries(role, id, toId<WebhookId>(webhook), request),
        ),
      Effect.succeed((attempt: DeliveryAttempt) => deliveryShown(attempt)),
    ),
  resume: (webhook) =>
    run(
      Effect.map(
        WebhookOperations.use((webhooks) => webhooks.resume(role, id, toId<WebhookId>(webhook))),
        toPublicWebhook,
      ),
    ),
  redeliver: (webhook, event) =>
    run(
      WebhookOperations.use((webhooks) =>
        webhooks.redeliver(role, id, toId<WebhookId>(webhook), event),
      ),
    ),
})

const callbacksApi = ({ id, role, run }: Acting): Operator["callbacks"] => ({
  deliveries: (query) =>
    listing(
      run,
      query,
      (request) =>
        WebhookOperations.use((webhooks) => webhooks.callbackDeliveries(role, id, request)),
      Effect.succeed(callbackShown),
    ),
  secret: () =>
    run(
      Effect.map(
        CallbackSecrets.use((all) => all.get(role, id)),
        ({ secret }) => secret,
      ),
    ),
  rotateSecret: () =>
    run(
      Effect.map(
        CallbackSecrets.use((all) => all.rotate(role, id)),
        ({ secret }) => secret,
      ),
    ),
})

const heldApi = ({ id, role, run }: Acting): Operator["held"] => ({
  list: (query) =>
    listing(
      run,
      query,
      (request) => Restoration.use((restoration) => restoration.list(role, id, request)),
      messageShownNow,
    ),
  release: (selection) =>
    run(Restoration.use((restoration) => restoration.release(role, id, selection))),
  cancel: (selection) =>
    run(Restoration.use((restoration) => restoration.cancel(role, id, selection))),
})

export const operatorApi = (run: Run, workspace: HasId, role: Role): Operator => {
  const id = toId<WorkspaceId>(workspace)
  const acting: Acting = { run, role, id }
  return {
    workspaceId: id ?? 0,
    keys: keysApi(acting),
    contacts: contactsApi(acting),
    numbers: numbersApi(acting),
    webhooks: webhooksApi(acting),
    callbacks: callbacksApi(acting),
    telegramLogins: telegramLoginsApi(run, id, role),
    reminderRuns: (reminder, query) =>
      listing(
        run,
        query,
        (request) =>
          Reminders.use((reminders) =>
            reminders.runs(role, id, toId<ReminderId>(reminder), request),
          ),
        Effect.succeed(runShown),
      ),
    campaigns: campaignsApi(acting),
    held: heldApi(acting),
    cancelMessage: (message) =>
      run(
        Effect.gen(function* () {
          const operations = yield* MessageOperations
          const cancelled = yield* operations.cancel(role, id, toId<MessageId>(message))
          return (yield* messageShownNow)(cancelled)
        }),
      ),
    cancelMessages: (selection) =>
      run(MessageOperations.use((operations) => operations.cancelMany(role, id, selection))),
    timeline: (message) =>
      run(
        Effect.gen(function* () {
          const operations = yield* MessageOperations
          const found = yield* operations.timeline(role, id, toId<MessageId>(message))
          return (yield* timelineShownNow)(found)
        }),
      ),
  }
}
