/**
 * Who works on a login. Any process may, and one at a time does: it takes the login by exchanging what the
 * vault has, and each further writing of its own is an exchange too, which fails once the login was given
 * up, was replaced, or is another process's. A hold lapses by itself, so that a process that died keeps
 * none of the others from going on.
 */
import { retryUntilStoreAnswers } from "@messaging-service/core"
import type {
  Exchanged,
  KeyChange,
  LoggedIn,
  NumberId,
  SessionVault,
} from "@messaging-service/core"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { fromText, toText } from "./credentials.ts"
import type { AccountCredentials, Credentials, LoginCredentials } from "./credentials.ts"
import { storedText } from "./loginClient.ts"

/** What the vault has of a number: the text that is exchanged, and what it says. Both null without. */
export interface Kept {
  readonly text: string | null
  readonly credentials: Credentials | null
}

/** A login that this process works on. */
export interface HeldLogin {
  readonly numberId: NumberId
  /** As it stood when it was taken. */
  readonly login: LoginCredentials
  /** As the vault has it. */
  written: LoginCredentials
  text: string
}

/** Whether a process works on it at that time. */
export const isHeld = ({ stepUntil }: LoginCredentials, now: number): boolean =>
  stepUntil !== null && stepUntil > now

export const makeHeldLogins = (vault: typeof SessionVault.Service) => {
  /** Another text with each writing, so that what one process wrote is not taken for another's. */
  const textOf = (login: LoginCredentials) => toText({ ...login, writing: randomUUID() })

  const exchange = (
    numberId: NumberId,
    before: string | null,
    after: string | null,
    keys: ReadonlyArray<KeyChange> = [],
    account: LoggedIn | null = null,
  ) => retryUntilStoreAnswers(vault.exchange(numberId, before, after, keys, account))

  return {
    keptOf: (numberId: NumberId): Effect.Effect<Kept> =>
      Effect.map(retryUntilStoreAnswers(storedText(vault, numberId)), (text) => ({
        text,
        credentials: text === null ? null : fromText(text),
      })),

    /** Puts that in place of what was read; null when it is not there any more. */
    take: (
      numberId: NumberId,
      before: string | null,
      login: LoginCredentials,
      written: LoginCredentials = login,
    ): Effect.Effect<HeldLogin | null> => {
      const text = textOf(written)
      return Effect.map(exchange(numberId, before, text), (isTaken) =>
        isTaken === true ? { numberId, login, written, text } : null,
      )
    },

    /** Writes how it stands now; false when it is this process's no more. */
    goOn: (held: HeldLogin, written: LoginCredentials): Effect.Effect<boolean> => {
      const text = textOf(written)
      // What was written is known to be, also by the one that is interrupted meanwhile.
      return retryUntilStoreAnswers(
        Effect.uninterruptible(
          Effect.map(vault.exchange(held.numberId, held.text, text, []), (done) => {
            const isWritten = done === true
            if (isWritten) Object.assign(held, { written, text })
            return isWritten
          }),
        ),
      )
    },

    /** The account takes the login's place, and its phone becomes the number's; false as above. */
    keepAccount: (
      { numberId, text }: HeldLogin,
      account: AccountCredentials,
      keys: ReadonlyArray<KeyChange>,
    ): Effect.Effect<Exchanged> =>
      exchange(numberId, text, toText(account), keys, {
        phone: account.phone === "" ? null : account.phone,
      }),

    /** Nothing is left of what was read; false when that is not there any more. */
    forget: (numberId: NumberId, before: string): Effect.Effect<boolean> =>
      Effect.map(exchange(numberId, before, null), (isGone) => isGone === true),

    /** Runs what is done with it. When that is interrupted, others need not wait until the hold lapses. */
    whileHeld: <A>(held: HeldLogin, work: Effect.Effect<A>): Effect.Effect<A> =>
      Effect.onInterrupt(work, () =>
        Effect.ignore(
          Effect.suspend(() =>
            vault.exchange(
              held.numberId,
              held.text,
              textOf({ ...held.written, stepUntil: null }),
              [],
            ),
          ),
        ),
      ),

    /** Whether the vault has one of these authorization keys for the number. */
    hasKey: (numberId: NumberId, keys: ReadonlyArray<KeyChange>): Effect.Effect<boolean> => {
      const asked = keys.filter(({ type, value }) => type === "auth-key" && value !== null)
      const found = vault.keys(
        numberId,
        "auth-key",
        asked.map(({ id }) => id),
      )
      return Effect.map(
        retryUntilStoreAnswers(
          Effect.catchTag(found, "CannotOpen", () => Effect.succeed(new Map())),
        ),
        (kept) => asked.some(({ id, value }) => kept.get(id) === value),
      )
    },
  }
}
