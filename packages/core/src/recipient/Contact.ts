/** A saved contact, and the port that keeps them (contract: Contacts). */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { ContactId, WorkspaceId } from "../Ids.ts"
import type { PageOf, PageQuery } from "../request/Page.ts"
import type { Phone } from "./Phone.ts"

/** A name with exactly one of a phone and a Telegram username. */
export interface Contact {
  readonly id: ContactId
  readonly workspaceId: WorkspaceId
  readonly name: string
  readonly phone: Phone | null
  /** As given, in one of the forms of a Telegram username. */
  readonly username: string | null
  readonly createdAt: number
}

/** The port that keeps contacts. */
export class ContactStore extends Context.Service<
  ContactStore,
  {
    insert(contact: Omit<Contact, "id">): Effect.Effect<Contact, StoreUnavailable>
    /** Newest first. */
    list(
      workspaceId: WorkspaceId,
      query: PageQuery,
    ): Effect.Effect<PageOf<Contact>, StoreUnavailable>
    /** False when unknown. */
    delete(workspaceId: WorkspaceId, id: ContactId): Effect.Effect<boolean, StoreUnavailable>
  }
>()("core/ContactStore") {}
