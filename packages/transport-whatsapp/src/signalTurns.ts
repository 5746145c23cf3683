/**
 * Serialises calls to libsignal by remote address. libsignal queues calls for one address over all
 * numbers of the process, and runs a queued call inside the async context of the first. Baileys batches
 * writes by that context, so a second number's writes would land in another's
 * batch, or in one that is over. Here the second number waits before it enters the queue.
 */
import type { SignalRepositoryWithLIDStore, UserFacingSocketConfig } from "baileys"

type MakeRepository = NonNullable<UserFacingSocketConfig["makeSignalRepository"]>

/** The end of the last turn at each address. */
const turns = new Map<string, Promise<void>>()

/** Runs the work after all earlier work at the address, in the caller's async context. */
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
