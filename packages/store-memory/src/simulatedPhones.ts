/** `SimulatedPhones` in memory. */
import type { SentCopy, SimulatedPhones } from "@messaging-service/core"
import { Effect } from "effect"
import { newestFirst } from "./Table.ts"
import type { World } from "./World.ts"

export const simulatedPhones = (world: World): typeof SimulatedPhones.Service => ({
  behaviour: (numberId) => Effect.sync(() => world.behaviours.get(numberId) ?? null),

  setBehaviour: (numberId, behaviour) =>
    Effect.sync(() => {
      world.behaviours.set(numberId, behaviour)
    }),

  registered: Effect.sync(() => world.registeredPhones),

  setRegistered: (phones) =>
    Effect.sync(() => {
      world.registeredPhones = phones
    }),

  receive: (copy, then) =>
    Effect.sync(() => {
      // A repeat reached the phone too, which from then on behaves as it was told.
      if (then !== null) world.behaviours.set(copy.numberId, then)
      const identity = `${copy.numberId} ${copy.transportId}`
      if (world.received.has(identity)) return false
      world.received.add(identity)
      const message = world.messagesByTransportId.get(copy.transportId)?.message
      const shown: SentCopy = {
        ...copy,
        id: world.copies.length + 1,
        messageId: message?.id ?? null,
      }
      world.copies.push(shown)
      const ofNumber = world.copiesByNumber.get(copy.numberId) ?? []
      ofNumber.push(shown)
      world.copiesByNumber.set(copy.numberId, ofNumber)
      return true
    }),

  sent: (numberId, page) =>
    Effect.sync(() => {
      const copies = numberId === null ? world.copies : world.copiesByNumber.get(numberId)
      return newestFirst(
        copies ?? [],
        page,
        (copy) => copy.id,
        (copy) => copy,
      )
    }),
})
