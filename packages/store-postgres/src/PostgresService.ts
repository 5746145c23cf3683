/**
 * What all processes share: the service's secrets, the store's identity, the salts that sign callbacks,
 * and the offset of the adjustable clock.
 */
import { noCallersTransactions, Store, StoreUnavailable } from "@messaging-service/core"
import type {
  CallbackSalts,
  ClockStore,
  Figures,
  ProcessReport,
  ProcessStore,
  ServiceFigures,
  ServiceSecrets,
} from "@messaging-service/core"
import { Effect, Layer, Random } from "effect"
import { browserSessionStore } from "./browser/browserSessions.ts"
import { changeFeedStore } from "./event/changeFeed.ts"
import { callersTransactions, identityKey } from "./database/CallersTransaction.ts"
import { Database } from "./database/Database.ts"
import type { DatabaseService } from "./database/Database.ts"
import { relations } from "./database/Schema.ts"
import { statement } from "./database/Sql.ts"
import type { Row } from "./database/Sql.ts"
import { figureStore } from "./figure/figures.ts"
import { keyStore } from "./key/keys.ts"
import { linkingStore } from "./linking/linking.ts"
import { mediaStore } from "./media/media.ts"
import { messageStore } from "./message/messages.ts"
import { idempotencyStore } from "./request/idempotency.ts"
import { schema } from "./migrations/index.ts"
import { keepBuild, migrate } from "./migrations/migrate.ts"
import type { Schema } from "./migrations/migrate.ts"
import { numberStore } from "./number/numbers.ts"
import { simulatedPhones } from "./number/simulatedPhones.ts"
import { numberCheckStore } from "./numberCheck/numberChecks.ts"
import { version1ListStore } from "./PostgresVersion1Lists.ts"
import { laneQueue, dueWork } from "./queue/lanes.ts"
import { chatStore } from "./chat/chats.ts"
import { receivedFileStore } from "./chat/receivedFiles.ts"
import { campaignStore } from "./campaign/campaigns.ts"
import { reminderStore } from "./reminder/reminders.ts"
import { restoreStore } from "./restore/restores.ts"
import { sessionStore, shardLeases } from "./session/sessions.ts"
import { DeliveriesQueued } from "./webhook/queueDeliveries.ts"
import { deliveryQueue, outbox, webhookStore } from "./webhook/webhooks.ts"
import { subscriptionStore } from "./webhook/subscriptions.ts"
import { erasureStore } from "./workspace/PostgresErasure.ts"
import { contactStore, workspaceStore } from "./workspace/workspaces.ts"

const getOrCreateSecret = statement("service.getOrCreateSecret")
const getSecret = statement("service.getSecret")
const replaceSecret = statement("service.replaceSecret")

const serviceSecrets = (database: DatabaseService): ServiceSecrets => ({
  getOrCreateSecret(name, candidate) {
    return getOrCreateSecret.one(database, { name, candidate }, ({ value }) => value)
  },
  getSecret(name) {
    return getSecret.value(database, { name })
  },
  replaceSecret(name, before, value) {
    return replaceSecret.run(database, { name, before, value })
  },
})

const ownIdentity = statement("service.identity")

/** A store of a single process has no transactions of callers. */
export const transactionsOn = (database: DatabaseService) =>
  database.joinable
    ? Effect.gen(function* () {
        const mark = (yield* Random.next).toString(36).slice(2)
        const params = { place: identityKey, mark }
        const own = yield* ownIdentity.one(database, params, ({ identity }) => identity)
        return callersTransactions(database.schema, own)
      })
    : Effect.succeed(noCallersTransactions)

const getSalt = statement("service.getSalt")
const putSalt = statement("service.putSalt")

const callbackSalts = (database: DatabaseService): CallbackSalts => ({
  callbackSalt(workspaceId) {
    return getSalt.value(database, { workspaceId })
  },
  putCallbackSalt(workspaceId, salt) {
    return putSalt.any(database, { workspaceId, salt })
  },
})

const clockOffset = statement("service.clockOffset")
const raiseClockOffset = statement("service.raiseClockOffset")
const whyReadOnly = statement("service.whyReadOnly")
const databaseTime = statement("service.databaseTime")

const toOffset = (row: Row<"service.clockOffset">): number => Number(row.offset_millis)

