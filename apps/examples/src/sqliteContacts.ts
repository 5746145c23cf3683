/**
 * The first methods of a custom store: contacts in a SQLite file. `docs/writing-a-store.md`
 * goes through it.
 */
import { contactAddress, getPage, Store, StoreUnavailable } from "@messaging-service/core"
import type { Contact, ContactStore, InsertedContact } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { DatabaseSync } from "node:sqlite"

const openDatabase = (file: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const database = new DatabaseSync(file)
      database.exec(`create table if not exists contacts (
        id integer primary key autoincrement,
        workspace_id integer not null,
        name text not null,
        phone text,
        username text,
        address text not null,
        created_at integer not null,
        unique (workspace_id, address)
      )`)
      return database
    }),
    (database) => Effect.sync(() => database.close()),
  )

const columns = `id, workspace_id as "workspaceId", name, phone, username, created_at as "createdAt"`

const makeContacts = (database: DatabaseSync): ContactStore => {
  const insert = database.prepare(
    `insert into contacts (workspace_id, name, phone, username, address, created_at)
    values (:workspaceId, :name, :phone, :username, :address, :createdAt)
    on conflict do nothing returning ${columns}`,
  )
  const present = database.prepare(`select id from contacts where workspace_id = ? and address = ?`)
  const list = database.prepare(
    `select ${columns} from contacts
    where workspace_id = ? and id < ? order by id desc limit ?`,
  )
  const remove = database.prepare(`delete from contacts where workspace_id = ? and id = ?`)

  /** A database without an answer is a known failure, which the service retries. */
  const asking = <A>(operation: string, ask: () => A) =>
    Effect.try({ try: ask, catch: (cause) => new StoreUnavailable({ operation, cause }) })
  const contactOf = (row: unknown): Contact => ({ ...(row as Contact) })

  return {
    insertContact: (contact) =>
      asking("contact.insert", (): InsertedContact => {
        // The same phone or username has the same address.
        const address = contactAddress(contact)
        const row = insert.get({ ...contact, address })
        if (row !== undefined) return { _tag: "Inserted", contact: contactOf(row) }
        return { _tag: "Exists", id: contactOf(present.get(contact.workspaceId, address)).id }
      }),
    listContacts: (workspaceId, { before, limit }) =>
      asking("contact.list", () =>
        // One extra row tells whether there is a next page.
        getPage(
          list.all(workspaceId, before ?? Number.MAX_SAFE_INTEGER, limit + 1).map(contactOf),
          limit,
        ),
      ),
    deleteContact: (workspaceId, id) =>
      asking("contact.delete", () => remove.run(workspaceId, id).changes === 1),
  }
}

/** The store below, which keeps all else, with its contacts in SQLite. */
export const layerContacts = (file: string) =>
  Layer.effect(
    Store,
    Effect.gen(function* () {
      const store = yield* Store
      const contacts = makeContacts(yield* openDatabase(file))
      return { ...store, workspaces: { ...store.workspaces, ...contacts } }
    }),
  )
