/** What several parts of the facade share. */

/** A live key or caller sends; a test one goes through every rule and sends nothing. */
export type Mode = "live" | "test"

/** What a number belongs to. */
export type Platform = "whatsapp" | "telegram"

/** What a caller may do. */
export type Scope =
  | "messages:send"
  | "messages:read"
  | "reminders"
  | "numbers"
  | "media"
  | "contacts"

/** A moment: a `Date`, or ISO 8601 text with an offset such as `2030-01-31T09:00:00+02:00`. */
export type Moment = Date | string

/** Something with an id, or the id itself. */
export type HasId =
  | number
  | {
      /** The id. */
      readonly id: number
    }

/** Which page of a list. */
export interface PageOptions {
  /** Records in a page, 1 to 100. When left out, `page` takes 25 and a loop asks for 100 at a time. */
  readonly limit?: number | undefined
  /** `nextCursor` of the page before; filters must stay the same. */
  readonly cursor?: string | undefined
}

/** One page of a list. */
export interface Page<Item> {
  /** Newest first. */
  readonly items: ReadonlyArray<Item>
  /** The `cursor` of the next page; null on the last one. */
  readonly nextCursor: string | null
}

/**
 * A list: loop over it with `for await` to get every record, newest first, or take one page. Nothing
 * is asked for before the loop begins.
 */
export interface Listing<Item> extends AsyncIterable<Item> {
  /** The one page that the options name. Fails with `validation_failed`, `invalid_cursor` and what else the list says. */
  readonly page: () => Promise<Page<Item>>
}

/** What makes a call safe to repeat. */
export interface RepeatOptions {
  /**
   * 1 to 255 printable ASCII characters, your own name for what you do, such as an order's id. A repeat
   * with the same key within 24 hours does nothing and is answered as the first time; with another
   * command it fails with `idempotency_key_reused`, while the first one runs with
   * `idempotency_in_progress`, and with `invalid_idempotency_key` when it is none.
   */
  readonly idempotencyKey?: string | undefined
}

/**
 * A transaction that you have opened on the database that the service keeps everything in, and will
 * commit or roll back. A client of `pg` is one. For other libraries one function is enough, which runs a
 * statement with values for `$1`, `$2` … and gives its rows; make it once for each transaction, for by it
 * several sends wait for one another:
 *
 * - postgres.js: `{ query: async (text, values) => ({ rows: await tx.unsafe(text, values) }) }`
 * - Kysely: `{ query: (text, values) => tx.executeQuery(CompiledQuery.raw(text, values)) }`
 * - Prisma: `{ query: async (text, values) => ({ rows: await tx.$queryRawUnsafe(text, ...values) }) }`
 * - Drizzle: `tx.execute(sql.join(parts))`, where `parts` are those of `text.split(/\$(\d+)/)`: each first
 *   one as `sql.raw(part)`, each second one as `sql.param(values[Number(part) - 1])`
 */
export interface Transaction {
  /** Runs one statement in it. */
  readonly query: (
    text: string,
    values: Array<string | null>,
  ) => Promise<{
    /** What the statement answered: an object by the names of columns for each row. */
    readonly rows: ReadonlyArray<unknown>
  }>
}

/** How to send. */
export interface SendOptions extends RepeatOptions {
  /**
   * Accepts inside this transaction, on a store on PostgreSQL: the message is there if, and only if, you
   * commit, and is sent after that. A refusal leaves the transaction usable. Until it ends others who
   * send from the same number wait, and so does what became of its messages; so send last and commit soon. Left idle for 5 seconds it is ended: PostgreSQL closes the connection, nothing was done,
   * and your next statement there fails. What cannot be joined (a pool, a client without a transaction, one
   * that has failed or is read-only, one on another database) fails with `validation_failed`. `close` does not wait for it.
   */
  readonly transaction?: Transaction | undefined
}

/** What was made, and whether just now. */
export type Made<Item> = Item & {
  /** True when an earlier call with the same `idempotencyKey` made it, and this one did nothing. */
  readonly replayed: boolean
}

/** An image or a file to send: exactly one of `url` and `mediaId`. */
export interface MediaReference {
  /** Public http or https link of at most 2,048 characters; fetched when the message is sent. */
  readonly url?: string | undefined
  /** Id of an uploaded file. */
  readonly mediaId?: number | undefined
  /** What the link leads to; used when the link itself does not tell. */
  readonly type?: "image" | "file" | undefined
  /** What the recipient sees as the file's name, 1 to 255 characters. */
  readonly fileName?: string | undefined
}

/** The image or file of a message or a reminder. */
export interface Media {
  /** Id of the uploaded file; null for a link. */
  readonly mediaId: number | null
  /** Where it is; of a stored file a link that works for 26 hours. */
  readonly url: string | null
  /** Null while it is not known. */
  readonly type: "image" | "file" | null
  /** Null when neither the command nor the link names it. */
  readonly fileName: string | null
}

/** To whom: exactly one of the fields. */
export interface Recipient {
  /** E.164 with a leading +, such as `+15550100002`. */
  readonly phone?: string | undefined
  /** Exact name of a WhatsApp group of the sending number, 1 to 100 characters; looked up when sending. */
  readonly group?: string | undefined
  /** Id of a saved contact. */
  readonly contactId?: number | undefined
  /** A Telegram user: `@name`, a `t.me/name` link, or `tg:` and a user id. */
  readonly username?: string | undefined
}
