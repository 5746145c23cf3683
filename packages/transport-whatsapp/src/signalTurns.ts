/**
 * Serialises calls to libsignal by remote address. libsignal queues calls for one address over all
 * numbers of the process, and runs a queued call inside the async context of the first. Baileys batches
 * writes by that context, so a second number's writes would land in another's
 * batch, or in one that is over. Here the second number waits before it enters the queue.
 *
 * A commit may wait for the store, or never end: it must hold up its own number only. So turns of the
 * process end before it, and those of a connection after it.
 */
import type { SignalRepositoryWithLIDStore, UserFacingSocketConfig } from "baileys"

type MakeRepository = NonNullable<UserFacingSocketConfig["makeSignalRepository"]>

/** The end of the last turn at each address. */
type Queues = Map<string, Promise<void>>

/** Those of all numbers of the process. */
export const libsignalQueues: Queues = new Map()

/** Runs the work after all earlier work at the address, in the caller's async context. */
const sequentially = async <A>(
  queues: Queues,
  address: string,
  work: () => Promise<A>,
): Promise<A> => {
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
  (queues: Queues) =>
  (make: MakeRepository): MakeRepository =>
  (...args) => {
    const repository = make(...args)
    const inTurn = <A>(jid: string, work: () => Promise<A>, group = ""): Promise<A> =>
      sequentially(queues, `${group} ${repository.jidToSignalProtocolAddress(jid)}`, work)
    const claiming: Partial<SignalRepositoryWithLIDStore> = {
      encryptMessage: (message) => inTurn(message.jid, () => repository.encryptMessage(message)),
      decryptMessage: (message) => inTurn(message.jid, () => repository.decryptMessage(message)),
      injectE2ESession: (session) =>
        inTurn(session.jid, () => repository.injectE2ESession(session)),
      decryptGroupMessage: (message) =>
        inTurn(message.authorJid, () => repository.decryptGroupMessage(message), message.group),
    }
    return new Proxy(repository, {
      get: (target, name, receiver) =>
        Reflect.get(claiming, name) ?? Reflect.get(target, name, receiver),
    })
  }
