/** Types that several parts of the facade share. */

/** A live key or caller sends. A test one passes every rule and sends nothing. */
export type Mode = "live" | "test"

/** The platform of a number. */
export type Platform = "whatsapp" | "telegram"

/** Operations that a caller may perform. */
export type Scope =
  | "messages:send"
  | "messages:read"
  | "reminders"
  | "numbers"
  | "media"
  | "contacts"
  | "chats:read"
  | "chats:write"

/** A moment: a `Date`, or ISO 8601 text with an offset such as `2030-01-31T09:00:00+02:00`. */
export type Moment = Date | string

/** Something with an id, or the id itself. */
export type HasId =
  | number
  | {
      /** The id. */
      readonly id: number
    }

/** Selects a page of a list. */
export interface PageOptions {
  /** Records per page, 1 to 100. Default: 25 for `page`; a loop requests 100 at a time. */
  readonly limit?: number | undefined
  /** `nextCursor` of the previous page; keep the filters the same. */
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
 * A list. Loop over it with `for await` to get every record, newest first, or take one page. The first
 * request runs when the loop begins.
 */
export interface Listing<Item> extends AsyncIterable<Item> {
  /**
   * The page that the options select. Fails with `validation_failed`, `invalid_cursor` and the codes
   * of the list.
   */
  readonly page: () => Promise<Page<Item>>
}

/** Makes a call safe to repeat. */
export interface RepeatOptions {
  /**
   * 1 to 255 printable ASCII characters: your own name for the operation, such as an order's id. A
   * repeat with the same key within 24 hours does nothing and returns the first result. With another
   * command it fails with `idempotency_key_reused`. While the first call runs it fails with
   * `idempotency_in_progress`, and for a malformed key with `invalid_idempotency_key`.
   */
  readonly idempotencyKey?: string | undefined
}

/**
 * A transaction that you opened on the service's own database, and that you commit or roll back. A
 * client of `pg` is one. For other libraries, write one function that runs a statement with values for
 * `$1`, `$2` … and returns its rows. Create one object per transaction, because calls in one
 * transaction wait for each other through it:
 *
 * - postgres.js: `{ query: async (text, values) => ({ rows: await tx.unsafe(text, values) }) }`
 * - Kysely: `{ query: (text, values) => tx.executeQuery(CompiledQuery.raw(text, values)) }`
 * - Prisma: `{ query: async (text, values) => ({ rows: await tx.$queryRawUnsafe(text, ...values) }) }`
 * - Drizzle: `tx.execute(sql.join(parts))`, where `parts` come from `text.split(/\$(\d+)/)`: each
 * first
 *   one as `sql.raw(part)`, each second one as `sql.param(values[Number(part) - 1])`
 */
export interface Transaction {
  /** Runs one statement in the transaction. */
  readonly query: (
    text: string,
    values: Array<string | null>,
  ) => Promise<{
    /** The result: one object per row, keyed by column name. */
    readonly rows: ReadonlyArray<unknown>
  }>
}

/** Options of a send. */
export interface SendOptions extends RepeatOptions {
  /**
   * Accepts the message inside this transaction, on a PostgreSQL store. The message exists only if you
   * commit; the service sends it after that. A refusal leaves the transaction usable. Until the
   * transaction ends, other sends from the same number wait. So send last and commit soon. After 5 idle
   * seconds PostgreSQL closes the connection: the transaction rolls back, and your next statement fails. A pool, a client without a transaction, a failed or
   * read-only transaction and another database fail with `validation_failed`. `close` does not wait
   * for the transaction.
   */
  readonly transaction?: Transaction | undefined
}

/** Options of a cancel. */
export interface CancelOptions {
  /**
   * Cancels the message inside this transaction, as a send joins one: it is cancelled, with its event, if
   * you commit, and otherwise leaves as if nothing had happened. A message that an attempt is sending is
   * `not_cancellable` at once, with `details.sending`. Until the transaction ends, its number sends
   * nothing, and other calls for that number wait. So cancel late and commit soon.
   */
  readonly transaction?: Transaction | undefined
}

/** The result of a create, and whether this call made it. */
export type Made<Item> = Item & {
  /** True when an earlier call with the same `idempotencyKey` made it; this call did nothing. */
  readonly replayed: boolean
}

/** An image or a file to send: exactly one of `url` and `mediaId`. */
export interface MediaReference {
  /** Public http or https link of at most 2048 characters; fetched when the message is sent. */
  readonly url?: string | undefined
  /** Id of an uploaded file. */
  readonly mediaId?: number | undefined
  /** Type of the linked content, used only when the link itself names none. */
  readonly type?: "image" | "file" | undefined
  /**
   * Name that the recipient sees, for files. Cleaned as the name of an upload is: the last part of
   * a path, without control characters. 1 to 255 characters.
   */
  readonly fileName?: string | undefined
}

/** The image or file of a message or a reminder. */
export interface Media {
  /** Id of the uploaded file; null for a link. */
  readonly mediaId: number | null
  /** Of a stored file: works for 26 hours; null once the file is gone. */
  readonly url: string | null
  /** Null while it is unknown. */
  readonly type: "image" | "file" | null
  /** Null when neither the command nor the link names it. */
  readonly fileName: string | null
}

/** The recipient: exactly one of the fields. */
export interface Recipient {
  /** E.164 with a leading +; spaces and dashes are taken out. */
  readonly phone?: string | undefined
  /**
   * Exact name of a WhatsApp group of the sending number; looked up when the message is sent. 1 to
   * 100 characters.
   */
  readonly group?: string | undefined
  /** Id of a saved contact. */
  readonly contactId?: number | undefined
  /** A Telegram user: `@name`, a `t.me/name` link, or `tg:` and a user id. */
  readonly username?: string | undefined
}

/** The recipient of a send: exactly one of the fields. */
export interface SendRecipient extends Recipient {
  /** Id of a chat of the sending number. Unknown while conversations are off. */
  readonly chatId?: number | undefined
}