const clockStore = (database: DatabaseService): ClockStore => ({
  clockOffset: Effect.map(clockOffset.first(database, {}, toOffset), Number),
  raiseClockOffset(to) {
    return Effect.map(raiseClockOffset.first(database, { to }, toOffset), Number)
  },
  databaseTime: databaseTime.one(database, {}, (row) => Number(row.millis)),
  ping: Effect.flatMap(
    Effect.andThen(
      database.hasRoom,
      whyReadOnly.one(database, {}, (row) => row.because),
    ),
    (because) =>
      because === ""
        ? Effect.void
        : Effect.fail(new StoreUnavailable({ operation: "ping", cause: new Error(because) })),
  ),
})

// The figures of the whole service, in one statement. Every watched process runs it every few seconds,
// so it scans no table that grows with what was sent.

const figures = statement("service.figures")

const serviceFigures = (database: DatabaseService): ServiceFigures => ({
  figures(now, countAtMost) {
    const params = { now, countAtMost, schema: database.schema, tables: relations }
    return figures.one(database, params, (row) => row.figures as Figures)
  },
})

const reportProcess = statement("service.reportProcess")
const listProcesses = statement("service.processes")
const endProcess = statement("service.endProcess")
const forgetProcesses = statement("service.forgetProcesses")

const toReport = (row: Row<"service.processes">): ProcessReport => ({
  name: row.name,
  kind: row.kind as ProcessReport["kind"],
  works: row.works,
  seenAt: row.seen_at.getTime(),
  numbersHeld: row.numbers_held,
  shardsHeld: row.shards_held,
})

const processStore = (database: DatabaseService): ProcessStore => ({
  reportProcess(report) {
    return reportProcess.run(database, { ...report })
  },
  processes(most) {
    return listProcesses.all(database, { most }, toReport)
  },
  endProcess(name) {
    return endProcess.run(database, { name })
  },
  forgetProcesses(before) {
    return forgetProcesses.run(database, { before })
  },
})

// Every storage port of the core on one database, which is brought up to date first.

const makeStores = (requested: Schema) =>
  Effect.gen(function* () {
    const database = yield* Database
    // Not one port is there before the tables are.
    yield* migrate(requested)
    yield* Effect.forkScoped(keepBuild(requested))
    const queued = new DeliveriesQueued()
    return Store.of({
      messages: { ...(yield* messageStore(database, queued)), ...idempotencyStore(database) },
      queue: { ...laneQueue(database, queued), ...dueWork(database) },
      numbers: { ...numberStore(database, queued), ...linkingStore(database, queued) },
      sessions: { ...(yield* sessionStore(database, queued)), ...shardLeases(database) },
      workspaces: {
        ...workspaceStore(database),
        ...(yield* keyStore(database)),
        ...contactStore(database),
        ...callbackSalts(database),
      },
      webhooks: {
        ...webhookStore(database),
        ...deliveryQueue(database, queued),
        ...outbox(database),
        ...subscriptionStore(database),
      },
      media: mediaStore(database),
      numberChecks: numberCheckStore(database),
      reminders: reminderStore(database),
      campaigns: campaignStore(database),
      chats: chatStore(database, queued),
      receivedFiles: receivedFileStore(database),
      browserSessions: browserSessionStore(database),
      news: changeFeedStore(database),
      figures: figureStore(database),
      version1Lists: version1ListStore(database),
      phones: simulatedPhones(database),
      system: {
        ...clockStore(database),
        ...serviceSecrets(database),
        ...serviceFigures(database),
        ...processStore(database),
        ...restoreStore(database),
        ...erasureStore(database),
        ...(yield* transactionsOn(database)),
      },
    })
  })

/** The stores of a version with these tables. */
export const layerStoresFor = (requested: Schema) => Layer.effect(Store, makeStores(requested))

export const layerStores = layerStoresFor(schema)

/**
 * A program shares layers by identity, so the exported layer would stay on the first database that it
 * opened. This makes a new one for this database.
 */
export const storesOn = <Stores, E, F>(
  stores: Layer.Layer<Stores, E, Database>,
  database: Layer.Layer<Database, F>,
) => Layer.fresh(Layer.provide(stores, database)).pipe(Layer.provide(Layer.empty))
