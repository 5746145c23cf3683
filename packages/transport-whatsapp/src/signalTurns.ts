/**
 * Turns at the encryption library, by the address of the other side. It does what there is to do with one
 * address one after the other, for all numbers of the process together, and does what had to wait in
 * the midst of the work of whoever came first. The library above it keeps in mind in whose midst it is
 * what belongs into one write: so two numbers that write to one person at once would write each session
 * by itself, or into a write that is over and is never made. Here who comes second waits before it
 * goes in, and so finds nothing to wait for there.
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
