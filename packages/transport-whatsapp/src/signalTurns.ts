/**
 * Turns at the encryption library, by the address of the other side. For one address the library does one
 * thing after the other, for all numbers of the process together, and what had to wait it does inside the
 * work of the number that came first. The library above it decides by the work that it is inside what
 * belongs into one write. So two numbers that write to one person at once would write each session by
 * itself, or into a write that is over and is never made. Here the second number waits before it goes in,
 * and so finds nothing to wait for there.
 */
import type { SignalRepositoryWithLIDStore, UserFacingSocketConfig } from "baileys"

type MakeRepository = NonNullable<UserFacingSocketConfig["makeSignalRepository"]>

/** The end of the last turn at each address at which there is one. */
const turns = new Map<string, Promise<void>>()

/** Runs it once all that came before it at the address is over, in the midst of what calls this. */
const inTurn = async <A>(address: string, work: () => Promise<A>): Promise<A> => {
  const before = turns.get(address)
  const { promise, resolve } = Promise.withResolvers<void>()
  turns.set(address, promise)
  try {
    await before
    return await work()
  } finally {
    if (turns.get(address) === promise) turns.delete(address)
    resolve()
  }
}

export const takingTurns =
  (make: MakeRepository): MakeRepository =>
  (...given) => {
    const repository = make(...given)
    const addressOf = (jid: string) => repository.jidToSignalProtocolAddress(jid)
    const taking: Partial<SignalRepositoryWithLIDStore> = {
      encryptMessage: (message) =>
        inTurn(addressOf(message.jid), () => repository.encryptMessage(message)),
      decryptMessage: (message) =>
        inTurn(addressOf(message.jid), () => repository.decryptMessage(message)),
      injectE2ESession: (session) =>
        inTurn(addressOf(session.jid), () => repository.injectE2ESession(session)),
      decryptGroupMessage: (message) =>
        inTurn(`${message.group} ${addressOf(message.authorJid)}`, () =>
          repository.decryptGroupMessage(message),
        ),
    }
    return new Proxy(repository, {
      get: (target, name, receiver) =>
        Reflect.get(taking, name) ?? Reflect.get(target, name, receiver),
    })
  }
