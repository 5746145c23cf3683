/**
 * Whose a username was when Telegram was last asked. Names change hands, so the answer is believed for an
 * hour. It is kept before anything is sent on the strength of it: a repeat of an attempt goes to the account
 * that the attempt was made for, also when another has the name by then.
 */
import type { IPeersRepository } from "@mtcute/node"
import type { KeyPlace } from "./storage.ts"
import { nameType } from "./storage.ts"

/** For how long an answer is believed. */
const believedMillis = 60 * 60_000

/** An account that had the name. */
export interface NameOwner {
  readonly userId: number
  /** Decimal digits, perhaps with a sign. */
  readonly accessHash: string
  /** When Telegram said so, in service time. */
  readonly at: number
  /** The same by this machine's clock, by which the library notes when it saw people. */
  readonly seenAt: number
}

export interface Usernames {
  readonly ownerOf: (username: string) => Promise<NameOwner | null>
  /** Done once it is stored. */
  readonly keep: (username: string, owner: NameOwner | null) => Promise<void>
  /** Whether the owner need not be asked for again. */
  readonly isBelieved: (username: string, owner: NameOwner, now: number) => Promise<boolean>
}

export const makeUsernames = (
  { read, write }: Pick<KeyPlace, "read" | "write">,
  peers: Pick<IPeersRepository, "getById">,
): Usernames => {
  const idOf = (username: string) => username.toLowerCase()

  /** The library has seen the account without the name since. */
  const hasLost = async (username: string, { seenAt, userId }: NameOwner) => {
    const peer = await peers.getById(userId)
    if (peer === null || peer.updated <= seenAt) return false
    return !peer.usernames.some((each) => idOf(each) === idOf(username))
  }

  return {
    ownerOf: async (username) => {
      const text = await read(nameType, idOf(username))
      return text === null ? null : (JSON.parse(text) as NameOwner)
    },
    keep: (username, owner) => {
      const value = owner === null ? null : JSON.stringify(owner)
      return write([{ type: nameType, id: idOf(username), value }])
    },
    isBelieved: async (username, owner, now) =>
      Math.abs(now - owner.at) < believedMillis && !(await hasLost(username, owner)),
  }
}
