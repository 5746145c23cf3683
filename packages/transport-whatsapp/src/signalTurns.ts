/**
 * Serialises calls to libsignal by remote address. libsignal queues calls for one address over all
 * numbers of the process, and runs a queued call inside the async context of the first. Baileys batches
 * writes by that context, so a second number's writes would land in another's
 * batch, or in one that is over. Here the second number waits before it enters the queue.
 */
import type { SignalRepositoryWithLIDStore, UserFacingSocketConfig } from "baileys"

type MakeRepository = NonNullable<UserFacingSocketConfig["makeSignalRepository"]>

/** The end of the last turn at each address. */
const queues = new Map<string, Promise<void>>()

/** Runs the work after all earlier work at the address, in the caller's async context. */
const sequentially = async <A>(address: string, work: () => Promise<A>): Promise<A> => {
  const before = queues.get(address)
  const { promise, resolve } = Promise.withResolvers<void>()
  queues.set(address, promise)
  try {
    await before
    return await work()
  } finally {
    if (queues.get(address) === promise) queues.delete(address)
    resolve()
  }
}

export const takingTurns =
  (make: MakeRepository): MakeRepository =>
  (...args) => {
    const repository = make(...args)
    const toAddress = (jid: string) => repository.jidToSignalProtocolAddress(jid)
    const claiming: Partial<SignalRepositoryWithLIDStore> = {
      encryptMessage: (message) =>
        sequentially(toAddress(message.jid), () => repository.encryptMessage(message)),
      decryptMessage: (message) =>
        sequentially(toAddress(message.jid), () => repository.decryptMessage(message)),
      injectE2ESession: (session) =>
        sequentially(toAddress(session.jid), () => repository.injectE2ESession(session)),
      decryptGroupMessage: (message) =>
        sequentially(`${message.group} ${toAddress(message.authorJid)}`, () =>
          repository.decryptGroupMessage(message),
        ),
    }
    return new Proxy(repository, {
      get: (target, name, receiver) =>
        Reflect.get(claiming, name) ?? Reflect.get(target, name, receiver),
    })
  }
